//! Drives a [`Controller`]: from differences of the snapshot to acknowledged writes.
//!
//! One task per controller owns its cursor and its [queue](crate::queue). A key is planned in that task
//! as soon as it is marked, and its writes are polled there too, so that nothing is handed from
//! task to task between an event and the request it causes.

mod debounce;
mod freshness;
mod recorder;
mod requeue;
mod run;
mod timings;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{Accumulator, Snapshot, SourceSet, SourceState};
use fleet_plan::{Affected, AffectedKey, Controller, Patience, Plan};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, monotonic as now};
use crate::events::EventSink;
use crate::metrics::{ControllerMetrics, WorkQueue};
use crate::queue::{self, Job, Queue, Requeue};
use crate::term_waits::TermWaits;
use crate::traces::Tracer;
use crate::writer::Writer;
use debounce::{Debouncer, Sorted};
use recorder::SharedRecorder;
use run::{Run, Shared};
use timings::StageTimings;

pub use recorder::{Answer, Options, Recorder};

/// Keys with writes in flight per controller. More would only wait in the writer's lanes.
const KEYS_IN_FLIGHT: usize = 256;
/// From so many on, a key costs its account a whole turn, however quickly it was planned: then places are what is scarce, and
/// not time. Otherwise one account would get several places in each of its turns, and others wait until as many are free.
const PLACES_ARE_SCARCE: usize = KEYS_IN_FLIGHT / 2;
/// Plans in a row before others on this thread get their turn: at start every key is ready.
const PLANS_IN_A_ROW: usize = 64;
/// Time for plans before others get their turn: some keys concern many objects.
const PLANNING_TURN: Duration = Duration::from_millis(5);

/// Urgent and other steps that a key sends before other keys get their turn, and before it is planned again. Twice as many
/// after each failure, so that what fails again and again does not keep the rest from being sent.
const MAX_STEPS: usize = 512;
/// How often that is doubled.
const MAX_DOUBLINGS: u32 = 6;
/// Pause before the next Events of a plan that has more than are reported at once.
const MORE_EVENTS_AFTER: Duration = Duration::from_secs(1);

/// What a controller is connected to.
#[derive(Clone)]
pub struct Wiring<S> {
    /// Where its snapshots come from.
    pub accumulator: Accumulator<S>,
    /// Where its writes go.
    pub writer: Writer,
    /// Where its Events go.
    pub events: EventSink,
    /// The time that its plans get.
    pub clock: Clock,
    /// What it is measured with.
    pub metrics: Arc<ControllerMetrics>,
    /// Metrics of its queue by the names that Kubernetes' controllers use.
    pub work_queue: Option<WorkQueue>,
    /// Records the writes that are part of a trace.
    pub tracer: Option<Tracer>,
    /// Where it is noted that it may write and waits for lists.
    pub waits: TermWaits,
    /// Ends it.
    pub cancel: CancellationToken,
}

/// Runs `controller` until it is cancelled or until the accumulator ends. Returns when the requests on
/// their way are answered.
///
/// It plans only in the terms in which this process may write. Each begins with everything, listed
/// anew: who wrote meanwhile, and how far they got, is not known, and a watch that is silent or
/// behind shows what was.
pub async fn run_controller<R: Controller>(
    controller: Arc<R>,
    wiring: Wiring<R::Snapshot>,
    options: Options<R>,
) {
    tracing::info!(controller = controller.name(), "Controller started");
    let mut terms = wiring.writer.terms();
    while let Some(term) = wiring.cancel.run_until_cancelled(terms.begin()).await {
        let term_ends = terms.end(term);
        if run_term(&controller, &wiring, &options, term.since, term_ends).await
            == End::OfTheController
        {
            break;
        }
    }
    tracing::info!(controller = controller.name(), "Controller stopped");
}

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    OfTheTerm,
    OfTheController,
}

