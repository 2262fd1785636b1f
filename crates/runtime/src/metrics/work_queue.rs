//! The names under which controllers of Kubernetes measure their queues, for dashboards of a controller that an agent
//! replaces.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::Register;
use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts,
    exponential_buckets,
};

use crate::clock::monotonic as now;

const LABEL: &[&str] = &["name"];

#[derive(Clone, Debug)]
pub(super) struct WorkQueueVecs {
    adds: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    retries: IntCounterVec,
    scraped: ScrapedGauges,
}

/// The metrics of one controller's queue. Clones measure the same queue.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    adds: IntCounter,
    waited: Histogram,
    worked: Histogram,
    retries: IntCounter,
    content: SharedContent,
}

/// What a queue holds at the moment. Locked for a few instructions by its controller, and by a scrape.
type SharedContent = Arc<Mutex<Content>>;

#[derive(Debug, Default)]
struct Content {
    ready: usize,
    /// When each key that is worked on was taken. Which key that is does not matter.
    taken: Vec<Instant>,
}

/// The gauges that change while nothing happens, computed when they are scraped.
#[derive(Clone, Debug)]
struct ScrapedGauges {
    depth: IntGaugeVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    queues: Arc<Mutex<BTreeMap<String, SharedContent>>>,
}

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("workqueue_{name}"), help)
}

impl WorkQueueVecs {
    pub(super) fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let buckets = exponential_buckets(1e-8, 10.0, 10)?;
        let histogram = |name: &str, help: &str| {
            HistogramVec::new(HistogramOpts::from(opts(name, help)).buckets(buckets.clone()), LABEL)
        };
        let vecs = Self {
            adds: IntCounterVec::new(
                opts("adds_total", "Number of keys added to the workqueue."),
                LABEL,
            )?,
            waited: histogram(
                "queue_duration_seconds",
                "Time a key stays in the workqueue before it is reconciled, in seconds.",
            )?,
            worked: histogram("work_duration_seconds", "Time to reconcile a key, in seconds.")?,
            retries: IntCounterVec::new(opts("retries_total", "Keys that were requeued."), LABEL)?,
            scraped: ScrapedGauges::new()?,
        };
        registry.add(vecs.adds.clone())?;
        registry.add(vecs.waited.clone())?;
        registry.add(vecs.worked.clone())?;
        registry.add(vecs.retries.clone())?;
        registry.add(vecs.scraped.clone())?;
        Ok(vecs)
    }

    pub(super) fn queue(&self, name: &str) -> WorkQueue {
        let label = &[name];
        WorkQueue {
            adds: self.adds.with_label_values(label),
            waited: self.waited.with_label_values(label),
            worked: self.worked.with_label_values(label),
            retries: self.retries.with_label_values(label),
            content: self.scraped.content(name),
        }
    }
}

impl WorkQueue {
    /// Counts a key that became ready.
    pub(crate) fn add(&self) {
        self.adds.inc();
        self.content.lock().ready += 1;
    }

    /// Counts a key that was taken at `at`, after it was ready for `waited`.
    pub(crate) fn take(&self, at: Instant, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
        let mut content = self.content.lock();
        content.ready = content.ready.saturating_sub(1);
        content.taken.push(at);
    }

    /// Counts a key that was taken at `taken` and is done at `at`.
    pub(crate) fn done(&self, taken: Instant, at: Instant, requeued: bool) {
        self.worked.observe(at.saturating_duration_since(taken).as_secs_f64());
        self.retries.inc_by(u64::from(requeued));
        let mut content = self.content.lock();
        // From the end: most plans are empty, so their key is done before another one is taken.
        if let Some(index) = content.taken.iter().rposition(|one| *one == taken) {
            content.taken.swap_remove(index);
        }
    }

    /// Forgets the keys of a queue that is dropped.
    pub(crate) fn clear(&self) {
        *self.content.lock() = Content::default();
    }
}

impl Content {
    /// Keys that are ready, for how long all others have been worked on, and the longest.
    fn at(&self, now: Instant) -> (usize, Duration, Duration) {
        let ages = self.taken.iter().map(|taken| now.saturating_duration_since(*taken));
        (self.ready, ages.clone().sum(), ages.max().unwrap_or_default())
    }
}

