//! Random plans for a hub and twenty members of both front ends, with virtual time: crashes at any write, watches that are late,
//! silent or interrupted, lost requests, changes of the leader, clocks that are off, drains, silences, and hubs that are lost or
//! restored. The agents' own controllers and plans run, on API servers in memory. `docs/simulation.md` has more.
//!
//! `FLEET_SEED=17` repeats one plan, makes it shorter if it fails, and prints its steps.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy takes only #[test] functions for tests"
)]

mod act;
mod base;
mod desk;
mod env;
mod fleet;
mod hub;
mod member;
mod process;
mod questions;
mod random;
mod record;
mod run;
mod servers;
mod shrink;
mod truth;
mod watch;
mod world;

use run::{Size, run_all};

/// In `make test`.
const FEW: u64 = 100;
/// In `make soak-fuzz`.
const MANY: u64 = 10_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Small fleets and short plans: this is built without optimization.
#[test]
fn a_hundred_random_plans_hold() {
    check(Size::SMALL, FEW);
}

#[test]
#[ignore = "half an hour"]
fn thousands_of_random_plans_hold() {
    check(Size::WHOLE, MANY);
}

#[track_caller]
fn check(size: Size, plans: u64) {
    if let Some(seed) = number("FLEET_SEED") {
        return run::repeat(size, seed);
    }
    let first = number("FLEET_FIRST_SEED").unwrap_or(1);
    let totals = run_all(size, first, number("FLEET_PLANS").unwrap_or(plans));
    eprintln!("{totals}");
    assert!(totals.failed.is_empty(), "{}", totals.failures());
}
