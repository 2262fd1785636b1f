//! The two latency histograms of the original, with its names, labels, buckets and cap
//! (docs/design/contract.md#latency-samples). Everything finer is in the runtime's stage histogram.

use std::collections::HashMap;
use std::sync::Arc;

use fleet_accumulator::{Register, Uid};
use fleet_plan::Sample;
use jiff::Timestamp;
use parking_lot::Mutex;
use prometheus::{HistogramOpts, HistogramVec, IntGauge, IntGaugeVec, Opts};

use crate::phase::Phase;

/// Upper bounds in milliseconds.
const BUCKETS: [f64; 6] = [1000.0, 2500.0, 5000.0, 10_000.0, 25_000.0, 50_000.0];
/// Longer times are recorded as this: twice the last bound.
const CAP: f64 = 100_000.0;
/// Times of zero or less, which clock skew between clusters can give, are recorded as this.
const FLOOR: f64 = 1000.0;
/// Objects of which it is remembered what was counted; beyond it all are forgotten.
const REMEMBERED: usize = 1 << 16;

/// How long exports of Services take, from being seen to the user reading the hub's verdict.
#[derive(Clone, Debug)]
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

    /// Records one export that is over at `now`.
    pub fn observe(&self, sample: &Sample, now: Timestamp) {
        self.durations.with_label_values(&[&sample.origin]).observe(recorded(sample.since, now));
    }
}

/// How long endpoint changes take from one cluster to this one.
#[derive(Clone, Debug)]
pub struct ImportMetrics {
    durations: HistogramVec,
    destination: String,
    /// The last generation of each object that was counted: an imported slice that a user
    /// deletes takes its mark along, and comes again.
    counted: Arc<Mutex<HashMap<Uid, i64>>>,
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
        Ok(Self { durations, destination: destination.into(), counted: Arc::default() })
    }

    /// Records one import that is over at `now`, unless it was recorded before.
    pub fn observe(&self, sample: &Sample, now: Timestamp) {
        let Some(first) = self.count(sample) else { return };
        let first = if first { "true" } else { "false" };
        self.durations
            .with_label_values(&[sample.origin.as_str(), self.destination.as_str(), first])
            .observe(recorded(sample.since, now));
    }

    /// Whether it is the first of its object; `None` if this generation was counted already.
    fn count(&self, sample: &Sample) -> Option<bool> {
        let Some((uid, generation)) = &sample.once else { return Some(sample.first) };
        let mut counted = self.counted.lock();
        let before = counted.get(uid).copied();
        if before >= Some(*generation) {
            return None;
        }
        if counted.len() >= REMEMBERED {
            counted.clear();
        }
        counted.insert(uid.clone(), *generation);
        Some(sample.first && before.is_none())
    }
}

/// Shows whether anybody can listen to the link to the hub.
///
/// # Errors
/// If the gauge is there already.
pub fn show_insecure_link(
    registry: &impl Register,
    insecure: bool,
) -> Result<(), prometheus::Error> {
    let gauge = IntGauge::new(
        "fleet_hub_tls_insecure",
        "1 if the hub's certificate is not verified (--tls-insecure).",
    )?;
    gauge.set(i64::from(insecure));
    registry.add(gauge)
}

/// What was reported to the hub about this member.
#[derive(Clone, Debug)]
pub struct MembershipMetrics {
    phase: IntGaugeVec,
    last_heartbeat: IntGauge,
}

impl MembershipMetrics {
    /// Registers the gauges.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let phase = IntGaugeVec::new(
            Opts::new("fleet_membership_phase", "1 for how far this member is, 0 for all others"),
            &["phase"],
        )?;
        let last_heartbeat = IntGauge::new(
            "fleet_membership_last_heartbeat_timestamp_seconds",
            "Time of the last heartbeat that the hub has of this member; 0 while there is none",
        )?;
        registry.add(phase.clone())?;
        registry.add(last_heartbeat.clone())?;
        let metrics = Self { phase, last_heartbeat };
        metrics.show(Phase::Member, None);
        Ok(metrics)
    }

    /// Shows how far the member is, and its last heartbeat.
    pub fn show(&self, phase: Phase, heartbeat: Option<Timestamp>) {
        for known in Phase::ALL {
            let value = i64::from(known == phase);
            self.phase.with_label_values(&[known.as_str()]).set(value);
        }
        self.last_heartbeat.set(heartbeat.map_or(0, Timestamp::as_second));
    }
}

/// What is known of external workloads.
#[derive(Clone, Debug)]
pub struct ExternalWorkloadMetrics {
    cached: IntGauge,
    left_to_linkerd: IntGauge,
}

impl ExternalWorkloadMetrics {
    /// Registers the gauges. The first has the name of Linkerd's, which means the same.
    pub fn register(registry: &impl Register) -> Result<Self, prometheus::Error> {
        let cached =
            Opts::new("externalworkload_cache_size", "ExternalWorkloads that the agent knows")
                .const_label("cluster", "local");
        let cached = IntGauge::with_opts(cached)?;
        let left_to_linkerd = IntGauge::new(
            "fleet_external_workloads_left_to_linkerd",
            "1 while Linkerd's controller is at work, so that this one makes no slices",
        )?;
        registry.add(cached.clone())?;
        registry.add(left_to_linkerd.clone())?;
        Ok(Self { cached, left_to_linkerd })
    }

    /// Shows how many there are, and who works for them.
    pub fn show(&self, count: usize, left_to_linkerd: bool) {
        self.cached.set(i64::try_from(count).unwrap_or(i64::MAX));
        self.left_to_linkerd.set(i64::from(left_to_linkerd));
    }
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
        MembershipMetrics::register(&registry).unwrap();
        assert!(ImportMetrics::register(&registry, "b").is_err());
        assert!(ExportMetrics::register(&registry).is_err());
        assert!(MembershipMetrics::register(&registry).is_err());
    }

    #[test]
    fn a_generation_is_recorded_once_and_only_the_first_is_first() {
        let import = ImportMetrics::register(&Registry::new(), "b").unwrap();
        let sample = |uid: &str, generation| Sample {
            origin: "a".to_owned(),
            since: at(0),
            first: true,
            once: Some((Uid::from(uid), generation)),
        };
        let seen = [("x", 1), ("x", 1), ("x", 2), ("x", 1), ("x", 2), ("y", 2)];
        let counted = seen.map(|(uid, generation)| import.count(&sample(uid, generation)));
        assert_eq!(counted, [Some(true), None, Some(false), None, None, Some(true)]);
    }

    #[test]
    fn names_labels_and_buckets_are_the_originals() {
        let registry = Registry::new();
        let import = ImportMetrics::register(&registry, "b").unwrap();
        let export = ExportMetrics::register(&registry).unwrap();
        let sample = Sample { origin: "a".to_owned(), since: at(0), first: true, once: None };
        import.observe(&sample, at(2000));
        export.observe(&sample, at(2000));
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
