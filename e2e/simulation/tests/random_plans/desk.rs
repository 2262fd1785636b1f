//! One controller of a process: which of its keys are to be planned, and when.

use std::any::Any;
use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::{ClusterId, Expectation, SourceSet};
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Affected, AffectedKey, Controller, Debounced, Patience, Plan, Step};
use jiff::Timestamp;

/// How soon a plan with deletions that are held is computed again.
const HELD: Duration = Duration::from_secs(5);
/// Longest pause after failures.
const LONGEST_BACKOFF: Duration = Duration::from_mins(1);

/// What is known of one step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    NotYet,
    Done,
    Failed,
    Skipped,
}

/// A plan that is being carried out.
pub(crate) struct Run {
    pub(crate) desk: usize,
    id: u64,
    pub(crate) key: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) sent: Vec<Sent>,
    /// Steps about objects of which the plan saw different versions, as two watches showed them.
    pub(crate) torn: Vec<bool>,
    /// What is measured once a step is done.
    pub(crate) measurements: Vec<(usize, Box<dyn Any>)>,
    pub(crate) expectations: Vec<Expectation>,
    /// Whether a newer view is the remedy for all failures.
    pub(crate) is_stale_view: bool,
    pub(crate) has_failed: bool,
    /// When all of it was answered.
    pub(crate) answered: Option<Duration>,
}

impl Run {
    /// The steps that can be sent now; those that wait for a failed one never are.
    pub(crate) fn sendable(&mut self) -> Vec<usize> {
        let mut found = Vec::new();
        for at in 0..self.steps.len() {
            if self.sent[at] != Sent::NotYet {
                continue;
            }
            let before = self.steps[at].after.iter().map(|id| self.sent[id.index()]);
            let (mut ready, mut skipped) = (true, false);
            for sent in before {
                ready &= sent == Sent::Done;
                skipped |= matches!(sent, Sent::Failed | Sent::Skipped);
            }
            if skipped {
                self.sent[at] = Sent::Skipped;
            } else if ready {
                found.push(at);
            }
        }
        found
    }
}

/// When a key is planned again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Forget,
    AtOnce,
    Later,
}

/// A controller, whatever its keys are.
pub(crate) trait Planning<S> {
    fn required(&self) -> SourceSet;
    fn reads(&self) -> SourceSet;
    /// Takes note of a new snapshot.
    fn observe(&mut self, new: &S, now: Duration);
    /// How many keys can be planned now.
    fn due(&self, now: Duration) -> usize;
    fn next_due(&self) -> Option<Duration>;
    /// Plans the key at this place among those that are due. `take` gets what the plan itself measures.
    fn plan(
        &mut self,
        at: usize,
        snapshot: &S,
        times: (Duration, Timestamp),
        take: &mut dyn FnMut(&dyn Any),
    ) -> Option<Run>;
    /// The run has ended.
    fn finish(&mut self, run: &Run, again: Again, now: Duration);
}

