//! What all processes share: servers, time, chance, and the faults that are under way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::Refusal;
use fleet_oracle::requests::Author;
use fleet_plan::{Action, Step};
use fleet_runtime::clock::BootClock;
use jiff::Timestamp;

use crate::base::Base;
use crate::effects::{Effect, Effects};
use crate::fleet::SIGNS_OF_LIFE;
use crate::late::{LATEST, Late};
use crate::questions::steps::StepQuestions;
use crate::random::Random;
use crate::servers::{HUB, Servers, wall};
use crate::watch::Decoder;

/// How many requests are remembered.
const LAST: usize = 12;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    /// It does not arrive.
    Lost,
    /// It is carried out, and the answer does not arrive.
    Unanswered,
    /// It is carried out when the process does not wait for it any more.
    Late,
    /// The process is killed.
    Dead(Moment),
}

/// At which moment of a write a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before it is sent.
    Before,
    /// After it was carried out, before the answer.
    After,
    /// While it is under way: it arrives when the next process may be at work.
    UnderWay,
}

impl Moment {
    pub(crate) const ALL: [Self; 3] = [Self::Before, Self::After, Self::UnderWay];
}

/// When a process is to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ambush {
    /// At this write from now.
    pub(crate) writes: usize,
    pub(crate) moment: Moment,
}

/// An agent has looked for an object that was not there.
pub(crate) struct Absence {
    /// Before the change of this number.
    pub(crate) number: u64,
    pub(crate) server: usize,
    pub(crate) author: Author,
    pub(crate) kind: ResourceKind,
    pub(crate) name: ObjectName,
}

/// Annotations, and up to which version of the hub each watch has come.
pub(crate) type Notes = (BTreeMap<String, String>, Vec<u64>);

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
    /// Of so many writes of any process one kills it; none does if it is 0.
    pub(crate) storm: usize,
    /// The write, of those of all processes, at which its process is killed.
    pub(crate) fatal: Option<(usize, Moment)>,
    /// Processes that were killed so, and when. They come back by themselves.
    pub(crate) fallen: BTreeMap<String, Duration>,
    /// Requests that are under way, the next to arrive first.
    pub(crate) late: Vec<Late>,
    /// How many writes were begun.
    pub(crate) begun: usize,
    /// How many requests were, but for signs of life.
    pub(crate) requests: usize,
    /// The last of these.
    last: VecDeque<(String, &'static str, &'static str, ObjectName)>,
    /// What the Lease by which the agents of a member elect a leader carries.
    pub(crate) notes: BTreeMap<usize, Notes>,
    /// What agents have looked for in vain.
    pub(crate) absences: Vec<Absence>,
    pub(crate) questions: StepQuestions,
    /// What must not be.
    pub(crate) findings: Vec<String>,
    pub(crate) writes: usize,
    pub(crate) plans: usize,
    pub(crate) crashes: usize,
    pub(crate) effects: Effects,
    /// What has happened, if it is wanted.
    pub(crate) log: Option<Vec<String>>,
}

impl Env {
    pub(crate) fn new(base: &Base, clock: BootClock, seed: u64) -> Self {
        Self {
            servers: base.servers.clone(),
            decoder: base.decoder.clone(),
            now: base.now,
            clock,
            random: Random::new(seed),
            ambushes: BTreeMap::new(),
            cut: BTreeSet::new(),
            lossy: 0,
            storm: 0,
            fatal: None,
            fallen: BTreeMap::new(),
            late: Vec::new(),
            begun: 0,
            requests: 0,
            last: VecDeque::new(),
            notes: base.notes.clone(),
            absences: Vec::new(),
            questions: StepQuestions::default(),
            findings: Vec::new(),
            writes: 0,
            plans: 0,
            crashes: 0,
            effects: Effects::default(),
            log: None,
        }
    }

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

    /// A process begins a request.
    pub(crate) fn begin(&mut self, process: &str, step: &Step) {
        if SIGNS_OF_LIFE.contains(&step.kind) {
            return;
        }
        self.requests += 1;
        self.last.truncate(LAST - 1);
        let (verb, kind) = (step.action.verb(), step.kind.kind);
        self.last.push_front((process.to_owned(), verb, kind, step.name.clone()));
    }

    /// The last requests, the newest first.
    pub(crate) fn last_requests(&self) -> Vec<String> {
        let line = |(process, verb, kind, name): &(String, &str, &str, ObjectName)| {
            format!("{process}: {verb} {kind} {name}")
        };
        self.last.iter().map(line).collect()
    }

