//! One controller of an agent, which plans what a difference affects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::Snapshot as _;
use fleet_plan::{Controller, Plan, affected_keys};
use jiff::Timestamp;

/// A controller, what it has seen, and what it plans again without a change.
pub(super) struct Worker<C: Controller> {
    controller: C,
    seen: C::Snapshot,
    due: BTreeMap<C::Key, Duration>,
    left_out: BTreeSet<String>,
}

impl<C: Controller> Worker<C> {
    /// It has seen nothing yet.
    pub(super) fn new(controller: C) -> Self {
        let (seen, due) = (C::Snapshot::default(), BTreeMap::new());
        Self { controller, seen, due, left_out: BTreeSet::new() }
    }

    /// The same, without these keys.
    pub(super) fn without(self, left_out: BTreeSet<String>) -> Self {
        Self { left_out, ..self }
    }

    /// The plans for what has changed and for what is due `at`, those without writes among them.
    pub(super) fn plans(
        &mut self,
        snapshot: &C::Snapshot,
        now: Timestamp,
        at: Duration,
    ) -> Vec<(C::Key, Plan<C::Measurement>)> {
        if !snapshot.complete(self.controller.required()) {
            return Vec::new();
        }
        let mut keys: BTreeSet<_> = affected_keys(&self.controller, &self.seen, snapshot);
        self.seen = snapshot.clone();
        keys.extend(self.due.iter().filter(|(_, due)| **due <= at).map(|(key, _)| key.clone()));
        if !self.left_out.is_empty() {
            keys.retain(|key| !self.left_out.contains(&key.to_string()));
        }
        let mut plans = Vec::new();
        for key in keys {
            let plan = self.controller.plan(&key, snapshot, now);
            // A write may be refused, as one that another agent has overtaken.
            let again = if plan.is_empty() { plan.wake_after } else { Some(Duration::ZERO) };
            match again {
                Some(after) => self.due.insert(key.clone(), at + after),
                None => self.due.remove(&key),
            };
            plans.push((key, plan));
        }
        plans
    }

    /// When the next key is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.due.values().min().copied()
    }
}
