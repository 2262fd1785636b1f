//! Metrics of the hub agent, computed at each scrape, so that no series has to be removed with its member: ages of the
//! members' heartbeats, and objects of members that exceed a bound.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::{Object, Tracked, View};
use fleet_api::names::member_of_namespace;
use fleet_api::traffic::{DrainReason, FleetTrafficPhase, SilenceState};
use fleet_model::multicluster::mode::Mode;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_runtime::metrics::Gauges;
use jiff::Timestamp;
use prometheus::{GaugeVec, IntGauge, IntGaugeVec, Opts};

use crate::Settings;
use crate::heartbeat::{heartbeat_timeout, last_observed};
use crate::liveness::Standing;
use crate::places::Refused;
use crate::snapshot::HubSnapshot;

fn gauges() -> prometheus::Result<(GaugeVec, IntGaugeVec)> {
    let age = Opts::new(
        "fleet_networking_member_heartbeat_age_seconds",
        "Seconds since this process observed the last heartbeat of a joined member's networking agents.",
    );
    let stale = Opts::new(
        "fleet_networking_member_heartbeat_stale",
        "1 if no heartbeat of a joined member was observed for too long, otherwise 0. Its endpoints are kept.",
    );
    Ok((GaugeVec::new(age, &["member"])?, IntGaugeVec::new(stale, &["member"])?))
}

/// How long ago each member's last heartbeat was observed, and whether that is too long.
///
/// The label values are names of members: a fleet has few, and their series end with them.
///
/// # Errors
/// If a name or a label is not allowed, which only a change of this file can cause.
pub fn heartbeats(settings: &Settings, snapshot: &HubSnapshot, now: Timestamp) -> Gauges {
    let (age, stale) = gauges()?;
    for object in snapshot.internal_members.iter() {
        // An InternalMemberCluster has the name of the member that its namespace belongs to.
        let member = member_of_namespace(&object.name.namespace);
        let member = member.filter(|member| **member == *object.name.name);
        let (Some(member), Some(last)) = (member, last_observed(object)) else { continue };
        let age_of_last = now.duration_since(last);
        age.with_label_values(&[member]).set(age_of_last.as_secs_f64().max(0.0));
        let too_old = age_of_last >= heartbeat_timeout(settings, object);
        stale.with_label_values(&[member]).set(i64::from(too_old));
    }
    Ok(vec![Box::new(age), Box::new(stale)])
}

/// When each member's Lease was renewed last, and whether that is too long ago.
///
/// # Errors
/// See [`heartbeats`].
pub fn member_leases(members: &[(String, Standing, Option<Duration>)]) -> Gauges {
    let age = Opts::new(
        "fleet_networking_member_lease_age_seconds",
        "Seconds since this process saw a member renew its Lease.",
    );
    let silent = Opts::new(
        "fleet_networking_member_lease_silent",
        "1 if a member has not renewed its Lease for too long, otherwise 0. No series before that is known.",
    );
    let (age, silent) = (GaugeVec::new(age, &["member"])?, IntGaugeVec::new(silent, &["member"])?);
    for (member, standing, since) in members {
        if let Some(since) = since {
            age.with_label_values(&[member]).set(since.as_secs_f64());
        }
        if *standing != Standing::Unknown {
            let is_silent = *standing == Standing::Silent;
            silent.with_label_values(&[member]).set(i64::from(is_silent));
        }
    }
    Ok(vec![Box::new(age), Box::new(silent)])
}

/// Number of objects of each member that exceed a bound, by kind. `refused` are those that limits set by flags refuse.
///
/// # Errors
/// See [`heartbeats`].
pub fn over_limit(snapshot: &HubSnapshot, refused: &[Refused]) -> Gauges {
    let opts = Opts::new(
        "fleet_networking_objects_over_limit",
        "Number of objects of a member that the hub agent rejects because they exceed a bound, by kind.",
    );
    let gauge = IntGaugeVec::new(opts, &["member", "kind"])?;
    count(&snapshot.internal_exports, |export| export.excess.is_some(), &gauge);
    count(&snapshot.internal_imports, |request| request.excess.is_some(), &gauge);
    count(&snapshot.slice_exports, |slice| slice.excess.is_some(), &gauge);
    count(&snapshot.exported_services, |export| export.excess.is_some(), &gauge);
    for (member, kind, count) in refused {
        let series = gauge.with_label_values(&[member.as_str(), kind.kind]);
        series.add(i64::try_from(*count).unwrap_or(i64::MAX));
    }
    Ok(vec![Box::new(gauge)])
}