/// Identity of a debounced step across plans.
type Identity = (&'static str, ClusterId, ResourceKind, ObjectName);

pub(crate) struct Desk<C: Controller> {
    at: usize,
    patience: Patience,
    controller: C,
    base: C::Snapshot,
    /// Keys, and when they are to be planned.
    queue: BTreeMap<C::Key, Duration>,
    running: BTreeMap<C::Key, u64>,
    /// When a key is planned again that is being written.
    wakes: BTreeMap<u64, Duration>,
    failures: BTreeMap<C::Key, u32>,
    pending: BTreeMap<C::Key, Vec<(Identity, Duration)>>,
    runs: u64,
}

impl<C: Controller> Desk<C> {
    pub(crate) fn new(at: usize, controller: C) -> Self {
        Self {
            at,
            patience: Patience::of(&controller),
            controller,
            base: C::Snapshot::default(),
            queue: BTreeMap::new(),
            running: BTreeMap::new(),
            wakes: BTreeMap::new(),
            failures: BTreeMap::new(),
            pending: BTreeMap::new(),
            runs: 0,
        }
    }

    fn mark(&mut self, key: C::Key, at: Duration) {
        let due = self.queue.entry(key).or_insert(at);
        *due = (*due).min(at);
    }

    /// Of the debounced steps those whose time has come, and the time of the next.
    fn ripe(
        &mut self,
        key: &C::Key,
        debounced: Vec<Debounced>,
        now: Duration,
    ) -> (Vec<Debounced>, Option<Duration>) {
        let before = self.pending.remove(key).unwrap_or_default();
        let (mut ripe, mut wake, mut pending) = (Vec::new(), None, Vec::new());
        for item in debounced {
            let Debounced { delay, purpose, step, .. } = &item;
            let identity = (*purpose, step.cluster, step.kind, step.name.clone());
            let earlier = before.iter().find(|(known, _)| *known == identity);
            let since = earlier.map_or(now, |(_, since)| *since);
            if since + *delay <= now {
                ripe.push(item);
            } else {
                wake = wake.into_iter().chain([since + *delay]).min();
            }
            pending.push((identity, since));
        }
        if !pending.is_empty() {
            self.pending.insert(key.clone(), pending);
        }
        (ripe, wake)
    }

    fn due_keys(&self, now: Duration) -> impl Iterator<Item = &C::Key> {
        let due = self.queue.iter().filter(move |(_, at)| **at <= now);
        due.map(|(key, _)| key).filter(|key| !self.running.contains_key(*key))
    }

    fn run(&mut self, key: C::Key, steps: Vec<Step>, wake: Option<Duration>) -> Run {
        self.runs += 1;
        if let Some(wake) = wake {
            self.wakes.insert(self.runs, wake);
        }
        let text = key.to_string();
        self.running.insert(key, self.runs);
        let sent = vec![Sent::NotYet; steps.len()];
        Run {
            desk: self.at,
            id: self.runs,
            key: text,
            steps,
            sent,
            torn: Vec::new(),
            measurements: Vec::new(),
            expectations: Vec::new(),
            is_stale_view: true,
            has_failed: false,
            answered: None,
        }
    }
}

impl<C: Controller> Planning<C::Snapshot> for Desk<C> {
    fn required(&self) -> SourceSet {
        self.controller.required()
    }

    fn reads(&self) -> SourceSet {
        self.controller.required().union(self.controller.reads())
    }

    fn observe(&mut self, new: &C::Snapshot, now: Duration) {
        let mut marked = Vec::new();
        let mut take = |affected: AffectedKey<C::Key>| marked.push((affected.key, affected.delay));
        self.controller.affected_keys(&self.base, new, &mut Affected::to(&mut take));
        for (key, delay) in marked {
            self.mark(key, now + delay);
        }
        self.base = new.clone();
    }

    fn due(&self, now: Duration) -> usize {
        self.due_keys(now).count()
    }

    fn next_due(&self) -> Option<Duration> {
        let waiting = self.queue.iter().filter(|(key, _)| !self.running.contains_key(*key));
        waiting.map(|(_, at)| *at).min()
    }

    fn plan(
        &mut self,
        at: usize,
        snapshot: &C::Snapshot,
        (now, wall): (Duration, Timestamp),
        take: &mut dyn FnMut(&dyn Any),
    ) -> Option<Run> {
        let key = self.due_keys(now).nth(at)?.clone();
        self.queue.remove(&key);
        let mut plan = self.controller.plan(&key, snapshot, wall);
        if self.patience.hold(&mut plan, snapshot) {
            plan.wake_within(HELD);
        }
        let Plan { mut steps, debounced, wake_after, measurements, .. } = plan;
        let (ripe, ripens) = self.ripe(&key, debounced, now);
        for item in ripe {
            item.join(&mut steps);
        }
        let mut later: Vec<(usize, Box<dyn Any>)> = Vec::new();
        for measured in measurements {
            match measured.after {
                None => take(&measured.what),
                Some(step) => later.push((step.index(), Box::new(measured.what))),
            }
        }
        let wake = wake_after.map(|after| now + after).into_iter().chain(ripens).min();
        if steps.is_empty() {
            self.failures.remove(&key);
            if let Some(wake) = wake {
                self.mark(key, wake);
            }
            return None;
        }
        Some(Run { measurements: later, ..self.run(key, steps, wake) })
    }

    fn finish(&mut self, run: &Run, again: Again, now: Duration) {
        let key = self.running.iter().find(|(_, id)| **id == run.id).map(|(key, _)| key.clone());
        let Some(key) = key else { return };
        self.running.remove(&key);
        if let Some(wake) = self.wakes.remove(&run.id) {
            self.mark(key.clone(), wake);
        }
        match again {
            Again::Forget => {
                self.failures.remove(&key);
            }
            Again::AtOnce => self.mark(key, now),
            Again::Later => {
                let failures = self.failures.entry(key.clone()).or_default();
                *failures = (*failures + 1).min(7);
                let pause = Duration::from_millis(500 << *failures).min(LONGEST_BACKOFF);
                self.mark(key, now + pause);
            }
        }
    }
}
