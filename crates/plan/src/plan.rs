//! A plan: the API writes one key still misses, as data.
//!
//! Planning is pure; a plan can be compared in a test, printed in a log, and executed by the writer of
//! `fleet-runtime`. Nothing here does I/O.

use std::convert::Infallible;
use std::time::Duration;

use crate::event::Event;
use crate::step::{Step, StepId};

/// Time for which a "waiting" status must be due before it is written: usually the answer comes earlier
/// and saves the write (docs/design/rules.md#waiting-statuses).
pub const WAITING_STATUS_DELAY: Duration = Duration::from_millis(500);

/// A step that is sent only if plans keep containing it for a while.
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
    /// A question that is asked before it is sent, and that has to be answered with yes.
    pub confirmed_by: Option<Step>,
}

impl Debounced {
    /// A step without Events or a question.
    pub fn new(delay: Duration, purpose: &'static str, step: Step) -> Self {
        Self { delay, purpose, step, events: Vec::new(), confirmed_by: None }
    }

    /// Adds the step to those of its plan, now that its time has come.
    pub fn join(self, steps: &mut Vec<Step>) {
        let place = StepId::at(steps.len());
        let asked = self.confirmed_by.is_some().then_some(place);
        steps.extend(self.confirmed_by);
        steps.push(self.step.after(asked));
    }
}

/// Something to measure because of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured<M> {
    /// The step whose acknowledgement is measured; `None` for the plan itself.
    pub after: Option<StepId>,
    /// What to record.
    pub what: M,
}

/// All writes a key still misses. An empty plan means that nothing is left to do.
///
/// `M` is what the agent measures; plans of an agent that measures nothing hold no measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<M = Infallible> {
    /// Steps in an order that respects their dependencies. A failed step stops only those that
    /// wait for it.
    pub steps: Vec<Step>,
    /// Steps that must first prove to be needed for a while.
    pub debounced: Vec<Debounced>,
    /// When to plan again even if nothing changes.
    pub wake_after: Option<Duration>,
    /// Events to emit. The engine suppresses repetitions.
    pub events: Vec<Event>,
    /// What to measure: each once, when it is planned or when its step is acknowledged.
    pub measurements: Vec<Measured<M>>,
}

impl<M> Default for Plan<M> {
    fn default() -> Self {
        let (steps, debounced, events) = (Vec::new(), Vec::new(), Vec::new());
        Self { steps, debounced, wake_after: None, events, measurements: Vec::new() }
    }
}

impl<M> Plan<M> {
    /// Adds a step and returns what others can wait for.
    pub fn push(&mut self, step: Step) -> StepId {
        debug_assert!(step.after.iter().all(|id| id.index() < self.steps.len()));
        self.steps.push(step);
        StepId::at(self.steps.len() - 1)
    }

    /// Adds a step that is sent once plans have contained it during `delay`.
    pub fn debounce(&mut self, delay: Duration, purpose: &'static str, step: Step) {
        debug_assert!(step.after.iter().all(|id| id.index() < self.steps.len()));
        self.debounced.push(Debounced::new(delay, purpose, step));
    }

    /// The same, but that the API server has to confirm then what `question` asks.
    pub fn debounce_confirmed(
        &mut self,
        delay: Duration,
        purpose: &'static str,
        question: Option<Step>,
        step: Step,
    ) {
        let step = Debounced::new(delay, purpose, step);
        self.debounced.push(Debounced { confirmed_by: question, ..step });
    }

    /// Measures `what` when this is planned.
    pub fn measure(&mut self, what: M) {
        self.measurements.push(Measured { after: None, what });
    }

    /// Measures `what` when `step` is acknowledged.
    pub fn measure_after(&mut self, step: StepId, what: M) {
        self.measurements.push(Measured { after: Some(step), what });
    }

    /// The steps with what others can wait for.
    pub fn step_ids(&self) -> impl Iterator<Item = (StepId, &Step)> {
        self.steps.iter().enumerate().map(|(index, step)| (StepId::at(index), step))
    }

    /// The plan without what it measures, to be compared with plans of another agent.
    #[must_use]
    pub fn unmeasured(self) -> Plan {
        let Self { steps, debounced, wake_after, events, .. } = self;
        Plan { steps, debounced, wake_after, events, measurements: Vec::new() }
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
