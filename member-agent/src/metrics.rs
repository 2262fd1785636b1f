//! Metrics of the member agent: recorders of what its plans measure, and gauges of what its snapshot shows.
//!
//! The two latency histograms are the original's, with its names, labels, buckets and cap
//! (docs/design/contract.md#latency-samples). Everything finer is in the runtime's stage histogram.

mod endpoint_slices;
mod gauges;
mod reach;
mod traffic;
mod virtual_nodes;

use std::collections::HashMap;

use fleet_accumulator::{Register, Uid};
use fleet_plan::Event;
use fleet_runtime::engine::Recorder;
use jiff::Timestamp;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts};

pub use endpoint_slices::SliceMetrics;
pub use gauges::{
    credential, external_workloads, fence, kept_imports, membership, multicluster,
    multicluster_imports,
};
pub use reach::ReachMetrics;
pub use traffic::{TrafficCounts, traffic};
pub use virtual_nodes::{
    VirtualNodeMetrics, lease_renew_failures, virtual_node_fuses, virtual_nodes,
};

use crate::measurement::{Imported, Measurement};

/// Upper bounds in milliseconds.
const BUCKETS: [f64; 6] = [1000.0, 2500.0, 5000.0, 10_000.0, 25_000.0, 50_000.0];
/// Longer times are recorded as this: twice the last bound.
const CAP: f64 = 100_000.0;
/// Times of zero or less, which clock skew between clusters can give, are recorded as this.
const FLOOR: f64 = 1000.0;
/// Objects of which it is remembered what was counted; beyond it all are forgotten.
const REMEMBERED: usize = 1 << 16;
/// Upper bounds in seconds: three writes and three watches take some tens of milliseconds, or wait for a member that is away.
const SECONDS: [f64; 11] = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Times of exports of Services, from being seen to the user reading the hub's decision.
#[derive(Debug)]
pub struct ExportMetrics {
    durations: HistogramVec,
}

impl ExportMetrics {
    /// Registers the histogram.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let durations = histogram(
            registry,
            "fleet_networking_service_export_duration_milliseconds",
            "The duration of a service export",
            &["origin_cluster_id"],
        )?;
        Ok(Self { durations })
    }
}

impl<K> Recorder<K, Measurement> for ExportMetrics {
    fn record(&mut self, _: &K, what: &Measurement, at: Timestamp) -> Vec<Event> {
        if let Measurement::Exported { origin, since } = what {
            self.durations.with_label_values(&[origin]).observe(recorded(*since, at));
        }
        Vec::new()
    }
}

/// Times of endpoint changes from one cluster to this one.
#[derive(Debug)]
pub struct ImportMetrics {
    durations: HistogramVec,
    destination: String,
    counted: Counted,
}

/// The last generation of each object that was counted: an imported slice that a user deletes loses the annotation with it, and
/// is created again.
#[derive(Debug, Default)]
struct Counted(HashMap<Uid, i64>);

