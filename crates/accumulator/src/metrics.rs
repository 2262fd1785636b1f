//! Metrics of an accumulator, prefix `fleet_accumulator_`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts,
};

use crate::time::now;
use crate::{SourceInfo, SourceState};

/// Takes collectors: a registry, or a test that lists all metrics.
pub trait Register {
    /// Takes one.
    ///
    /// # Errors
    /// If one of its names is taken.
    fn add(&self, collector: impl Collector + 'static) -> prometheus::Result<()>;
}

impl Register for prometheus::Registry {
    fn add(&self, collector: impl Collector + 'static) -> prometheus::Result<()> {
        self.register(Box::new(collector))
    }
}

const SOURCE: [&str; 3] = ["cluster", "kind", "source"];

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("fleet_accumulator_{name}"), help)
}

/// A metric whose name and labels are constants, so that it cannot be refused.
macro_rules! metric {
    ($type:ident, $name:literal, $help:literal) => {
        $type::with_opts(opts($name, $help)).expect("the name is valid")
    };
    ($type:ident, $name:literal, $help:literal, $labels:expr) => {
        $type::new(opts($name, $help), $labels).expect("name and labels are valid")
    };
}

fn histogram(name: &str, help: &str, buckets: Vec<f64>) -> Histogram {
    let opts = HistogramOpts::from(opts(name, help)).buckets(buckets);
    Histogram::with_opts(opts).expect("name and buckets are valid")
}

/// Why a snapshot was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// Versions only; no consumer is woken.
    Version,
    /// Objects changed.
    Content,
    /// A source changed its state.
    State,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Content => "content",
            Self::State => "state",
        }
    }
}

/// All metrics of one accumulator. Clones share their values.
#[derive(Clone)]
pub(crate) struct Metrics {
    source_state: IntGaugeVec,
    source_objects: IntGaugeVec,
    source_events: IntCounterVec,
    source_relists: IntCounterVec,
    source_errors: IntCounterVec,
    source_last_event_age: GaugeVec,
    decode_errors: IntCounterVec,
    decode: HistogramVec,
    withheld_deletions: IntGaugeVec,
    snapshot_seq: IntGauge,
    publish: IntCounterVec,
    publish_delay: Histogram,
    pub(crate) step_changes: Histogram,
    inbox_depth: IntGauge,
    pub(crate) expectation_timeouts: IntCounter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            source_state: metric!(
                IntGaugeVec,
                "source_state",
                "State of each source: 1 for its current state, 0 for the others.",
                &["cluster", "kind", "source", "state"]
            ),
            source_objects: metric!(
                IntGaugeVec,
                "source_objects",
                "Number of objects in the snapshot, by source.",
                &SOURCE
            ),
            source_events: metric!(
                IntCounterVec,
                "source_events_total",
                "Watch and list events received, by type.",
                &["cluster", "kind", "source", "type"]
            ),
            source_relists: metric!(
                IntCounterVec,
                "source_relists_total",
                "Completed lists, by source.",
                &SOURCE
            ),
            source_errors: metric!(
                IntCounterVec,
                "source_errors_total",
                "Failed lists and watches, by class.",
                &["cluster", "kind", "source", "class"]
            ),
            source_last_event_age: metric!(
                GaugeVec,
                "source_last_event_age_seconds",
                "Seconds since the last event was received, by source.",
                &SOURCE
            ),
            decode_errors: metric!(
                IntCounterVec,
                "decode_errors_total",
                "Objects that could not be decoded.",
                &SOURCE
            ),
            decode: HistogramVec::new(
                HistogramOpts::from(opts(
                    "decode_seconds",
                    "Time to decode one object, in seconds.",
                ))
                .buckets(vec![1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 3e-3, 1e-2, 0.1]),
                &SOURCE,
            )
            .expect("name, buckets and labels are valid"),
            withheld_deletions: metric!(
                IntGaugeVec,
                "withheld_deletions",
                "Number of deletions withheld until a second list confirms them.",
                &SOURCE
            ),
            snapshot_seq: metric!(
                IntGauge,
                "snapshot_seq",
                "Sequence number of the latest snapshot."
            ),
            publish: metric!(
                IntCounterVec,
                "publish_total",
                "Published snapshots, by reason.",
                &["reason"]
            ),
            publish_delay: histogram(
                "publish_delay_seconds",
                "Time from the first event of a snapshot to its publication, in seconds.",
                vec![1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0],
            ),
            step_changes: histogram(
                "step_changes",
                "Number of objects that differ between two consecutive snapshots of a consumer.",
                vec![0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5],
            ),
            inbox_depth: metric!(
                IntGauge,
                "inbox_depth",
                "Number of source updates in the last batch."
            ),
            expectation_timeouts: metric!(
                IntCounter,
                "expectation_timeouts_total",
                "Own writes that did not appear in the snapshot in time."
            ),
        }
    }

    pub(crate) fn published(&self, seq: u64, reason: Reason, delay: Duration, depth: usize) {
        self.snapshot_seq.set(i64::try_from(seq).unwrap_or(i64::MAX));
        self.publish.with_label_values(&[reason.as_str()]).inc();
        self.publish_delay.observe(delay.as_secs_f64());
        self.inbox_depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub(crate) fn register(
        &self,
        registry: &impl Register,
        sources: Vec<SourceMetrics>,
    ) -> prometheus::Result<()> {
        registry.add(self.source_state.clone())?;
        registry.add(self.source_objects.clone())?;
        registry.add(self.source_events.clone())?;
        registry.add(self.source_relists.clone())?;
        registry.add(self.source_errors.clone())?;
        registry.add(self.decode_errors.clone())?;
        registry.add(self.decode.clone())?;
        registry.add(self.withheld_deletions.clone())?;
        registry.add(self.snapshot_seq.clone())?;
        registry.add(self.publish.clone())?;
        registry.add(self.publish_delay.clone())?;
        registry.add(self.step_changes.clone())?;
        registry.add(self.inbox_depth.clone())?;
        registry.add(self.expectation_timeouts.clone())?;
        registry.add(Ages { gauges: self.source_last_event_age.clone(), sources })
    }

    pub(crate) fn source(&self, info: &SourceInfo, now: Instant) -> SourceMetrics {
        let labels = [info.cluster.as_str(), info.kind.label(), info.field];
        SourceMetrics(Arc::new(Handles {
            labels,
            cluster_states: SourceState::NAMES.map(|name| {
                let [cluster, kind, field] = labels;
                let gauge = self.source_state.with_label_values(&[cluster, kind, field, name]);
                gauge.set(i64::from(name == SourceState::Pending.as_str()));
                gauge
            }),
            objects: self.source_objects.with_label_values(&labels),
            events: self.source_events.clone(),
            relists: self.source_relists.with_label_values(&labels),
            errors: self.source_errors.clone(),
            age: self.source_last_event_age.with_label_values(&labels),
            undecodable: self.decode_errors.with_label_values(&labels),
            decoding: self.decode.with_label_values(&labels),
            withheld_deletions: self.withheld_deletions.with_label_values(&labels),
            started: now,
            last_event: AtomicU64::new(0),
        }))
    }
}