async fn run_term<R: Controller>(
    controller: &Arc<R>,
    wiring: &Wiring<R::Snapshot>,
    options: &Options<R>,
    since: Instant,
    term_ends: impl Future<Output = ()>,
) -> End {
    let mut term_ends = std::pin::pin!(term_ends);
    let (required, reads) = (controller.required(), controller.reads());
    let mut cursor = wiring.accumulator.cursor_since(required, reads, since);
    let view = wiring.accumulator.clone();
    let outdated = move || view.outdated(required, since);
    let mut wait = Some(wiring.waits.begin(controller.name(), since, outdated));
    if let Some(recorder) = &options.recorder {
        recorder.lock().begin(since);
    }
    let mut engine = Engine::new(Arc::clone(controller), wiring.clone(), options.recorder.clone());
    let shared = Arc::clone(&engine.shared);

    let end = loop {
        let more = engine.start_ready();
        engine.show();
        if more || engine.planned_for >= PLANNING_TURN {
            // Here, because the select below does not wait while answers or changes are there.
            engine.planned_for = Duration::ZERO;
            tokio::task::yield_now().await;
        }
        let turn = engine.queue.next_timer();
        tokio::select! {
            () = shared.cancel.cancelled() => break End::OfTheController,
            () = &mut term_ends => break End::OfTheTerm,
            step = cursor.next() => {
                let Some(step) = step else { break End::OfTheController };
                drop(wait.take());
                engine.add_affected(&step.old, &step.new, step.received);
                if recovered(required, &*step.old, &*step.new) {
                    engine.queue.hurry(now());
                }
                cursor.commit(step);
            }
            Some(run) = engine.running.next(), if !engine.running.is_empty() => {
                engine.finish(&run);
            }
            () = until(turn) => engine.queue.advance(now()),
            () = std::future::ready(()), if more => {}
        }
    };
    shared.cancel.cancel();
    engine.drain().await;
    end
}

struct Engine<R: Controller> {
    shared: Arc<Shared<R>>,
    queue: Queue<R::Key>,
    debouncer: Debouncer<R::Key>,
    running: FuturesUnordered<BoxFuture<'static, Run<R::Key>>>,
    /// Time for plans since others on this thread had their turn.
    planned_for: Duration,
}

impl<R: Controller> Engine<R> {
    fn new(controller: Arc<R>, wiring: Wiring<R::Snapshot>, recorder: SharedRecorder<R>) -> Self {
        let Wiring {
            accumulator, writer, events, clock, metrics, work_queue, tracer, cancel, ..
        } = wiring;
        let seed = u64::from(clock.now().subsec_nanosecond().unsigned_abs());
        let cancel = cancel.child_token();
        let patience = Patience::of(&*controller);
        Self {
            shared: Arc::new(Shared {
                controller,
                accumulator,
                writer,
                events,
                clock,
                metrics,
                recorder,
                tracer,
                patience,
                cancel,
            }),
            queue: Queue::new(seed).measured(work_queue),
            debouncer: Debouncer::new(),
            running: FuturesUnordered::new(),
            planned_for: Duration::ZERO,
        }
    }

    /// Waits for the answers to what was sent, and forgets the rest.
    async fn drain(mut self) {
        while self.running.next().await.is_some() {}
        self.queue = Queue::new(0);
        self.show();
    }

    /// Queues the keys whose plan may differ between two snapshots.
    fn add_affected(&mut self, old: &R::Snapshot, new: &R::Snapshot, received: Instant) {
        let (arrived, queue) = (now(), &mut self.queue);
        let mut add = |AffectedKey { key, delay, account }: AffectedKey<R::Key>| {
            queue.add_for(&account, key, received, arrived + delay, arrived);
        };
        self.shared.controller.affected_keys(old, new, &mut Affected::to(&mut add));
    }

    /// Plans keys that are ready. True if there are more that could start at once.
    fn start_ready(&mut self) -> bool {
        for _ in 0..PLANS_IN_A_ROW {
            if self.planned_for >= PLANNING_TURN {
                break;
            }
            if self.running.len() >= KEYS_IN_FLIGHT {
                return false;
            }
            let Some(job) = self.queue.take(now()) else { return false };
            self.start(job);
        }
        self.queue.ready() > 0
    }

