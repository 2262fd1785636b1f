//! A plan: the API writes one key still misses, as data.
//!
//! Planning is pure; a plan can be compared in a test, printed in a log, and executed by the writer of
//! `fleet-runtime`. Nothing here does I/O.

use std::time::Duration;

use crate::event::Event;
use crate::step::{Step, StepId};

/// Time for which a "waiting" status must be due before it is written: usually the answer comes earlier
/// and saves the write (docs/design/rules.md#waiting-statuses).
pub const WAITING_STATUS_DELAY: Duration = Duration::from_millis(500);

/// A step that is sent only if plans keep asking for it for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Debounced {
    /// How long fresh plans must have contained it without a pause.
    pub delay: Duration,
    /// Identity across plans: the step itself may carry the time of planning.
    pub purpose: &'static str,
    /// The step. It comes after all steps of its plan, and can wait for any of them, but not for another such step.
    pub step: Step,
    /// Events to emit when it is sent.
    pub events: Vec<Event>,
}

/// All writes a key still misses. An empty plan means that nothing is left to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Steps in an order that respects their dependencies. A failed step stops only those that
    /// wait for it.
    pub steps: Vec<Step>,
    /// Steps that must first prove to be needed for a while.
    pub debounced: Vec<Debounced>,
    /// When to plan again even if nothing changes.
    pub wake_after: Option<Duration>,
    /// Events to emit. Repeats are suppressed by the engine.
    pub events: Vec<Event>,
}

impl Plan {
    /// Adds a step and returns what others can wait for.
    pub fn push(&mut self, step: Step) -> StepId {
        debug_assert!(step.after.iter().all(|id| id.index() < self.steps.len()));
        self.steps.push(step);
        StepId::at(self.steps.len() - 1)
    }

    /// Adds a step that is sent once plans have asked for it during `delay`.
    pub fn debounce(&mut self, delay: Duration, purpose: &'static str, step: Step) {
        debug_assert!(step.after.iter().all(|id| id.index() < self.steps.len()));
        self.debounced.push(Debounced { delay, purpose, step, events: Vec::new() });
    }

    /// Plans again after this long, or earlier if the plan asks for that already.
    pub fn wake_within(&mut self, after: Duration) {
        self.wake_after = Some(self.wake_after.map_or(after, |wake| wake.min(after)));
    }

    /// Whether there is nothing to write, now or later.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.debounced.is_empty()
    }
}
