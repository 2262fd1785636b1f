//! The names under which controllers of Kubernetes measure their queues, for dashboards of a controller that an agent
//! replaces.

use std::hash::Hash;
use std::time::{Duration, Instant};

use fleet_accumulator::Register;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, exponential_buckets,
};

use crate::queue::Queue;

const LABEL: &[&str] = &["name"];

#[derive(Clone, Debug)]
pub(super) struct WorkQueueVecs {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    retries: IntCounterVec,
}

/// The metrics of one queue.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    depth: IntGauge,
    adds: IntCounter,
    waited: Histogram,
    worked: Histogram,
    unfinished: Gauge,
    longest: Gauge,
    retries: IntCounter,
}

impl WorkQueueVecs {
    pub(super) fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let opts = |name: &str, help: &str| Opts::new(format!("workqueue_{name}"), help);
        let buckets = exponential_buckets(1e-8, 10.0, 10)?;
        let histogram = |name: &str, help: &str| {
            HistogramVec::new(HistogramOpts::from(opts(name, help)).buckets(buckets.clone()), LABEL)
        };
        let vecs = Self {
            depth: IntGaugeVec::new(opts("depth", "Current depth of the workqueue."), LABEL)?,
            adds: IntCounterVec::new(
                opts("adds_total", "Number of keys added to the workqueue."),
                LABEL,
            )?,
            waited: histogram(
                "queue_duration_seconds",
                "Time a key stays in the workqueue before it is reconciled, in seconds.",
            )?,
            worked: histogram("work_duration_seconds", "Time to reconcile a key, in seconds.")?,
            unfinished: GaugeVec::new(
                opts(
                    "unfinished_work_seconds",
                    "Sum of the durations of the reconciliations in progress, in seconds.",
                ),
                LABEL,
            )?,
            longest: GaugeVec::new(
                opts(
                    "longest_running_processor_seconds",
                    "Duration of the longest reconciliation in progress, in seconds.",
                ),
                LABEL,
            )?,
            retries: IntCounterVec::new(opts("retries_total", "Keys that were requeued."), LABEL)?,
        };
        registry.add(vecs.depth.clone())?;
        registry.add(vecs.adds.clone())?;
        registry.add(vecs.waited.clone())?;
        registry.add(vecs.worked.clone())?;
        registry.add(vecs.unfinished.clone())?;
        registry.add(vecs.longest.clone())?;
        registry.add(vecs.retries.clone())?;
        Ok(vecs)
    }

    pub(super) fn queue(&self, name: &str) -> WorkQueue {
        let name = &[name];
        WorkQueue {
            depth: self.depth.with_label_values(name),
            adds: self.adds.with_label_values(name),
            waited: self.waited.with_label_values(name),
            worked: self.worked.with_label_values(name),
            unfinished: self.unfinished.with_label_values(name),
            longest: self.longest.with_label_values(name),
            retries: self.retries.with_label_values(name),
        }
    }
}

impl WorkQueue {
    /// How often to [`show`](Self::show) while there is work.
    pub(crate) const REFRESH: Duration = Duration::from_millis(500);

    /// Work on a key begins.
    pub(crate) fn taken(&self, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
    }

    /// Work on a key has ended.
    pub(crate) fn worked(&self, took: Duration) {
        self.worked.observe(took.as_secs_f64());
    }

    /// Shows how things stand; `begun` returns when the work began that is going on.
    pub(crate) fn show<K: Clone + Ord + Hash>(
        &self,
        queue: &mut Queue<K>,
        begun: impl Iterator<Item = Instant>,
        now: Instant,
    ) {
        self.depth.set(i64::try_from(queue.ready()).unwrap_or(i64::MAX));
        let (accepted, retried) = queue.take_counts();
        self.adds.inc_by(accepted);
        self.retries.inc_by(retried);
        let ages = begun.map(|begun| now.saturating_duration_since(begun).as_secs_f64());
        let (sum, longest) =
            ages.fold((0.0, 0.0_f64), |(sum, longest), age| (sum + age, longest.max(age)));
        self.unfinished.set(sum);
        self.longest.set(longest);
    }
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;
    use prometheus::TextEncoder;

    use super::*;
    use crate::queue::Requeue;

    #[test]
    fn a_queue_is_measured_as_others_do() {
        let registry = Registry::new();
        let metrics = WorkQueueVecs::register(&registry).unwrap().queue("endpoint_slice");
        let (mut queue, start) = (Queue::new(1), Instant::now());
        for key in ["a", "b"] {
            queue.add(key, start, start);
        }
        let job = queue.take(start).unwrap();
        metrics.taken(job.waited);
        let later = start + Duration::from_secs(2);
        metrics.show(&mut queue, std::iter::once(start), later);
        let shown = |line: &str| {
            let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
            assert!(text.lines().any(|one| one == line), "{line} is missing in\n{text}");
        };
        shown(r#"workqueue_depth{name="endpoint_slice"} 1"#);
        shown(r#"workqueue_adds_total{name="endpoint_slice"} 2"#);
        shown(r#"workqueue_unfinished_work_seconds{name="endpoint_slice"} 2"#);
        shown(r#"workqueue_longest_running_processor_seconds{name="endpoint_slice"} 2"#);
        shown(r#"workqueue_queue_duration_seconds_count{name="endpoint_slice"} 1"#);

        queue.done(&job.key, Requeue::Immediate, None, later);
        metrics.worked(Duration::from_secs(2));
        metrics.show(&mut queue, std::iter::empty(), later);
        shown(r#"workqueue_retries_total{name="endpoint_slice"} 1"#);
        shown(r#"workqueue_adds_total{name="endpoint_slice"} 3"#);
        shown(r#"workqueue_unfinished_work_seconds{name="endpoint_slice"} 0"#);
        shown(r#"workqueue_work_duration_seconds_sum{name="endpoint_slice"} 2"#);
    }
}