impl ScrapedGauges {
    fn new() -> Result<Self, prometheus::Error> {
        let unfinished = "Sum of the durations of the reconciliations in progress, in seconds.";
        let longest = "Duration of the longest reconciliation in progress, in seconds.";
        Ok(Self {
            depth: IntGaugeVec::new(opts("depth", "Current depth of the workqueue."), LABEL)?,
            unfinished: GaugeVec::new(opts("unfinished_work_seconds", unfinished), LABEL)?,
            longest: GaugeVec::new(opts("longest_running_processor_seconds", longest), LABEL)?,
            queues: Arc::default(),
        })
    }

    fn content(&self, name: &str) -> SharedContent {
        Arc::clone(self.queues.lock().entry(name.to_owned()).or_default())
    }
}

impl Collector for ScrapedGauges {
    fn desc(&self) -> Vec<&Desc> {
        [self.depth.desc(), self.unfinished.desc(), self.longest.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        for (name, content) in &*self.queues.lock() {
            let (ready, unfinished, longest) = content.lock().at(now());
            let label = &[name.as_str()];
            self.depth.with_label_values(label).set(i64::try_from(ready).unwrap_or(i64::MAX));
            self.unfinished.with_label_values(label).set(unfinished.as_secs_f64());
            self.longest.with_label_values(label).set(longest.as_secs_f64());
        }
        [self.depth.collect(), self.unfinished.collect(), self.longest.collect()].concat()
    }
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;
    use prometheus::TextEncoder;

    use super::*;
    use crate::queue::{Queue, Requeue};

    const TWO_SECONDS: Duration = Duration::from_secs(2);

    /// The lines of all gauges and counters of `endpoint_slice` that are not zero, without their labels.
    fn scrape(registry: &Registry) -> Vec<String> {
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let line = |line: &str| line.replace(r#"{name="endpoint_slice"}"#, "");
        let lines = text.lines().filter(|line| !line.contains("_bucket") && !line.ends_with(" 0"));
        lines.filter(|line| !line.starts_with('#')).map(line).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_is_measured_as_others_do() {
        let registry = Registry::new();
        let metrics = WorkQueueVecs::register(&registry).unwrap().queue("endpoint_slice");
        let mut queue = Queue::new(1).measured(Some(metrics));
        for key in ["a", "b", "c"] {
            queue.add(key, now(), now());
        }
        tokio::time::advance(TWO_SECONDS).await;
        queue.take(now()).unwrap();
        tokio::time::advance(TWO_SECONDS).await;
        queue.take(now()).unwrap();
        tokio::time::advance(TWO_SECONDS).await;
        // Nothing has happened since: the ages are those of the scrape.
        assert_eq!(
            scrape(&registry),
            [
                "workqueue_adds_total 3",
                "workqueue_depth 1",
                "workqueue_longest_running_processor_seconds 4",
                "workqueue_queue_duration_seconds_sum 6",
                "workqueue_queue_duration_seconds_count 2",
                "workqueue_unfinished_work_seconds 6",
            ]
        );

        queue.done(&"a", Requeue::Immediate, None, now());
        queue.done(&"b", Requeue::Forget, None, now());
        assert_eq!(
            scrape(&registry),
            [
                "workqueue_adds_total 4",
                "workqueue_depth 2",
                "workqueue_queue_duration_seconds_sum 6",
                "workqueue_queue_duration_seconds_count 2",
                "workqueue_retries_total 1",
                "workqueue_work_duration_seconds_sum 6",
                "workqueue_work_duration_seconds_count 2",
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_of_the_next_term_is_measured_on() {
        let registry = Registry::new();
        let metrics = WorkQueueVecs::register(&registry).unwrap().queue("endpoint_slice");
        let measured = || Queue::new(1).measured(Some(metrics.clone()));
        let mut queue = measured();
        for key in ["a", "b"] {
            queue.add(key, now(), now());
        }
        queue.take(now()).unwrap();
        tokio::time::advance(TWO_SECONDS).await;
        drop(queue);
        let waited = "workqueue_queue_duration_seconds_count 1";
        assert_eq!(scrape(&registry), ["workqueue_adds_total 2", waited]);

        let mut queue = measured();
        queue.add("a", now(), now());
        assert_eq!(scrape(&registry), ["workqueue_adds_total 3", "workqueue_depth 1", waited]);
    }
}
