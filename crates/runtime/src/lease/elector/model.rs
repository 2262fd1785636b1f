//! All interleavings of two electors and a server, up to a time.
//!
//! A process may stand still at any point and for any time, a request may arrive late or after its
//! sender has given up on it, an answer may be lost, and clocks may run differently. Data writes are
//! not modelled one by one: a process that leads may send one at any moment, which is answered or
//! given up within the write timeout.

use std::fmt::Debug;

use stateright::{Checker, Model, Property};

use super::*;

/// Ticks are seconds. Leads for one, writes are over within the same, and one is to spare for clocks.
const SOUND: Timing = timing(3, 1, 0);
/// A lease after the beginning of all clocks, so that a time before it can be named.
const START: u64 = 3;
/// Requests that a process may begin within a tick: a read and a write.
const PER_TICK: u8 = 2;

const fn timing(duration: u64, renew_deadline: u64, write_timeout: u64) -> Timing {
    Timing {
        duration: Duration::from_secs(duration),
        renew_deadline: Duration::from_secs(renew_deadline),
        retry_period: Duration::from_secs(1),
        write_timeout: Duration::from_secs(write_timeout),
    }
}

/// What an implementation might get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// Writes replace whatever is there.
    NoPrecondition,
    /// Expiry is counted from the time that the record names.
    TrustsRenewTime,
    /// The holder counts from the answer instead of from before it asked.
    CountsFromTheAnswer,
    /// A deleted lease is free at once.
    DeletedIsFree,
}

struct Election {
    timing: Timing,
    defect: Defect,
    /// The end of time: who was seen at the start may be succeeded, and then some.
    ticks: u64,
    /// Whether the clocks of the two get a tick apart.
    drifts: bool,
    /// Whether a user deletes the lease, once.
    deletes: bool,
    /// Whether answers are lost and requests late.
    loses: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    lease: Option<Found>,
    deleted: bool,
    processes: [Process; 2],
    requests: Vec<Request>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    /// Its own clock.
    now: u64,
    elector: Elector,
    /// When it asked what it waits for an answer to.
    asked: Option<u64>,
    answer: Option<Answer>,
    asked_in_this_tick: u8,
    /// When the last write that it may have sent is over.
    writes_end: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Answer {
    Read(Option<Found>),
    Written(Found),
}

/// A write on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Request {
    from: usize,
    /// Whether its sender still waits for it.
    awaited: bool,
    at: Option<String>,
    holder: String,
    renewed: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
enum Action {
    /// A second passes, but not on the clock of one.
    Tick {
        slow: Option<usize>,
    },
    Act(usize),
    Serve(usize),
    Receive(usize),
    GiveUp(usize),
    Delete,
}

const NEWEST: &str = "newest";
const OLD: &str = "old";

impl Process {
    fn new(name: &str, timing: Timing) -> Self {
        Self {
            now: START,
            elector: Elector::new(name.to_owned(), timing),
            asked: None,
            answer: None,
            asked_in_this_tick: 0,
            writes_end: None,
        }
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.now)
    }

    fn leads(&self) -> bool {
        self.time() < self.elector.leads_until()
    }

    fn may_write_arrive(&self) -> bool {
        self.leads() || self.writes_end.is_some_and(|end| self.now <= end)
    }

    fn answered(&mut self, answer: Option<Answer>) {
        self.answer = answer;
        if self.answer.is_none() {
            self.asked = None;
            self.elector.forget();
        }
    }

    fn note_writes(&mut self, timing: &Timing) {
        if self.leads() {
            self.writes_end = Some(self.now + timing.write_timeout.as_secs());
        }
    }
}

impl World {
    /// There is a newer version than the one called newest so far. Versions are only compared with
    /// the server's, so all others are the same to everybody.
    fn supersede(&mut self) {
        let age = |version: &mut String| OLD.clone_into(version);
        for process in &mut self.processes {
            if let Current::Lease(found) = &mut process.elector.current {
                age(&mut found.version);
            }
            if let Some(Answer::Read(Some(found)) | Answer::Written(found)) = &mut process.answer {
                age(&mut found.version);
            }
        }
        self.requests.iter_mut().filter_map(|request| request.at.as_mut()).for_each(age);
    }

