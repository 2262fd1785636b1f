//! Gauges of what a snapshot shows, computed when they are scraped.

use fleet_runtime::metrics::Gauges;
use jiff::Timestamp;
use prometheus::{IntGauge, IntGaugeVec, Opts};

use crate::phase::Phase;

/// The member's phase, and the last heartbeat that the hub has of it.
///
/// # Errors
/// If a name or a label is not allowed, which only a change of this file can cause. So with the others.
pub fn membership(phase: Phase, last_heartbeat: Option<Timestamp>) -> Gauges {
    let phases = IntGaugeVec::new(
        Opts::new("fleet_membership_phase", "1 for how far this member is, 0 for all others"),
        &["phase"],
    )?;
    for known in Phase::ALL {
        phases.with_label_values(&[known.as_str()]).set(i64::from(known == phase));
    }
    let heartbeat = IntGauge::new(
        "fleet_membership_last_heartbeat_timestamp_seconds",
        "Time of the last heartbeat that the hub has of this member; 0 while there is none",
    )?;
    heartbeat.set(last_heartbeat.map_or(0, Timestamp::as_second));
    Ok(vec![Box::new(phases), Box::new(heartbeat)])
}

/// How many ExternalWorkloads there are, and whether Linkerd's controller works for them. The first has the name of
/// Linkerd's metric, which means the same.
///
/// # Errors
/// See [`membership`].
pub fn external_workloads(count: usize, left_to_linkerd: bool) -> Gauges {
    let cached = Opts::new("externalworkload_cache_size", "ExternalWorkloads that the agent knows")
        .const_label("cluster", "local");
    let cached = IntGauge::with_opts(cached)?;
    cached.set(gauge(count));
    let linkerd = IntGauge::new(
        "fleet_external_workloads_left_to_linkerd",
        "1 while Linkerd's controller is at work, so that this one makes no slices",
    )?;
    linkerd.set(i64::from(left_to_linkerd));
    Ok(vec![Box::new(cached), Box::new(linkerd)])
}

/// How many imported slices are kept although the hub has lost what they came from.
///
/// # Errors
/// See [`membership`].
pub fn kept_imports(count: usize) -> Gauges {
    let kept = IntGauge::new(
        "fleet_networking_imported_slices_kept",
        "Imported slices that are kept although the hub has lost what they came from.",
    )?;
    kept.set(gauge(count));
    Ok(vec![Box::new(kept)])
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
