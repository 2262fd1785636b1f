//! Gauges of what a snapshot shows, computed when they are scraped.

use fleet_runtime::credential::Standing;
use fleet_runtime::metrics::Gauges;
use jiff::Timestamp;
use prometheus::{IntGauge, IntGaugeVec, Opts};

use crate::fence::Fence;
use crate::phase::Phase;

/// The member's phase, and the last heartbeat that the hub has of it.
///
/// # Errors
/// If a name or a label is not allowed, which only a change of this file can cause. So with the others.
pub fn membership(phase: Phase, last_heartbeat: Option<Timestamp>) -> Gauges {
    let phases = IntGaugeVec::new(
        Opts::new(
            "fleet_membership_phase",
            "Membership phase of this member: 1 for its current phase, 0 for the others.",
        ),
        &["phase"],
    )?;
    for known in Phase::ALL {
        phases.with_label_values(&[known.as_str()]).set(i64::from(known == phase));
    }
    let heartbeat = IntGauge::new(
        "fleet_membership_last_heartbeat_timestamp_seconds",
        "Unix time of the last heartbeat of this member that the hub has stored, in seconds. 0 if there is none.",
    )?;
    heartbeat.set(last_heartbeat.map_or(0, Timestamp::as_second));
    Ok(vec![Box::new(phases), Box::new(heartbeat)])
}

/// Whether the credential for the hub is good, and until when.
///
/// # Errors
/// See [`membership`].
pub fn credential(standing: Standing) -> Gauges {
    let expired = IntGauge::new(
        "fleet_hub_credential_expired",
        "1 while the credential for the hub has expired or is rejected by the hub, otherwise 0.",
    )?;
    expired.set(i64::from(!standing.is_good()));
    let expiry = IntGauge::new(
        "fleet_hub_credential_expiry_timestamp_seconds",
        "Unix time at which the token for the hub expires, in seconds. 0 if that is not known, or never.",
    )?;
    expiry.set(standing.expires().map_or(0, Timestamp::as_second));
    Ok(vec![Box::new(expired), Box::new(expiry)])
}

/// Which cluster the hub has recorded under the member's name.
///
/// # Errors
/// See [`membership`].
pub fn fence(fence: &Fence) -> Gauges {
    let states = IntGaugeVec::new(
        Opts::new(
            "fleet_membership_fence",
            "Cluster that the hub has recorded under the name of this member: 1 for the current state, 0 for the others. In the state taken it is another cluster, and this one writes nothing.",
        ),
        &["state"],
    )?;
    for known in Fence::NAMES {
        states.with_label_values(&[known]).set(i64::from(known == fence.as_str()));
    }
    Ok(vec![Box::new(states)])
}

/// How many ExternalWorkloads there are, and whether Linkerd's controller works for them. The first has the name of
/// Linkerd's metric, which means the same.
///
/// # Errors
/// See [`membership`].
pub fn external_workloads(count: usize, left_to_linkerd: bool) -> Gauges {
    let cached =
        Opts::new("externalworkload_cache_size", "Number of ExternalWorkloads in the snapshot.")
            .const_label("cluster", "local");
    let cached = IntGauge::with_opts(cached)?;
    cached.set(gauge(count));
    let linkerd = IntGauge::new(
        "fleet_external_workloads_left_to_linkerd",
        "1 while Linkerd's own controller is active, in which case this agent creates no EndpointSlices for ExternalWorkloads, otherwise 0.",
    )?;
    linkerd.set(i64::from(left_to_linkerd));
    Ok(vec![Box::new(cached), Box::new(linkerd)])
}

/// What users export through the standard API, and how far this member is with it.
///
/// # Errors
/// See [`membership`].
pub fn multicluster(exports: &[(&str, usize)], accepted: bool, published: bool) -> Gauges {
    let states = IntGaugeVec::new(
        Opts::new(
            "fleet_multicluster_exports",
            "Number of ServiceExports of the standard API (multicluster.x-k8s.io), by their conditions.",
        ),
        &["state"],
    )?;
    for (state, count) in exports {
        states.with_label_values(&[state]).set(gauge(*count));
    }
    let accepted_gauge = IntGauge::new(
        "fleet_multicluster_accepted",
        "1 while the hub accepts this member in the standard API, otherwise 0.",
    )?;
    accepted_gauge.set(i64::from(accepted));
    let published_gauge = IntGauge::new(
        "fleet_multicluster_published",
        "1 if this hub has had all that this member exports through the standard API, otherwise 0.",
    )?;
    published_gauge.set(i64::from(published));
    Ok(vec![Box::new(states), Box::new(accepted_gauge), Box::new(published_gauge)])
}

/// What is imported through the standard API, and what is kept of it although the hub lacks it.
///
/// # Errors
/// See [`membership`].
pub fn multicluster_imports(states: &[(&str, usize)], held: &[(&str, usize)]) -> Gauges {
    let by_state = IntGaugeVec::new(
        Opts::new(
            "fleet_multicluster_imports",
            "Number of ServiceImports of the standard API (multicluster.x-k8s.io), by what became of them.",
        ),
        &["state"],
    )?;
    let by_reason = IntGaugeVec::new(
        Opts::new(
            "fleet_multicluster_removals_held",
            "Number of ServiceImports of the standard API that are kept although the hub lacks them, by the reason.",
        ),
        &["why"],
    )?;
    for (gauges, counts) in [(&by_state, states), (&by_reason, held)] {
        for (label, count) in counts {
            gauges.with_label_values(&[label]).set(gauge(*count));
        }
    }
    Ok(vec![Box::new(by_state), Box::new(by_reason)])
}

/// How many imported slices are kept although the hub has lost what they came from.
///
/// # Errors
/// See [`membership`].
pub fn kept_imports(count: usize) -> Gauges {
    let kept = IntGauge::new(
        "fleet_networking_imported_slices_kept",
        "Number of imported EndpointSlices that are kept although their source is missing on the hub.",
    )?;
    kept.set(gauge(count));
    Ok(vec![Box::new(kept)])
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
