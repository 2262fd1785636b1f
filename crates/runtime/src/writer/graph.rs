//! Which steps of a plan may be sent.

use std::collections::BTreeMap;

use fleet_accumulator::ClusterId;
use fleet_plan::{Account, Step};

use crate::fair::FairQueue;

/// The order that steps give each other.
pub(super) struct Graph {
    /// Steps that each step still waits for; `None` once it will not be sent.
    missing: Vec<Option<usize>>,
    /// Steps that wait for each step.
    dependents: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn new(steps: &[Step]) -> Self {
        let mut dependents = vec![Vec::new(); steps.len()];
        let mut missing = Vec::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            missing.push(Some(step.after.len()));
            for id in &step.after {
                // A plan is built front to back, so this cannot name a later step.
                dependents[id.index()].push(index);
            }
        }
        Self { missing, dependents }
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = usize> {
        (0..self.missing.len()).filter(|index| self.missing[*index] == Some(0))
    }

    /// Steps that may be sent because `index` succeeded.
    pub(super) fn succeeded(&mut self, index: usize) -> Vec<usize> {
        let mut ready = std::mem::take(&mut self.dependents[index]);
        ready.retain(|next| {
            let missing = self.missing[*next].as_mut().map(|missing| {
                *missing -= 1;
                *missing
            });
            missing == Some(0)
        });
        ready
    }

    /// Steps that are not sent because `index` failed, in order.
    pub(super) fn failed(&mut self, index: usize) -> Vec<usize> {
        let mut skipped = Vec::new();
        let mut todo = vec![index];
        while let Some(index) = todo.pop() {
            for next in std::mem::take(&mut self.dependents[index]) {
                if self.missing[next].take().is_some() {
                    skipped.push(next);
                    todo.push(next);
                }
            }
        }
        skipped.sort_unstable();
        skipped
    }
}

/// Steps that may be sent, of which as many wait for an API server as it takes requests: the requests of the others are
/// not made yet, and take no memory.
pub(super) struct Sendable<'a> {
    steps: &'a [Step],
    /// By cluster, so that one that does not answer delays no steps for another.
    lanes: BTreeMap<ClusterId, Lanes>,
    in_flight: usize,
}

struct Lanes {
    urgent: FairQueue<Account, usize>,
    normal: FairQueue<Account, usize>,
    running: usize,
}

impl<'a> Sendable<'a> {
    pub(super) fn new(steps: &'a [Step], in_flight: usize) -> Self {
        Self { steps, lanes: BTreeMap::new(), in_flight }
    }

    pub(super) fn add(&mut self, indices: impl IntoIterator<Item = usize>) {
        for index in indices {
            let step = &self.steps[index];
            let lanes = self.lanes.entry(step.cluster).or_insert_with(|| Lanes {
                urgent: FairQueue::new(1),
                normal: FairQueue::new(1),
                running: 0,
            });
            let lane = if step.urgent { &mut lanes.urgent } else { &mut lanes.normal };
            lane.push(&step.account, index);
        }
    }

    /// A step that is to be sent now.
    pub(super) fn next(&mut self) -> Option<usize> {
        let in_flight = self.in_flight;
        self.lanes.values_mut().filter(|lanes| lanes.running < in_flight).find_map(|lanes| {
            let (_, index) = lanes.urgent.pop().or_else(|| lanes.normal.pop())?;
            lanes.running += 1;
            Some(index)
        })
    }

    /// A step is answered, or has failed.
    pub(super) fn ended(&mut self, index: usize) {
        if let Some(lanes) = self.lanes.get_mut(&self.steps[index].cluster) {
            lanes.running -= 1;
        }
    }
}