    /// Wipes out what no longer matters.
    fn forget(&mut self, election: &Election) {
        for process in &mut self.processes {
            let now = process.time();
            let elector = &mut process.elector;
            if elector.until <= now {
                elector.until = Duration::ZERO;
            }
            if elector.seen_at + election.timing.duration <= now {
                elector.seen_at = Duration::ZERO;
            }
            process.writes_end = process.writes_end.filter(|end| *end >= process.now);
        }
        if election.defect != Defect::NoPrecondition {
            // Whenever they arrive, they will have no effect.
            for request in
                self.requests.extract_if(.., |request| request.at.as_deref() == Some(OLD))
            {
                if request.awaited {
                    self.processes[request.from].answered(None);
                }
            }
        }
        self.requests.sort();
    }
}

impl Election {
    /// `None`: the server has another version.
    fn serve(&self, world: &mut World, request: Request) -> Option<Answer> {
        let current = world.lease.as_ref().map(|found| &found.version);
        if current != request.at.as_ref() && self.defect != Defect::NoPrecondition {
            return None;
        }
        world.supersede();
        let Request { holder, renewed, .. } = request;
        let record =
            Object { holder, renewed, duration: self.timing.duration, ..Object::default() };
        let found = Found { version: NEWEST.to_owned(), record };
        world.lease = Some(found.clone());
        Some(Answer::Written(found))
    }

    fn receive(&self, process: &mut Process, sent: u64, answer: Answer) {
        let now = process.time();
        let elector = &mut process.elector;
        match answer {
            Answer::Read(found) => {
                let gone = found.is_none();
                let renewed = found.as_ref().and_then(|found| found.record.renewed);
                elector.read(now, found);
                if let (Defect::TrustsRenewTime, Some(renewed)) = (self.defect, renewed) {
                    // By a date that is a lease ahead of the other's.
                    let renewed = Duration::from_secs(renewed.as_second().unsigned_abs());
                    elector.seen_at = renewed.saturating_sub(self.timing.duration);
                }
                if gone && self.defect == Defect::DeletedIsFree {
                    elector.remembered = Object::default();
                }
            }
            Answer::Written(found) => {
                let from_the_answer = self.defect == Defect::CountsFromTheAnswer;
                let sent = if from_the_answer { now } else { Duration::from_secs(sent) };
                elector.wrote(sent, found);
            }
        }
        process.note_writes(&self.timing);
    }

    fn act(world: &mut World, index: usize) {
        let process = &mut world.processes[index];
        let wall = Timestamp::from_second(i64::try_from(process.now).unwrap()).unwrap();
        match process.elector.decide(process.time(), wall) {
            NextAction::Wait => return process.elector.forget(),
            NextAction::Read => process.answer = Some(Answer::Read(world.lease.clone())),
            NextAction::Write { at, record } => {
                let Object { holder, renewed, .. } = record;
                world.requests.push(Request { from: index, awaited: true, at, holder, renewed });
            }
        }
        process.asked = Some(process.now);
        process.asked_in_this_tick += 1;
    }
}

