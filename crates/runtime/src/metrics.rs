//! Metrics of the engine. Every label takes its values from a closed set; nothing is labelled with
//! the name of an object.

mod computed;
mod lease;
mod log;
mod work_queue;

use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::Register;
use prometheus::process_collector::ProcessCollector;
use prometheus::{
    Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry,
};

pub use computed::{Gauges, SnapshotMetrics};
pub use lease::LeaseMetrics;
use log::LogCollector;
pub use work_queue::WorkQueue;
use work_queue::WorkQueueVecs;

/// Sub-second buckets: an API write takes 2 to 10 ms, a chain of them stays below a second.
const FAST: [f64; 14] =
    [0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 10.0];

/// Plans are computed in memory.
const PLAN: [f64; 9] = [0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.1, 1.0];

/// From what happens in memory to a write that is delayed.
const PARTS: [f64; 22] = [
    0.000_01, 0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.0015, 0.002, 0.0025, 0.003,
    0.004, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1.0, 10.0,
];

/// The registry of a process and what the runtime puts into it.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    series: Series,
}

/// What the runtime measures.
#[derive(Clone, Debug)]
pub struct Series {
    controllers: ControllerVecs,
    work_queues: WorkQueueVecs,
    writer: Arc<WriterMetrics>,
    events: IntCounterVec,
}

impl Metrics {
    /// A registry with the metrics of the runtime, of the process and of the build.
    ///
    /// # Errors
    /// When a name is registered twice, which only a change of this crate can cause.
    pub fn new(agent: &str, version: &str) -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let series = Series::register(&registry, agent, version)?;
        Ok(Self { registry, series })
    }

    /// For the admin server, and for metrics of others.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The metrics of one controller.
    pub fn controller(&self, name: &'static str) -> Arc<ControllerMetrics> {
        Arc::new(self.series.controllers.controller(name))
    }

    /// The metrics of a queue by the names that Kubernetes' controllers use.
    pub fn work_queue(&self, name: &str) -> WorkQueue {
        self.series.work_queues.queue(name)
    }

    /// Counts Events by type and reason.
    pub fn events(&self) -> IntCounterVec {
        self.series.events.clone()
    }

    /// The metrics of the writer.
    pub fn writer(&self) -> Arc<WriterMetrics> {
        Arc::clone(&self.series.writer)
    }
}

impl Series {
    /// Registers the metrics of the runtime, of the process and of the build.
    ///
    /// # Errors
    /// When a name is registered twice.
    pub fn register(
        registry: &impl Register,
        agent: &str,
        version: &str,
    ) -> Result<Self, prometheus::Error> {
        let controllers = ControllerVecs::register(registry)?;
        let work_queues = WorkQueueVecs::register(registry)?;
        let writer = Arc::new(WriterMetrics::register(registry)?);
        let events = Opts::new(
            "fleet_runtime_events_total",
            "Kubernetes Events sent, by type and reason. Rejections are of type Warning.",
        );
        let events = IntCounterVec::new(events, &["type", "reason"])?;
        registry.add(events.clone())?;
        registry.add(ProcessCollector::for_self())?;
        registry.add(LogCollector::new()?)?;

        let opts =
            Opts::new("fleet_build_info", "Constant 1, labelled with the version of the agent.")
                .const_label("agent", agent)
                .const_label("version", version);
        let build = Gauge::with_opts(opts)?;
        build.set(1.0);
        registry.add(build)?;
        Ok(Self { controllers, work_queues, writer, events })
    }
}

#[derive(Clone, Debug)]
struct ControllerVecs {
    plans: IntCounterVec,
    plan_duration: HistogramVec,
    queue_depth: IntGaugeVec,
    queue_waiting: IntGaugeVec,
    keys_in_flight: IntGaugeVec,
    queue_wait: HistogramVec,
    retries: IntCounterVec,
    own_write_timeouts: IntCounterVec,
    own_write_seen: HistogramVec,
    stage: HistogramVec,
    stage_part: HistogramVec,
}

