//! What a plan leads to: its writes, what is measured about them, and when its key is planned again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::Accumulator;
use fleet_plan::{Controller, Event, Measured, Patience, Plan, Step};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::freshness::{self, Freshness};
use super::recorder::{Answer, SharedRecorder};
use super::requeue;
use super::timings::StageTimings;
use crate::clock::{Clock, monotonic as now};
use crate::events::EventSink;
use crate::metrics::ControllerMetrics;
use crate::queue::{Job, Requeue};
use crate::traces::Tracer;
use crate::writer::{Outcome, Writer};

/// What the runs of all keys share.
pub(super) struct Shared<R: Controller> {
    pub(super) controller: Arc<R>,
    pub(super) accumulator: Accumulator<R::Snapshot>,
    pub(super) writer: Writer,
    pub(super) events: EventSink,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<ControllerMetrics>,
    pub(super) recorder: SharedRecorder<R>,
    pub(super) tracer: Option<Tracer>,
    pub(super) patience: Patience,
    /// Ends this term.
    pub(super) cancel: CancellationToken,
}

/// A run that has ended.
pub(super) struct Run<K> {
    pub(super) key: K,
    pub(super) requeue: Requeue,
    pub(super) wake: Option<Instant>,
    /// What an API server has against a write, that will not change by itself.
    pub(super) refusal: Option<String>,
}

/// New Events that a plan reports at once.
const MAX_EVENTS: usize = 64;
/// How soon a plan with deletions that are held is computed again.
const HELD: Duration = Duration::from_secs(5);

impl<R: Controller> Shared<R> {
    /// Reports Events that were not reported recently, up to a limit; false if there may be more.
    pub(super) fn emit(&self, mut events: impl Iterator<Item = Event>) -> bool {
        let mut left = MAX_EVENTS;
        events.all(|event| {
            left -= usize::from(self.events.emit(event));
            left > 0
        })
    }

    /// The plan without the deletions that have to wait.
    pub(super) fn held(
        &self,
        mut plan: Plan<R::Measurement>,
        snapshot: &R::Snapshot,
    ) -> Plan<R::Measurement> {
        if self.patience.hold(&mut plan, snapshot) {
            self.metrics.failed("held");
            plan.wake_within(HELD);
        }
        plan
    }

    /// Sends the steps of a plan and waits until the view shows them. Returns what is refused for good, too.
    pub(super) async fn write(
        &self,
        job: &Job<R::Key>,
        timings: StageTimings,
        mut steps: Vec<Step>,
        measurements: Vec<Measured<R::Measurement>>,
    ) -> (Requeue, Option<String>) {
        let spans =
            self.tracer.as_ref().map(|tracer| tracer.begin(&mut steps, &job.key, job.since));
        let outcome = self.writer.execute(&steps, &self.cancel).await;
        if let Some(spans) = spans {
            spans.end(&steps, &outcome);
        }
        self.measure(timings, &steps, &outcome);
        self.record_acknowledged(&job.key, &measurements, &outcome);
        self.record_answers(&job.key, &steps, &outcome);
        for failure in &outcome.failures {
            self.metrics.failed(failure.class.as_str());
            tracing::debug!(
                controller = self.controller.name(), key = %job.key, step = failure.step,
                class = %failure.class, error = failure.message, "Step failed",
            );
        }
        let Outcome { expectations, failures, .. } = outcome;
        let reads = self.controller.required().union(self.controller.reads());
        let settled = freshness::await_own_writes(
            &self.accumulator,
            &self.writer,
            reads,
            expectations,
            &self.metrics,
        );
        // Nothing is planned any more once the process is stopping.
        let view = self.cancel.run_until_cancelled(settled).await.unwrap_or(Freshness::Stale);
        let requeue = requeue::requeue(&failures, view);
        let refusal = failures.into_iter().find(|failure| failure.class.is_about_content());
        (requeue, refusal.map(|failure| failure.message))
    }

    fn measure(&self, timings: StageTimings, steps: &[Step], outcome: &Outcome) {
        for (index, at) in &outcome.acknowledged {
            let Some(step) = steps.get(*index) else { continue };
            if let (Some(stage), Some((whole, parts))) = (step.stage, timings.until(*at)) {
                self.metrics.stage(stage, whole);
                for (part, took) in parts {
                    self.metrics.stage_part(stage, part, took);
                }
            }
        }
    }

    /// Records what is measured about a plan itself, and leaves what is measured about its steps.
    pub(super) fn record_planned(
        &self,
        key: &R::Key,
        measurements: &mut Vec<Measured<R::Measurement>>,
        at: Timestamp,
    ) {
        for measured in measurements.extract_if(.., |measured| measured.after.is_none()) {
            self.record(key, &measured.what, at);
        }
    }

    /// Records what is measured about acknowledged steps, with the time of the acknowledgement.
    fn record_acknowledged(
        &self,
        key: &R::Key,
        measurements: &[Measured<R::Measurement>],
        outcome: &Outcome,
    ) {
        if measurements.is_empty() {
            return;
        }
        // A key may have thousands of slices, each a step with a measurement.
        let acknowledged: BTreeMap<_, _> = outcome.acknowledged.iter().copied().collect();
        for Measured { after, what } in measurements {
            if let Some(at) = after.and_then(|id| acknowledged.get(&id.index())) {
                let time = self.clock.now();
                let ago = now().saturating_duration_since(*at);
                self.record(key, what, time.checked_sub(ago).unwrap_or(time));
            }
        }
    }

    /// Records what came of steps, and what an API server has refused of which a retry alone changes nothing.
    fn record_answers(&self, key: &R::Key, steps: &[Step], outcome: &Outcome) {
        let Some(recorder) = &self.recorder else { return };
        let mut recorder = recorder.lock();
        for (step, _) in &outcome.acknowledged {
            if let Some(step) = steps.get(*step) {
                recorder.answered(key, step, Answer::Acknowledged);
            }
        }
        for failure in &outcome.failures {
            let Some(step) = steps.get(failure.step) else { continue };
            recorder.answered(key, step, Answer::of(failure));
            if failure.class.is_hopeless() {
                recorder.refused(key, step, &failure.message);
            }
        }
    }

    fn record(&self, key: &R::Key, what: &R::Measurement, at: Timestamp) {
        let Some(recorder) = &self.recorder else { return };
        let events = recorder.lock().record(key, what, at);
        for event in events {
            self.events.emit(event);
        }
    }
}