impl Model for Election {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let processes = ["a", "b"].map(|name| Process::new(name, self.timing));
        vec![World { lease: None, deleted: false, processes, requests: Vec::new() }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let [a, b] = &world.processes;
        if a.now.max(b.now) < START + self.ticks {
            actions.push(Action::Tick { slow: None });
            if self.drifts && a.now == b.now {
                actions.extend([0, 1].map(|slow| Action::Tick { slow: Some(slow) }));
            }
        }
        for (index, process) in world.processes.iter().enumerate() {
            if process.answer.is_some() {
                actions.push(Action::Receive(index));
            } else if process.asked.is_none() && process.asked_in_this_tick < PER_TICK {
                actions.push(Action::Act(index));
            }
            // An answer to a read that is lost is like a read that was not sent. One late write of
            // each process is enough to show what it does.
            let late = |request: &Request| request.from == index && !request.awaited;
            let may_be_late = self.loses && !world.requests.iter().any(late);
            if may_be_late
                && process.asked.is_some()
                && !matches!(process.answer, Some(Answer::Read(_)))
            {
                actions.push(Action::GiveUp(index));
            }
        }
        actions.extend((0..world.requests.len()).map(Action::Serve));
        // Once, and when both know of it: a newcomer cannot know better.
        let known = |process: &Process| !process.elector.holder().is_empty();
        if self.deletes && world.lease.is_some() && !world.deleted && known(a) && known(b) {
            actions.push(Action::Delete);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Tick { slow } => {
                for (index, process) in next.processes.iter_mut().enumerate() {
                    process.asked_in_this_tick = 0;
                    process.now += u64::from(slow != Some(index));
                    process.note_writes(&self.timing);
                }
            }
            Action::Act(index) => Self::act(&mut next, index),
            Action::Serve(at) => {
                let request = next.requests.remove(at);
                let awaited = request.awaited.then_some(request.from);
                let answer = self.serve(&mut next, request);
                if let Some(index) = awaited {
                    next.processes[index].answered(answer);
                }
            }
            Action::Receive(index) => {
                let process = &mut next.processes[index];
                let (sent, answer) = (process.asked.take()?, process.answer.take()?);
                self.receive(process, sent, answer);
            }
            Action::GiveUp(index) => {
                let process = &mut next.processes[index];
                (process.asked, process.answer) = (None, None);
                process.elector.forget();
                let theirs = next.requests.iter_mut().filter(|request| request.from == index);
                theirs.for_each(|request| request.awaited = false);
            }
            Action::Delete => {
                next.supersede();
                (next.lease, next.deleted) = (None, true);
            }
        }
        next.forget(self);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("at most one writer", |_, world: &World| {
                let [a, b] = &world.processes;
                !(a.leads() && b.may_write_arrive() || b.leads() && a.may_write_arrive())
            }),
            Property::sometimes("one leads after the other", |_, world: &World| {
                let [a, b] = &world.processes;
                // Who last saw itself as the holder was acknowledged, or lost the answer.
                b.leads() && a.elector.holder() == "a"
            }),
        ]
    }
}

/// Nothing goes wrong but pauses; the other trouble comes one kind at a time, which keeps each
/// search in the tens of thousands of states.
const CALM: Election = Election {
    timing: SOUND,
    defect: Defect::None,
    ticks: 4,
    drifts: false,
    deletes: false,
    loses: false,
};
const DRIFTS: Election = Election { drifts: true, ..CALM };
const DELETES: Election = Election { deletes: true, ..CALM };
const LOSES: Election = Election { loses: true, ticks: 3, ..CALM };

fn check(election: Election) -> impl Checker<Election> {
    election.checker().threads(1).spawn_bfs().join()
}

#[track_caller]
fn holds(election: Election) {
    let checked = check(election);
    eprintln!("{} states", checked.unique_state_count());
    checked.assert_properties();
}

fn is_found(election: Election) -> bool {
    check(election).discovery("at most one writer").is_some()
}

#[test]
fn one_process_writes_though_clocks_drift() {
    holds(DRIFTS);
}

#[test]
fn one_process_writes_though_the_lease_is_deleted() {
    holds(DELETES);
}

#[test]
fn one_process_writes_though_answers_are_lost_and_requests_late() {
    holds(LOSES);
}

#[test]
fn every_defect_is_found() {
    for (election, defect) in [
        (CALM, Defect::NoPrecondition),
        (CALM, Defect::TrustsRenewTime),
        (CALM, Defect::CountsFromTheAnswer),
        (DELETES, Defect::DeletedIsFree),
    ] {
        assert!(is_found(Election { defect, ..election }), "{defect:?} is not found");
    }
}

#[test]
fn times_that_are_refused_are_refused_for_a_reason() {
    let timing = timing(1, 1, 1);
    timing.check().unwrap_err();
    assert!(is_found(Election { timing, ..CALM }));
}