impl ControllerVecs {
    fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let vec = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.add(vec.clone())?;
            Ok::<_, prometheus::Error>(vec)
        };
        let gauge = |name: &str, help: &str| {
            let vec = IntGaugeVec::new(Opts::new(name, help), &["controller"])?;
            registry.add(vec.clone())?;
            Ok::<_, prometheus::Error>(vec)
        };
        let histogram = |name: &str, help: &str, labels: &[&str], buckets: &[f64]| {
            let opts = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            let vec = HistogramVec::new(opts, labels)?;
            registry.add(vec.clone())?;
            Ok::<_, prometheus::Error>(vec)
        };
        Ok(Self {
            plans: counter(
                "fleet_runtime_plans_total",
                "Reconciliations, by whether they resulted in writes.",
                &["controller", "outcome"],
            )?,
            plan_duration: histogram(
                "fleet_runtime_plan_duration_seconds",
                "Time to compute the writes of one reconciliation, in seconds.",
                &["controller"],
                &PLAN,
            )?,
            queue_depth: gauge(
                "fleet_runtime_queue_depth",
                "Number of keys ready to be reconciled.",
            )?,
            queue_waiting: gauge(
                "fleet_runtime_queue_waiting",
                "Number of keys that wait for a retry or a scheduled reconciliation.",
            )?,
            keys_in_flight: gauge(
                "fleet_runtime_keys_in_flight",
                "Number of keys with writes in flight.",
            )?,
            queue_wait: histogram(
                "fleet_runtime_queue_wait_seconds",
                "Time a key waits in the queue before it is reconciled, in seconds.",
                &["controller"],
                &FAST,
            )?,
            retries: counter(
                "fleet_runtime_failures_total",
                "Failed writes, by class. Their keys are retried.",
                &["controller", "class"],
            )?,
            own_write_timeouts: counter(
                "fleet_runtime_own_write_timeouts_total",
                "Own writes that the watches did not deliver in time.",
                &["controller"],
            )?,
            own_write_seen: histogram(
                "fleet_runtime_own_write_seen_seconds",
                "Time from the acknowledgement of the last write of a reconciliation until the watches have delivered all of them, in seconds.",
                &["controller"],
                &PARTS,
            )?,
            stage: histogram(
                "fleet_networking_stage_duration_seconds",
                "Time from receiving an event to the acknowledgement of the write that it caused, in seconds.",
                &["stage"],
                &FAST,
            )?,
            stage_part: histogram(
                "fleet_networking_stage_part_duration_seconds",
                "Parts of the stage duration, in seconds: from the event to the queued key (snapshot), waiting in the queue (queue), computing the writes (plan), until the write is acknowledged (write).",
                &["stage", "part"],
                &PARTS,
            )?,
        })
    }

    fn controller(&self, name: &'static str) -> ControllerMetrics {
        ControllerMetrics {
            empty_plans: self.plans.with_label_values(&[name, "nothing"]),
            writing_plans: self.plans.with_label_values(&[name, "writes"]),
            plan_duration: self.plan_duration.with_label_values(&[name]),
            queue_depth: self.queue_depth.with_label_values(&[name]),
            queue_waiting: self.queue_waiting.with_label_values(&[name]),
            keys_in_flight: self.keys_in_flight.with_label_values(&[name]),
            queue_wait: self.queue_wait.with_label_values(&[name]),
            own_write_timeouts: self.own_write_timeouts.with_label_values(&[name]),
            own_write_seen: self.own_write_seen.with_label_values(&[name]),
            retries: self.retries.clone(),
            stage: self.stage.clone(),
            stage_part: self.stage_part.clone(),
            controller: name,
        }
    }
}

/// The metrics of one controller; look-ups of labels happened once where the hot path needs them.
#[derive(Debug)]
pub struct ControllerMetrics {
    pub(crate) empty_plans: IntCounter,
    pub(crate) writing_plans: IntCounter,
    pub(crate) plan_duration: Histogram,
    pub(crate) queue_depth: IntGauge,
    pub(crate) queue_waiting: IntGauge,
    pub(crate) keys_in_flight: IntGauge,
    pub(crate) queue_wait: Histogram,
    pub(crate) own_write_timeouts: IntCounter,
    pub(crate) own_write_seen: Histogram,
    retries: IntCounterVec,
    stage: HistogramVec,
    stage_part: HistogramVec,
    controller: &'static str,
}