    /// Plans a key on the newest snapshot, which is not older than what marked the key: the key was
    /// taken first.
    fn start(&mut self, job: Job<R::Key>) {
        let metrics = &self.shared.metrics;
        metrics.queue_wait.observe(job.waited.as_secs_f64());
        let started = now();
        let snapshot = self.shared.accumulator.snapshot();
        let time = self.shared.clock.now();
        let plan = self.shared.controller.plan(&job.key, &snapshot, time);
        let mut plan = self.shared.held(plan, &snapshot);
        let planned = now();
        metrics.plan_duration.observe(planned.duration_since(started).as_secs_f64());
        let is_scarce = self.running.len() >= PLACES_ARE_SCARCE;
        let least = if is_scarce { queue::TURN } else { Duration::ZERO };
        self.queue.charge(&job.account, planned.duration_since(started).max(least));
        self.planned_for += planned.duration_since(started);

        let limit = MAX_STEPS << job.failures.min(MAX_DOUBLINGS);
        let mut is_capped = plan.cap(limit);
        let Plan { mut steps, debounced, wake_after, events, mut measurements } = plan;
        let Sorted { ripe, is_capped: more_are_ripe, wake: ripens } =
            self.debouncer.sort(&job.key, debounced, planned, limit);
        is_capped |= more_are_ripe;
        let ripe_events = ripe.iter().flat_map(|item| item.events.clone());
        let more_events = !self.shared.emit(events.into_iter().chain(ripe_events));
        self.shared.record_planned(&job.key, &mut measurements, time);
        for item in ripe {
            item.join(&mut steps);
        }
        let more_events = more_events.then_some(MORE_EVENTS_AFTER);
        let wakes = [wake_after, more_events].map(|after| Some(planned + after?));
        let wake = wakes.into_iter().chain([ripens]).flatten().min();
        tracing::debug!(
            controller = self.shared.controller.name(), key = %job.key, attempt = job.failures,
            seq = snapshot.seq(), step_count = steps.len(), "Planned",
        );

        if steps.is_empty() {
            metrics.empty_plans.inc();
            let requeue = Requeue::Forget;
            self.finish(&Run { key: job.key, requeue, wake, refusal: None });
        } else {
            metrics.writing_plans.inc();
            let shared = Arc::clone(&self.shared);
            let timings = StageTimings::of(&job, started, planned);
            self.running.push(Box::pin(async move {
                let (requeue, refusal) = shared.write(&job, timings, steps, measurements).await;
                let more = is_capped && requeue == Requeue::Forget;
                let requeue = if more { Requeue::Continue } else { requeue };
                Run { key: job.key, requeue, wake, refusal }
            }));
        }
    }

    /// Reports a write that is rejected for good to users; the sink keeps it from reporting the same again and again.
    fn tell(&self, run: &Run<R::Key>) {
        let Some(reason) = &run.refusal else { return };
        let snapshot = self.shared.accumulator.snapshot();
        for event in self.shared.controller.rejected(&run.key, &snapshot, reason) {
            self.shared.events.emit(event);
        }
    }

    fn finish(&mut self, run: &Run<R::Key>) {
        self.tell(run);
        self.queue.done(&run.key, run.requeue, run.wake, now());
    }

    fn show(&self) {
        let metrics = &self.shared.metrics;
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        metrics.queue_depth.set(gauge(self.queue.ready()));
        metrics.queue_waiting.set(gauge(self.queue.waiting()));
        metrics.keys_in_flight.set(gauge(self.running.len()));
    }
}

/// Whether a required source works again that did not: writes that failed may work again too, and should not wait for the
/// end of a long back-off. Other sources, such as a document that is polled, are no evidence for that.
fn recovered<S: Snapshot>(required: SourceSet, old: &S, new: &S) -> bool {
    let live = |snapshot: &S, id| matches!(snapshot.state(id), SourceState::Live);
    let mut sources = S::sources().iter().filter(|source| required.contains(source.id));
    sources.any(|source| !live(old, source.id) && live(new, source.id))
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