impl Counted {
    /// Whether it is the first of its object; `None` if this generation was counted already.
    fn count(&mut self, imported: &Imported) -> Option<bool> {
        let before = self.0.get(&imported.copy).copied();
        if before >= Some(imported.generation) {
            return None;
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(imported.copy.clone(), imported.generation);
        Some(imported.first && before.is_none())
    }
}

impl ImportMetrics {
    /// Registers the histogram of the importer `destination`.
    pub fn register(
        registry: &impl Register,
        destination: impl Into<String>,
    ) -> Result<Self, prometheus::Error> {
        let durations = histogram(
            registry,
            "fleet_networking_endpointslice_export_import_duration_milliseconds",
            "The duration of an endpointslice export",
            &["origin_cluster_id", "destination_cluster_id", "is_first_import"],
        )?;
        Ok(Self { durations, destination: destination.into(), counted: Counted::default() })
    }
}

impl<K> Recorder<K, Measurement> for ImportMetrics {
    fn record(&mut self, _: &K, what: &Measurement, at: Timestamp) -> Vec<Event> {
        let Measurement::Imported(imported) = what else { return Vec::new() };
        if let Some(first) = self.counted.count(imported) {
            let first = if first { "true" } else { "false" };
            self.durations
                .with_label_values(&[imported.origin.as_str(), self.destination.as_str(), first])
                .observe(recorded(imported.since, at));
        }
        Vec::new()
    }
}

/// Times of endpoint changes from one cluster to this one through the standard API.
#[derive(Debug)]
pub struct StandardImportMetrics {
    durations: HistogramVec,
    counted: Counted,
}

impl StandardImportMetrics {
    /// Registers the histogram.
    ///
    /// # Errors
    /// If it is there already.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let help = "Seconds from an endpoint change in an exporting cluster, as its agent saw it, until this cluster had it, through the standard API (multicluster.x-k8s.io). The clocks of both clusters count.";
        let opts = HistogramOpts::new("fleet_multicluster_endpoint_seconds", help);
        let durations = HistogramVec::new(opts.buckets(SECONDS.to_vec()), &["origin"])?;
        registry.add(durations.clone())?;
        Ok(Self { durations, counted: Counted::default() })
    }
}

impl<K> Recorder<K, Measurement> for StandardImportMetrics {
    fn record(&mut self, _: &K, what: &Measurement, at: Timestamp) -> Vec<Event> {
        let Measurement::Imported(imported) = what else { return Vec::new() };
        if self.counted.count(imported).is_some() {
            let durations = self.durations.with_label_values(&[&imported.origin]);
            durations.observe(at.duration_since(imported.since).as_secs_f64().max(0.0));
        }
        Vec::new()
    }
}

/// Shows whether anybody can listen to the link to the hub: 1 if so; 0 until it is known.
///
/// # Errors
/// If the gauge is there already.
pub fn insecure_link(registry: &impl Register) -> Result<IntGauge, prometheus::Error> {
    let gauge = IntGauge::new(
        "fleet_hub_tls_insecure",
        "1 if the hub's certificate is not verified (--tls-insecure, or the kubeconfig for the hub), otherwise 0.",
    )?;
    registry.add(gauge.clone())?;
    Ok(gauge)
}

/// Counts renewals of the token for the hub.
///
/// # Errors
/// If the counter is there already.
pub fn token_renewals(registry: &impl Register) -> Result<IntCounterVec, prometheus::Error> {
    let opts = Opts::new(
        "fleet_hub_token_renewals_total",
        "Renewals of the token for the hub, by result.",
    );
    let results = IntCounterVec::new(opts, &["result"])?;
    registry.add(results.clone())?;
    Ok(results)
}

/// Renewals of the member's Lease on the hub, by `result`: `renewed` or `failed`.
pub fn lease_renewals(registry: &impl Register) -> Result<IntCounterVec, prometheus::Error> {
    let opts = Opts::new(
        "fleet_membership_lease_renewals_total",
        "Renewals of the Lease on the hub that shows that this member works, by result.",
    );
    let results = IntCounterVec::new(opts, &["result"])?;
    registry.add(results.clone())?;
    Ok(results)
}

fn histogram(
    registry: &impl Register,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    let opts = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
    let histogram = HistogramVec::new(opts, labels)?;
    registry.add(histogram.clone())?;
    Ok(histogram)
}