/// Pods that members run for others, and those that are kept although their export is gone.
///
/// # Errors
/// See [`heartbeats`].
pub fn virtual_nodes(
    count: &BTreeMap<(String, String, &'static str), usize>,
    (kept, fuses): (usize, usize),
) -> Gauges {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let pods = Opts::new(
        "fleet_networking_offloaded_pods",
        "Number of Pods that members have exported to other members, by origin, executor and how far they are.",
    );
    let withheld = Opts::new(
        "fleet_networking_offload_withheld_stops",
        "Number of Pods of other members whose export is gone, and that are not stopped yet.",
    );
    let pods = IntGaugeVec::new(pods, &["origin", "executor", "state"])?;
    let open = Opts::new(
        "fleet_networking_offload_fuse_open",
        "Number of executors that have lost so many exports of their Pods at once that none is stopped for ten minutes.",
    );
    let withheld = IntGauge::with_opts(withheld)?;
    let open = IntGauge::with_opts(open)?;
    for ((origin, executor, state), count) in count {
        let series = pods.with_label_values(&[origin.as_str(), executor.as_str(), state]);
        series.set(number(*count));
    }
    withheld.set(number(kept));
    open.set(number(fuses));
    Ok(vec![Box::new(pods), Box::new(withheld), Box::new(open)])
}

/// Why traffic is held where it is.
const HELD: [&str; 4] = ["mass_silence", "drain_refused", "sole_exporter", "rebuilding"];

/// What is decided about members, and what is held back.
///
/// # Errors
/// See [`heartbeats`].
pub fn traffic(snapshot: &HubSnapshot) -> Gauges {
    let silent = Opts::new(
        "fleet_networking_traffic_silent_percent",
        "Percentage of the endpoints of a member that are last resort because the member is silent, or was.",
    );
    let drained = Opts::new(
        "fleet_networking_traffic_drained_percent",
        "Percentage of the endpoints of a member that are last resort because of the drain that has come farthest.",
    );
    let held = Opts::new(
        "fleet_networking_traffic_held",
        "Number of members, drains and Services for which nothing is changed, by reason: so many members are silent at once, a drain is refused, no other member serves the Service, members have not yet published to this hub.",
    );
    let silent = IntGaugeVec::new(silent, &["member"])?;
    let drained = IntGaugeVec::new(drained, &["member"])?;
    let held = IntGaugeVec::new(held, &["reason"])?;
    for reason in HELD {
        held.with_label_values(&[reason]).set(0);
    }
    let [mass_silence, refused, sole_exporter, rebuilding] = HELD;
    let add = |reason: &str, count: usize| {
        held.with_label_values(&[reason]).add(i64::try_from(count).unwrap_or(i64::MAX));
    };
    for traffic in snapshot.member_traffics.iter() {
        let (member, status) = (&*traffic.name.name, &traffic.status);
        let silence = status.silence.as_ref();
        silent.with_label_values(&[member]).set(silence.map_or(0, |silence| silence.percent));
        let percent = status.drains.iter().map(|drain| drain.percent).max();
        drained.with_label_values(&[member]).set(percent.unwrap_or_default());
        let is_held = silence.is_some_and(|silence| silence.state == SilenceState::Held);
        add(mass_silence, usize::from(is_held));
        let of_refused = status.drains.iter().filter(|it| it.reason == DrainReason::Refused);
        add(refused, of_refused.count());
        add(sole_exporter, status.held_services.len());
    }
    let fleet = FleetTraffic::of(&snapshot.fleet_traffics);
    let rebuilds =
        fleet.is_some_and(|fleet| fleet.status.phase == Some(FleetTrafficPhase::Rebuilding));
    add(rebuilding, usize::from(rebuilds));
    Ok(vec![Box::new(silent), Box::new(drained), Box::new(held)])
}

/// The states of a Service that is exported by the standard API.
const STATES: [&str; 3] = ["in_force", "conflicting", "withdrawn"];

/// Number of Services that are exported by the standard API, by state; none where the agent does not serve it.
///
/// # Errors
/// See [`heartbeats`].
pub fn resolved_services(settings: &Settings, snapshot: &HubSnapshot) -> Gauges {
    if settings.multicluster == Mode::Off {
        return Ok(Vec::new());
    }
    let opts = Opts::new(
        "fleet_multicluster_resolved_services",
        "Number of Services that members export with a ServiceExport of multicluster.x-k8s.io, by state: in force, in force although exports differ, withdrawn a while ago.",
    );
    let gauge = IntGaugeVec::new(opts, &["state"])?;
    for state in STATES {
        gauge.with_label_values(&[state]).set(0);
    }
    for resolved in snapshot.resolved_services.iter() {
        gauge.with_label_values(&[state(resolved)]).inc();
    }
    Ok(vec![Box::new(gauge)])
}

fn state(resolved: &Object<ResolvedService>) -> &'static str {
    let [in_force, conflicting, withdrawn] = STATES;
    if resolved.is_withdrawn() {
        withdrawn
    } else if resolved.conflicts.is_empty() {
        in_force
    } else {
        conflicting
    }
}

fn count<T: Tracked>(view: &View<T>, is_over: fn(&T) -> bool, gauge: &IntGaugeVec) {
    for object in view.iter().filter(|object| is_over(object)) {
        if let Some(member) = member_of_namespace(&object.name.namespace) {
            gauge.with_label_values(&[member, T::KIND.kind]).inc();
        }
    }
}