/// Metrics of one source. Clones share their values.
#[derive(Clone)]
pub(crate) struct SourceMetrics(Arc<Handles>);

struct Handles {
    labels: [&'static str; 3],
    /// In the order of [`SourceState::NAMES`].
    cluster_states: [IntGauge; SourceState::NAMES.len()],
    objects: IntGauge,
    events: IntCounterVec,
    relists: IntCounter,
    errors: IntCounterVec,
    age: Gauge,
    undecodable: IntCounter,
    decoding: Histogram,
    withheld_deletions: IntGauge,
    started: Instant,
    /// Milliseconds after `started`.
    last_event: AtomicU64,
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl SourceMetrics {
    pub(crate) fn event(&self, kind: &'static str) {
        let [cluster, resource, field] = self.0.labels;
        self.0.events.with_label_values(&[cluster, resource, field, kind]).inc();
    }

    pub(crate) fn error(&self, class: &'static str) {
        let [cluster, resource, field] = self.0.labels;
        self.0.errors.with_label_values(&[cluster, resource, field, class]).inc();
    }

    pub(crate) fn relist(&self) {
        self.0.relists.inc();
    }

    /// Takes the time that decoding an object took.
    pub(crate) fn decoding(&self) -> Histogram {
        self.0.decoding.clone()
    }

    pub(crate) fn undecodable(&self) {
        self.0.undecodable.inc();
    }

    pub(crate) fn withheld_deletions(&self, held: usize) {
        self.0.withheld_deletions.set(count(held));
    }

    pub(crate) fn received(&self, now: Instant, objects: usize) {
        let after = now.saturating_duration_since(self.0.started).as_millis();
        self.0.last_event.store(u64::try_from(after).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.0.objects.set(count(objects));
    }

    pub(crate) fn state(&self, state: &SourceState) {
        for (name, gauge) in SourceState::NAMES.iter().zip(&self.0.cluster_states) {
            gauge.set(i64::from(*name == state.as_str()));
        }
    }
}

/// Computes the ages at scrape time.
struct Ages {
    gauges: GaugeVec,
    sources: Vec<SourceMetrics>,
}

impl Collector for Ages {
    fn desc(&self) -> Vec<&Desc> {
        self.gauges.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let now = now();
        for SourceMetrics(source) in &self.sources {
            let last = Duration::from_millis(source.last_event.load(Ordering::Relaxed));
            let age = now.saturating_duration_since(source.started + last);
            source.age.set(age.as_secs_f64());
        }
        self.gauges.collect()
    }
}
