//! A program that judges a recorded run: did everything hold that must always hold?
//!
//! Its input is what any cluster can give: the watch history of every kind of the fleet in every cluster, and the audit
//! logs of the API servers. From these it computes who wrote each version of each object, and then asks one question
//! after the other, a file per group. It looks into no agent, and shares no code with what the agents decide.

mod answers;
mod bounds;
mod content;
mod evidence;
mod exactness;
mod finalizers;
pub mod history;
mod kind;
pub mod leadership;
mod local_slices;
mod membership;
pub mod mirror;
pub mod object;
mod one_to_one;
mod orphans;
mod oscillation;
mod protocol;
mod provenance;
pub mod quiescence;
pub mod record;
pub mod recorder;
pub mod requests;
pub mod rights;
mod slowness;
mod standard;
mod standard_parts;
mod story;
mod tenancy;
#[cfg(test)]
mod tests;
mod truth;
mod violation;

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

pub use evidence::Recording;
use history::History;
pub use violation::Violation;

/// What the oracle found, and in how much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Every violation, in order of the invariants.
    pub violations: Vec<Violation>,
    /// Versions of objects that were looked at.
    pub versions: usize,
    /// Requests of agents that were looked at.
    pub requests: usize,
    /// Calm moments at which everything had to be in its place.
    pub moments: usize,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { violations, versions, requests, moments } = self;
        for violation in violations {
            writeln!(f, "{violation}")?;
        }
        write!(
            f,
            "{} violations in {versions} versions, {requests} requests of agents and {moments} quiescent moments",
            violations.len()
        )
    }
}

/// Judges a recorded run.
pub fn judge(recording: &Recording) -> Verdict {
    let history = History::new(recording);
    let checks = [
        bounds::check,
        content::check,
        exactness::check,
        finalizers::check,
        |history: &History<'_>| leadership::check(&history.recording.requests),
        local_slices::check,
        membership::check,
        one_to_one::check,
        orphans::check,
        oscillation::check,
        protocol::check,
        provenance::check,
        standard::check,
        standard_parts::check,
        tenancy::check,
        truth::check,
    ];
    let mut violations: Vec<Violation> =
        checks.into_iter().flat_map(|check| check(&history)).collect();
    violations.sort();
    violations.dedup();
    Verdict {
        violations,
        versions: history.lives.iter().map(|life| life.versions.len()).sum(),
        requests: history.agent_requests().count(),
        moments: quiescence::moments(&history).len(),
    }
}

/// Answers the questions about the standard API alone, in order of the invariants: for fleets whose requests are not recorded.
pub fn judge_standard(recording: &Recording) -> Vec<Violation> {
    let history = History::new(recording);
    let checks = [orphans::check, standard::check, standard_parts::check];
    let mut violations: Vec<_> = checks.into_iter().flat_map(|check| check(&history)).collect();
    violations.sort();
    violations.dedup();
    violations
}

/// Answers all questions that need no requests but those that the record of a simulation has, in order of the invariants. That
/// nothing goes to and fro it does not ask: drains and verdicts, which come and go, are not recorded.
pub fn judge_history(recording: &Recording) -> Vec<Violation> {
    let history = History::new(recording);
    let checks = [
        bounds::check,
        exactness::check,
        finalizers::check,
        local_slices::check,
        membership::check,
        one_to_one::check,
        orphans::check,
        provenance::check,
        standard::check,
        standard_parts::check,
        tenancy::check,
        truth::check,
    ];
    let mut violations: Vec<_> = checks.into_iter().flat_map(|check| check(&history)).collect();
    violations.sort();
    violations.dedup();
    violations
}

/// Answers the questions about what must be so when nothing moves, in order of the invariants: for a record that does not begin with the
/// first write, as that of a hub which got another store.
pub fn judge_rests(recording: &Recording) -> Vec<Violation> {
    let history = History::new(recording);
    let checks =
        [exactness::check, one_to_one::check, orphans::check, standard_parts::check, truth::check];
    let mut violations: Vec<_> = checks.into_iter().flat_map(|check| check(&history)).collect();
    violations.sort();
    violations.dedup();
    violations
}

/// A violation is shown with its surroundings; what follows from it is rarely more than its echo.
const TOLD: usize = 3;

/// What happened around the first violations of a verdict.
pub fn stories(recording: &Recording, verdict: &Verdict) -> String {
    if verdict.violations.is_empty() {
        return String::new(); // Indexing a record takes its time.
    }
    let history = History::new(recording);
    let told = verdict.violations.iter().take(TOLD);
    told.flat_map(|violation| story::around(&history, violation)).collect()
}

/// Judges the record of a run.
#[derive(Debug, Parser)]
#[command(name = "fleet-oracle", version)]
struct CommandLine {
    /// Folder with `history.jsonl`, and a folder with `audit.jsonl` per cluster.
    record: PathBuf,
}

/// The command `fleet-oracle`: prints every violation, and fails if there is one.
pub fn main() -> ExitCode {
    match Recording::read(&CommandLine::parse().record) {
        Ok(recording) => {
            let verdict = judge(&recording);
            let told = stories(&recording, &verdict);
            let _ = writeln!(std::io::stdout(), "{told}{verdict}");
            if verdict.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fleet-oracle: {error:#}");
            ExitCode::FAILURE
        }
    }
}