impl ControllerMetrics {
    /// Counts a step that failed with `class`.
    pub(crate) fn failed(&self, class: &str) {
        self.retries.with_label_values(&[self.controller, class]).inc();
    }

    /// Times one stage: from the event that dirtied the key to the acknowledged write.
    pub(crate) fn stage(&self, stage: &str, took: Duration) {
        self.stage.with_label_values(&[stage]).observe(took.as_secs_f64());
    }

    /// Times one part of a stage.
    pub(crate) fn stage_part(&self, stage: &str, part: &str, took: Duration) {
        self.stage_part.with_label_values(&[stage, part]).observe(took.as_secs_f64());
    }
}

/// Metrics of API requests.
#[derive(Debug)]
pub struct WriterMetrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    waiting: IntGaugeVec,
}

impl WriterMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// When they are in `registry` already.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let requests = IntCounterVec::new(
            Opts::new(
                "fleet_runtime_api_requests_total",
                "Write requests, by result: an HTTP status code, timeout, or connection.",
            ),
            &["cluster", "verb", "kind", "code"],
        )?;
        registry.add(requests.clone())?;
        let duration = HistogramVec::new(
            HistogramOpts::new(
                "fleet_runtime_api_request_duration_seconds",
                "Duration of write requests, in seconds.",
            )
            .buckets(FAST.to_vec()),
            &["cluster", "verb"],
        )?;
        registry.add(duration.clone())?;
        let waiting = IntGaugeVec::new(
            Opts::new(
                "fleet_runtime_api_requests_waiting",
                "Number of writes that wait because the limit of writes in flight is reached.",
            ),
            &["cluster"],
        )?;
        registry.add(waiting.clone())?;
        Ok(Self { requests, duration, waiting })
    }

    pub(crate) fn answered(&self, request: [&str; 3], code: &str, took: Duration) {
        let [cluster, verb, kind] = request;
        self.requests.with_label_values(&[cluster, verb, kind, code]).inc();
        self.duration.with_label_values(&[cluster, verb]).observe(took.as_secs_f64());
    }

    pub(crate) fn waiting(&self, cluster: &str) -> IntGauge {
        self.waiting.with_label_values(&[cluster])
    }
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn what_was_counted_can_be_scraped() {
        let metrics = Metrics::new("member-agent", "1.2.3").unwrap();
        let controller = metrics.controller("export");
        controller.failed("conflict");
        controller.stage("export", Duration::from_millis(4));
        controller.queue_depth.set(3);
        metrics.writer().answered(["hub", "create", "Service"], "201", Duration::from_millis(2));

        let text = TextEncoder::new().encode_to_string(&metrics.registry().gather()).unwrap();
        for line in [
            r#"fleet_build_info{agent="member-agent",version="1.2.3"} 1"#,
            r#"fleet_runtime_failures_total{class="conflict",controller="export"} 1"#,
            r#"fleet_runtime_queue_depth{controller="export"} 3"#,
            r#"fleet_networking_stage_duration_seconds_bucket{stage="export",le="0.005"} 1"#,
            r#"fleet_networking_stage_duration_seconds_bucket{stage="export",le="0.003"} 0"#,
            r#"fleet_runtime_api_requests_total{cluster="hub",code="201",kind="Service",verb="create"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        assert!(text.contains("process_resident_memory_bytes"));
    }

    /// M8: counters go down only with a process, whose start is shown beside them; a name that is
    /// registered twice is an error, which ends the start of an agent.
    #[test]
    fn a_name_is_registered_once_and_counters_belong_to_a_process() {
        let metrics = Metrics::new("member-agent", "1").unwrap();
        assert!(ControllerVecs::register(metrics.registry()).is_err());
        assert!(WriterMetrics::register(metrics.registry()).is_err());
        let text = TextEncoder::new().encode_to_string(&metrics.registry().gather()).unwrap();
        assert!(text.contains("process_start_time_seconds "), "{text}");
    }

    #[test]
    fn controllers_share_a_registry() {
        let metrics = Metrics::new("member-agent", "1").unwrap();
        metrics.controller("export").empty_plans.inc();
        metrics.controller("import").empty_plans.inc();
        assert_eq!(metrics.controller("import").empty_plans.get(), 1);
    }
}
