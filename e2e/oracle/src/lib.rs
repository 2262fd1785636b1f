//! A program that judges a recorded run: did everything hold that must always hold?
//!
//! Its input is what any cluster can give: the watch history of every kind of the fleet in every cluster, and the audit
//! logs of the API servers. From these it computes who wrote each version of each object, and then asks one question
//! after the other, a file per group. It looks into no agent, and shares no code with what the agents decide.

mod answers;
mod bounds;
mod content;
mod exactness;
mod finalizers;
pub mod history;
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
mod story;
mod tenancy;
#[cfg(test)]
mod tests;
mod truth;
mod violation;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use history::History;
use record::{Event, Mark};
use recorder::{AUDIT_LOG, HISTORY};
use requests::Request;
pub use violation::Violation;

/// A recorded run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The watch history of all clusters, by arrival.
    pub events: Vec<Event>,
    /// What the suite noted about itself.
    pub marks: Vec<Mark>,
    /// The requests to all clusters.
    pub requests: Vec<Request>,
    /// What the answers to writes show, with the position of the request: after a server has forgotten the past, no
    /// watch does.
    pub answered: Vec<(usize, Event)>,
}

impl Recording {
    /// Reads the folder of a run: the history, and a folder with an audit log per cluster.
    pub fn read(folder: &Path) -> Result<Self> {
        let (events, marks) = record::read(&folder.join(HISTORY))?;
        let mut requests = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let cluster = path.file_name().context("a folder has a name")?.to_string_lossy();
            let log = path.join(AUDIT_LOG);
            if log.exists() {
                requests.extend(requests::read(&cluster, &log)?);
            }
        }
        Ok(Self { events, marks, requests, ..Self::default() }.with_answers())
    }
}

impl Recording {
    /// Fills in what the answers to writes show.
    #[must_use]
    pub fn with_answers(mut self) -> Self {
        let requests = self.requests.iter().enumerate();
        let answers = requests.filter(|(_, request)| request.is_write() && request.succeeded());
        self.answered =
            answers.filter_map(|(at, request)| Some((at, answers::told(request)?))).collect();
        self
    }
}

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
