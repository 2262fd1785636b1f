//! What all processes share: servers, time, chance, and the faults that are under way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_api::kinds;
use fleet_model_server::Refusal;
use fleet_oracle::requests::Author;
use fleet_plan::{Action, Step};
use fleet_runtime::clock::BootClock;
use jiff::Timestamp;

use crate::questions::steps::StepQuestions;
use crate::random::Random;
use crate::servers::{HUB, Servers, wall};
use crate::watch::Decoder;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    /// It does not arrive.
    Lost,
    /// It is carried out, and the answer does not arrive.
    Unanswered,
    /// The process is killed before it sends it.
    DeadBefore,
    /// The process is killed before it reads the answer.
    DeadAfter,
}

/// When a process is to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ambush {
    /// At this write from now.
    pub(crate) writes: usize,
    pub(crate) after: bool,
}

pub(crate) struct Env {
    pub(crate) servers: Servers,
    pub(crate) decoder: Decoder,
    pub(crate) now: Duration,
    pub(crate) clock: BootClock,
    pub(crate) random: Random,
    /// Processes that are to be killed.
    pub(crate) ambushes: BTreeMap<String, Ambush>,
    /// Processes that do not reach the hub.
    pub(crate) cut: BTreeSet<String>,
    /// Requests of which one is lost, and one unanswered; none if it is 0.
    pub(crate) lossy: usize,
    /// Processes that were killed.
    pub(crate) died: Vec<String>,
    /// What the Lease by which the agents of a member elect a leader carries.
    pub(crate) notes: BTreeMap<usize, BTreeMap<String, String>>,
    pub(crate) questions: StepQuestions,
    /// What must not be.
    pub(crate) findings: Vec<String>,
    pub(crate) writes: usize,
    pub(crate) plans: usize,
    pub(crate) crashes: usize,
    /// What has happened, if it is wanted.
    pub(crate) log: Option<Vec<String>>,
}

impl Env {
    /// The time of a clock that is off by so many seconds.
    pub(crate) fn wall(&self, skew: i64) -> Timestamp {
        wall(self.now, skew)
    }

    pub(crate) fn is_cut(&self, process: &str) -> bool {
        self.cut.contains(process)
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(log) = &mut self.log {
            log.push(format!("{:>9.3} {}", now.as_secs_f64(), line()));
        }
    }

    /// What becomes of a request of a process.
    pub(crate) fn fate(&mut self, process: &str, step: &Step) -> Fate {
        if step.action != Action::ConfirmAbsent
            && let Some(ambush) = self.ambushes.get_mut(process)
        {
            ambush.writes = ambush.writes.saturating_sub(1);
            if ambush.writes == 0 {
                let after = ambush.after;
                self.ambushes.remove(process);
                return if after { Fate::DeadAfter } else { Fate::DeadBefore };
            }
        }
        if self.lossy > 0 && self.random.once_in(self.lossy) {
            return if self.random.once_in(2) { Fate::Lost } else { Fate::Unanswered };
        }
        Fate::Answered
    }

    /// A server carries out a step.
    pub(crate) fn execute(
        &mut self,
        server: usize,
        step: &Step,
        author: &Author,
        key: &str,
    ) -> Result<(), Refusal> {
        let at = &mut self.servers.0[server];
        let before = at.changes().len();
        let result = at.model.execute(step);
        at.sign(author);
        let is_written = at.changes().len() > before;
        self.writes += usize::from(is_written);
        self.note(|| {
            let verb = step.action.verb();
            format!(
                "{author:?} {verb} {} {} at {server} for {key}: {result:?}",
                step.kind.kind, step.name
            )
        });
        let is_absurd = matches!(result, Err(Refusal::Misfit))
            || (result == Err(Refusal::Invalid) && step.kind != kinds::SERVICE);
        if is_absurd {
            self.findings.push(format!("{author:?} sends what no server accepts: {step:?}"));
        }
        self.look(server, before);
        result
    }

    /// Asks the questions of each step about what is new at a server.
    pub(crate) fn look(&mut self, server: usize, before: usize) {
        let found = self.questions.look(&self.servers, server, before);
        self.findings.extend(found);
    }

    /// Time passes.
    pub(crate) fn advance(&mut self, to: Duration) {
        self.clock.advance(to.saturating_sub(self.now));
        self.now = self.now.max(to);
        self.servers.set_time(self.now);
    }

    /// Users have written something.
    pub(crate) fn sign_others(&mut self) {
        self.servers.sign_others();
        debug_assert!(self.servers.0[HUB].authors.len() == self.servers.0[HUB].changes().len());
    }
}
