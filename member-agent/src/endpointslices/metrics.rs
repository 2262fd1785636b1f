//! The original controller's metrics, by its names.

use fleet_accumulator::{Change, Register, diff};
use fleet_api::ObjectName;
use fleet_endpointslice::{Efficiency, Measures};
use parking_lot::Mutex;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    exponential_buckets,
};

use super::network;
use crate::snapshot::MemberSnapshot;

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
    efficiency: Mutex<Efficiency>,
}

impl SliceMetrics {
    /// Registers all of them.
    ///
    /// # Errors
    /// If one is there already.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let sizes = exponential_buckets(2.0, 2.0, 15)?;
        let histogram =
            |name: &str, help: &str| HistogramOpts::new(format!("{PREFIX}_{name}"), help);
        let opts = |name: &str, help: &str| Opts::new(format!("{PREFIX}_{name}"), help);
        let gauge = |name: &str, help: &str| IntGauge::with_opts(opts(name, help));
        let metrics = Self {
            added: Histogram::with_opts(
                histogram("endpoints_added_per_sync", "Endpoints that were in no slice")
                    .buckets(sizes.clone()),
            )?,
            removed: Histogram::with_opts(
                histogram("endpoints_removed_per_sync", "Endpoints dropped from slices")
                    .buckets(sizes),
            )?,
            endpoints: gauge("endpoints_desired", "Endpoints of all Services")?,
            slices: gauge("num_endpoint_slices", "Slices of all Services")?,
            desired_slices: gauge("desired_endpoint_slices", "Slices, were all packed perfectly")?,
            changes: IntCounterVec::new(opts("changes", "Slices written"), &["operation"])?,
            changed: HistogramVec::new(
                histogram("endpointslices_changed_per_sync", "Slices to write per look"),
                &["topology", "traffic_distribution"],
            )?,
            syncs: IntCounterVec::new(opts("syncs", "Looks at Services"), &["result"])?,
            distributions: IntGaugeVec::new(
                opts("services_count_by_traffic_distribution", "Services by traffic distribution"),
                &["traffic_distribution"],
            )?,
            efficiency: Mutex::default(),
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

    /// Counts the writes that have come back.
    pub(super) fn written(&self, old: &MemberSnapshot, new: &MemberSnapshot) {
        if !old.managed_slices.bootstrapped() {
            return;
        }
        for change in diff(&old.managed_slices, &new.managed_slices) {
            let operation = match &change {
                Change::Added(_) => "create",
                Change::Removed(_) => "delete",
                Change::Updated { .. } | Change::Replaced { .. } => "update",
            };
            let record = change.new().or_else(|| change.old());
            let managed = record.and_then(|record| record.managed(&record.name.namespace));
            if managed.is_some_and(|managed| network::is_manager(&managed.manager)) {
                self.changes.with_label_values(&[operation]).inc();
            }
        }
    }

    /// Notes one look at a Service; without measures it has no slices of ours.
    pub(super) fn synced(
        &self,
        service: &ObjectName,
        measures: &[Measures],
        problems: bool,
        limit: usize,
    ) {
        let result = if problems { "error" } else { "success" };
        self.syncs.with_label_values(&[result]).inc();
        for one in measures {
            self.added.observe(size(one.added));
            self.removed.observe(size(one.removed));
            let topology = if one.topology { "Auto" } else { "Disabled" };
            let distribution = one.traffic_distribution.unwrap_or_default();
            self.changed.with_label_values(&[topology, distribution]).observe(size(one.changed));
        }
        let mut efficiency = self.efficiency.lock();
        let service = service.to_string();
        if measures.is_empty() {
            efficiency.remove(&service);
        } else {
            efficiency.update(&service, measures, limit);
        }
        self.show(&efficiency);
    }

    fn show(&self, efficiency: &Efficiency) {
        let totals = efficiency.totals();
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.endpoints.set(gauge(totals.endpoints));
        self.slices.set(gauge(totals.slices));
        self.desired_slices.set(gauge(totals.desired_slices));
        let counts = efficiency.traffic_distributions();
        for distribution in ["PreferClose", "PreferSameZone", "PreferSameNode"] {
            let count = counts.get(distribution).copied().unwrap_or_default();
            self.distributions.with_label_values(&[distribution]).set(gauge(count));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no Service has 2^52 endpoints")]
fn size(count: usize) -> f64 {
    count as f64
}