/// Milliseconds from `since` to `now`, within floor and cap.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a few hours are exact in f64")]
fn recorded(since: Timestamp, now: Timestamp) -> f64 {
    let elapsed = now.as_millisecond().saturating_sub(since.as_millisecond());
    if elapsed <= 0 { FLOOR } else { (elapsed as f64).min(CAP) }
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_700_000_000_000 + milliseconds).unwrap()
    }

    /// M5: within floor and cap.
    #[test]
    fn a_duration_within_bounds_is_recorded_as_it_is() {
        assert!((recorded(at(0), at(1234)) - 1234.0).abs() < f64::EPSILON);
    }

    #[test]
    fn clock_skew_is_recorded_as_a_second() {
        assert!((recorded(at(0), at(0)) - FLOOR).abs() < f64::EPSILON);
        assert!((recorded(at(5000), at(0)) - FLOOR).abs() < f64::EPSILON);
    }

    #[test]
    fn an_overlong_duration_is_capped() {
        assert!((recorded(at(0), at(3_600_000)) - CAP).abs() < f64::EPSILON);
    }

    /// M8: what is counted twice would be registered twice, and that is refused.
    #[test]
    fn each_metric_is_registered_once() {
        let registry = Registry::new();
        ImportMetrics::register(&registry, "b").unwrap();
        ExportMetrics::register(&registry).unwrap();
        assert!(ImportMetrics::register(&registry, "b").is_err());
        assert!(ExportMetrics::register(&registry).is_err());
    }

    #[test]
    fn a_generation_is_recorded_once_and_only_the_first_is_first() {
        let mut import = ImportMetrics::register(&Registry::new(), "b").unwrap();
        let imported = |copy: &str, generation| Imported {
            origin: "a".to_owned(),
            since: at(0),
            first: true,
            copy: Uid::from(copy),
            generation,
        };
        let seen = [("x", 1), ("x", 1), ("x", 2), ("x", 1), ("x", 2), ("y", 2)];
        let counted =
            seen.map(|(uid, generation)| import.counted.count(&imported(uid, generation)));
        assert_eq!(counted, [Some(true), None, Some(false), None, None, Some(true)]);
    }

    /// The standard API has no original: seconds as they are, none below zero, each generation once.
    #[test]
    fn arrivals_through_the_standard_api_are_measured_in_seconds() {
        let registry = Registry::new();
        let mut import = StandardImportMetrics::register(&registry).unwrap();
        for (generation, arrived) in [(1, 200), (1, 9000), (2, 50)] {
            let (origin, since, copy) = ("a".to_owned(), at(100), Uid::from("x"));
            let imported = Imported { origin, since, first: false, copy, generation };
            import.record(&(), &Measurement::Imported(imported), at(arrived));
        }
        let mut text = String::new();
        prometheus::TextEncoder::new().encode_utf8(&registry.gather(), &mut text).unwrap();
        for line in ["_sum{origin=\"a\"} 0.1", "_count{origin=\"a\"} 2"] {
            let line = format!("fleet_multicluster_endpoint_seconds{line}");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn names_labels_and_buckets_are_the_originals() {
        let registry = Registry::new();
        let mut import = ImportMetrics::register(&registry, "b").unwrap();
        let mut export = ExportMetrics::register(&registry).unwrap();
        let (origin, since) = ("a".to_owned(), at(0));
        let (copy, generation) = (Uid::from("x"), 1);
        let imported = Imported { origin: origin.clone(), since, first: true, copy, generation };
        import.record(&(), &Measurement::Imported(imported), at(2000));
        export.record(&(), &Measurement::Exported { origin, since }, at(2000));
        let mut text = String::new();
        prometheus::TextEncoder::new().encode_utf8(&registry.gather(), &mut text).unwrap();
        let expected = [
            "fleet_networking_service_export_duration_milliseconds_bucket{origin_cluster_id=\"a\",le=\"2500\"} 1",
            "fleet_networking_endpointslice_export_import_duration_milliseconds_bucket{destination_cluster_id=\"b\",is_first_import=\"true\",origin_cluster_id=\"a\",le=\"1000\"} 0",
            "fleet_networking_endpointslice_export_import_duration_milliseconds_bucket{destination_cluster_id=\"b\",is_first_import=\"true\",origin_cluster_id=\"a\",le=\"50000\"} 1",
        ];
        for line in expected {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
