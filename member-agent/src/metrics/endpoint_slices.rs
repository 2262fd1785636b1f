//! Metrics of EndpointSlices made of pods, by the names of the built-in controller.

use std::collections::BTreeSet;

use fleet_accumulator::Register;
use fleet_api::ObjectName;
use fleet_endpointslice::Efficiency;
use fleet_plan::Event;
use fleet_runtime::engine::Recorder;
use jiff::Timestamp;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    exponential_buckets,
};

use crate::measurement::{HintsByCapacity, Measurement, Synced};

const PREFIX: &str = "endpoint_slice_controller";

/// What is measured about slices of pods.
#[derive(Debug)]
pub struct SliceMetrics {
    added: Histogram,
    removed: Histogram,
    endpoints: IntGauge,
    slices: IntGauge,
    desired_slices: IntGauge,
    changes: IntCounterVec,
    changed: HistogramVec,
    syncs: IntCounterVec,
    distributions: IntGaugeVec,
    efficiency: Efficiency,
    /// Services with hints by capacity, whose users get an Event when those end.
    hinted: BTreeSet<ObjectName>,
    /// Maximum number of endpoints per slice.
    limit: usize,
}

impl SliceMetrics {
    /// Registers all of them, for slices of at most `limit` endpoints.
    ///
    /// # Errors
    /// If one is there already.
    pub fn register(registry: &impl Register, limit: usize) -> Result<Self, prometheus::Error> {
        let sizes = exponential_buckets(2.0, 2.0, 15)?;
        let histogram =
            |name: &str, help: &str| HistogramOpts::new(format!("{PREFIX}_{name}"), help);
        let opts = |name: &str, help: &str| Opts::new(format!("{PREFIX}_{name}"), help);
        let gauge = |name: &str, help: &str| IntGauge::with_opts(opts(name, help));
        let metrics = Self {
            added: Histogram::with_opts(
                histogram(
                    "endpoints_added_per_sync",
                    "Number of endpoints added, by reconciliation of a Service.",
                )
                .buckets(sizes.clone()),
            )?,
            removed: Histogram::with_opts(
                histogram(
                    "endpoints_removed_per_sync",
                    "Number of endpoints removed, by reconciliation of a Service.",
                )
                .buckets(sizes),
            )?,
            endpoints: gauge("endpoints_desired", "Number of endpoints desired.")?,
            slices: gauge("num_endpoint_slices", "Number of EndpointSlices.")?,
            desired_slices: gauge(
                "desired_endpoint_slices",
                "Number of EndpointSlices that would exist with perfect packing.",
            )?,
            changes: IntCounterVec::new(
                opts("changes", "EndpointSlice writes, by operation."),
                &["operation"],
            )?,
            changed: HistogramVec::new(
                histogram(
                    "endpointslices_changed_per_sync",
                    "Number of EndpointSlices changed, by reconciliation of a Service.",
                ),
                &["topology", "traffic_distribution"],
            )?,
            syncs: IntCounterVec::new(
                opts("syncs", "Service reconciliations, by result."),
                &["result"],
            )?,
            distributions: IntGaugeVec::new(
                opts(
                    "services_count_by_traffic_distribution",
                    "Number of Services, by traffic distribution.",
                ),
                &["traffic_distribution"],
            )?,
            efficiency: Efficiency::default(),
            hinted: BTreeSet::new(),
            limit,
        };
        registry.add(metrics.added.clone())?;
        registry.add(metrics.removed.clone())?;
        registry.add(metrics.endpoints.clone())?;
        registry.add(metrics.slices.clone())?;
        registry.add(metrics.desired_slices.clone())?;
        registry.add(metrics.changes.clone())?;
        registry.add(metrics.changed.clone())?;
        registry.add(metrics.syncs.clone())?;
        registry.add(metrics.distributions.clone())?;
        Ok(metrics)
    }

    /// Records one comparison of a Service with its pods.
    fn synced(&mut self, service: &ObjectName, synced: &Synced) {
        let result = if synced.problems { "error" } else { "success" };
        self.syncs.with_label_values(&[result]).inc();
        for one in &synced.measures {
            self.added.observe(size(one.added));
            self.removed.observe(size(one.removed));
            let topology = if one.topology { "Auto" } else { "Disabled" };
            let distribution = one.traffic_distribution.unwrap_or_default();
            self.changed.with_label_values(&[topology, distribution]).observe(size(one.changed));
        }
        let name = service.to_string();
        if synced.measures.is_empty() {
            self.efficiency.remove(&name);
        } else {
            self.efficiency.update(&name, &synced.measures, self.limit);
        }
        match synced.hints {
            HintsByCapacity::Present => drop(self.hinted.insert(service.clone())),
            HintsByCapacity::Absent => drop(self.hinted.remove(service)),
            HintsByCapacity::Unchanged => {}
        }
        self.show();
    }

    fn show(&self) {
        let totals = self.efficiency.totals();
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.endpoints.set(gauge(totals.endpoints));
        self.slices.set(gauge(totals.slices));
        self.desired_slices.set(gauge(totals.desired_slices));
        let counts = self.efficiency.traffic_distributions();
        for distribution in ["PreferClose", "PreferSameZone", "PreferSameNode"] {
            let count = counts.get(distribution).copied().unwrap_or_default();
            self.distributions.with_label_values(&[distribution]).set(gauge(count));
        }
    }
}

impl Recorder<ObjectName, Measurement> for SliceMetrics {
    fn record(&mut self, service: &ObjectName, what: &Measurement, _: Timestamp) -> Vec<Event> {
        match what {
            Measurement::SliceWritten(operation) => {
                self.changes.with_label_values(&[*operation]).inc();
            }
            Measurement::Synced(synced) => self.synced(service, synced),
            Measurement::HintsEnded(event) if self.hinted.contains(service) => {
                return vec![event.clone()];
            }
            _ => {}
        }
        Vec::new()
    }
}

#[expect(clippy::cast_precision_loss, reason = "no Service has 2^52 endpoints")]
fn size(count: usize) -> f64 {
    count as f64
}
