//! Alert rules in the hands of Prometheus: `promtool` checks them and plays through what they are for, and a real
//! server scrapes the agents of a testbed with them. Skipped where the package `prometheus` is missing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod live;
mod rules;

use std::io::Write;
use std::path::{Path, PathBuf};

const AGENTS: [&str; 2] = ["hub-agent", "member-agent"];

/// A program of the package; without it one line reports that the test is skipped, past the harness, which would keep
/// it.
fn program(name: &str) -> Option<PathBuf> {
    let found = fleet_testbed::prometheus::program(name).unwrap();
    if found.is_none() {
        let line = format!("skipped: {name} is missing; install the package prometheus\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    found
}

/// The alert rules of an agent's chart.
fn alerts(agent: &str) -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    project.join("charts").join(agent).join("alerts.yaml")
}