    /// What becomes of a request of a process.
    pub(crate) fn fate(&mut self, process: &str, step: &Step) -> Fate {
        if step.action != Action::ConfirmAbsent
            && let Some(moment) = self.death(process)
        {
            return Fate::Dead(moment);
        }
        if self.lossy > 0 && self.random.once_in(self.lossy) {
            return *self.random.pick(&[Fate::Lost, Fate::Unanswered, Fate::Late]);
        }
        Fate::Answered
    }

    /// Whether a process is killed at a write.
    fn death(&mut self, process: &str) -> Option<Moment> {
        self.begun += 1;
        if let Some(ambush) = self.ambushes.get_mut(process) {
            ambush.writes = ambush.writes.saturating_sub(1);
            if ambush.writes == 0 {
                return self.ambushes.remove(process).map(|ambush| ambush.moment);
            }
        }
        let fatal = self.fatal.filter(|(write, _)| *write == self.begun).map(|(_, moment)| moment);
        let is_struck = self.storm > 0 && self.random.once_in(self.storm);
        let moment = fatal.or_else(|| is_struck.then(|| *self.random.pick(&Moment::ALL)))?;
        self.fallen.insert(process.to_owned(), self.now);
        Some(moment)
    }

    /// A request arrives later than its process waits for it.
    pub(crate) fn post(&mut self, server: usize, step: &Step, author: Author, key: &str) {
        let at = self.now + Duration::from_millis(self.random.within(1, LATEST));
        let life = self.servers.0[server].life;
        let late = Late { at, server, life, step: step.clone(), author, key: key.to_owned() };
        let place = self.late.partition_point(|other| other.at <= at);
        self.late.insert(place, late);
    }

    /// When the next of these requests arrives.
    pub(crate) fn next_late(&self) -> Option<Duration> {
        self.late.first().map(|late| late.at)
    }

    /// A server carries out a step. `knows` is whether who planned it has seen one state of what is there.
    pub(crate) fn execute(
        &mut self,
        server: usize,
        step: &Step,
        author: &Author,
        key: &str,
        knows: bool,
    ) -> Result<(), Refusal> {
        let at = &mut self.servers.0[server];
        let before = at.changes().len();
        let result = at.model.execute(step);
        at.sign_write(author, step.kind, &step.name);
        if step.action == Action::ConfirmAbsent && result.is_ok() {
            let number = self.servers.number();
            let (author, name) = (author.clone(), step.name.clone());
            self.absences.push(Absence { number, server, author, kind: step.kind, name });
        }
        let at = &self.servers.0[server];
        let is_written = at.changes().len() > before;
        self.writes += usize::from(is_written);
        if is_written && at.skew != 0 {
            self.effects.count(Effect::ServerClock);
        }
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
        let is_there = self.servers.0[server].model.get(step.kind, &step.name).is_some();
        let is_idle = match &step.action {
            Action::ConfirmAbsent | Action::Apply { .. } => false,
            Action::Delete { .. } => is_there,
            _ => true,
        };
        if result.is_ok() && !is_written && is_idle && knows {
            self.findings.push(format!("{author:?} writes what is there: {step:?}"));
        }
        self.look(server, before);
        result
    }

    /// Asks the questions of each step about what is new at a server.
    pub(crate) fn look(&mut self, server: usize, before: usize) {
        let found = self.questions.look(&self.servers, server, before);
        self.findings.extend(found);
    }

    /// Time passes, and requests arrive that were under way.
    pub(crate) fn advance(&mut self, to: Duration) {
        while self.next_late().is_some_and(|at| at <= to) {
            let late = self.late.remove(0);
            self.pass(late.at);
            // A server that was replaced has ended all connections.
            if self.servers.0[late.server].life == late.life {
                self.note(|| "late:".to_owned());
                let written = self.writes;
                self.execute(late.server, &late.step, &late.author, &late.key, true).ok();
                if self.writes > written {
                    self.effects.count(Effect::Late);
                }
            }
        }
        self.pass(to);
    }

    fn pass(&mut self, to: Duration) {
        self.clock.advance(to.saturating_sub(self.now));
        self.now = self.now.max(to);
        let before: Vec<_> = self.servers.0.iter().map(|it| it.changes().len()).collect();
        self.servers.set_time(self.now);
        for (at, before) in before.into_iter().enumerate() {
            if self.servers.0[at].changes().len() > before {
                self.servers.0[at].sign(&Author::Other);
                self.look(at, before);
            }
        }
    }

    /// Users have written something.
    pub(crate) fn sign_others(&mut self) {
        self.servers.sign_others();
        debug_assert!(self.servers.0[HUB].authors.len() == self.servers.0[HUB].changes().len());
    }
}
