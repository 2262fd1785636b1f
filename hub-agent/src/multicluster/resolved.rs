//! The `ResolvedService` of a Service: what is in force, and when nothing is any more.

use std::collections::HashSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::multicluster::{Exporter, ResolvedServiceSpec};
use fleet_api::names::{SYSTEM_NAMESPACE, internal_export_candidates, member_of_namespace};
use fleet_api::{ObjectName, events, labels};
use fleet_model::multicluster::resolution::Resolution;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::conditions::whole_seconds;
use fleet_plan::deadline::remaining;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::evidence::{is_doubtful, shows_absence};
use super::exports::Exports;
use super::refusal;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// The stage in which an export gets into force.
const STAGE: &str = "mcs_resolve";
/// How long an export may be absent whose slices are there: its member writes it again, or deletes them, within seconds.
const DOUBT: Duration = Duration::from_secs(10);

/// How long a Service that was withdrawn stays so, though it is exported again. An exporter that goes and comes back in turns would
/// make all importers delete and make addresses all the time; names in DNS are gone anyway.
const PAUSE: Duration = Duration::from_secs(5);

/// Brings what is in force in line with the exports, and reports to those that do not count.
pub(super) fn plan(
    settings: &Settings,
    service: &ObjectName,
    exports: &Exports<'_>,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    match (&exports.resolution, exports.resolved) {
        (Some(_), None) if exports.is_blocked => {}
        (Some(resolution), None) => create(service, &resolution.spec, snapshot, plan),
        (Some(resolution), Some(resolved)) => match pause(resolved, now) {
            Some(rest) => plan.wake_within(rest),
            None => update(resolved, resolution, exports, snapshot, plan),
        },
        (None, Some(resolved)) => withdraw(settings, resolved, snapshot, now, plan),
        (None, None) => {}
    }
    for surplus in &exports.surplus {
        plan.push(HUB.delete(surplus));
    }
    for (export, refusal) in &exports.all {
        refusal::report(export, refusal.as_ref(), now, plan);
    }
}

fn create(
    service: &ObjectName,
    spec: &ResolvedServiceSpec,
    snapshot: &HubSnapshot,
    plan: &mut Plan,
) {
    if !namespace_accepts_objects(&snapshot.namespaces, SYSTEM_NAMESPACE) {
        return;
    }
    let names = internal_export_candidates(service);
    let mut names = names.map(|name| ObjectName::new(SYSTEM_NAMESPACE, name));
    let resolved = &snapshot.resolved_services;
    let free = names.find(|name| resolved.get(name).is_none() && resolved.defect(name).is_none());
    if let Some(name) = free {
        plan.push(HUB.create::<ResolvedService>(name, body(service, spec)).stage(STAGE));
    }
}

/// For how long a Service that was just withdrawn does not come into force again.
fn pause(resolved: &ResolvedService, now: Timestamp) -> Option<Duration> {
    remaining(resolved.withdrawn_at?, PAUSE, now)
}

/// Nothing goes while it is not certain that it is gone.
fn update(
    resolved: &Object<ResolvedService>,
    resolution: &Resolution,
    exports: &Exports<'_>,
    snapshot: &HubSnapshot,
    plan: &mut Plan,
) {
    let listed = resolution.spec.exporters.iter().map(|exporter| &*exporter.cluster);
    let listed: HashSet<&str> = listed.collect();
    let clusters = resolved.exporters.iter().map(|exporter| &*exporter.cluster);
    let lost: Vec<_> = clusters.filter(|cluster| !listed.contains(cluster)).collect();
    let is_new = resolved.to_spec() != resolution.spec || !is_labelled(resolved);
    if is_new && (lost.is_empty() || shows_absence(snapshot)) {
        write(resolved, &resolution.spec, &lost, snapshot, plan);
        report_yielding(resolved, resolution, exports, plan);
    }
}

/// Reports to exports of silent members that their ports are not in force any more.
fn report_yielding(
    resolved: &ResolvedService,
    resolution: &Resolution,
    exports: &Exports<'_>,
    plan: &mut Plan,
) {
    for (export, _) in &exports.all {
        let member = member_of_namespace(&export.name.namespace);
        let lacked = |spec: &[Exporter], member: &str| {
            let exporter = spec.iter().find(|exporter| exporter.cluster == member);
            exporter.map(|exporter| exporter.withheld.len())
        };
        let yields = |member: &&str| {
            let after = lacked(&resolution.spec.exporters, member);
            resolution.yielding.contains(*member) && lacked(&resolved.exporters, member) < after
        };
        if let Some(member) = member.filter(yields) {
            let winner = &resolution.spec.winner;
            // Where all that have the type in force are silent, one of them wins nevertheless.
            let whose = if resolution.yielding.contains(winner) {
                "other clusters".to_owned()
            } else {
                format!("cluster {winner}")
            };
            let note =
                format!("cluster {member} is silent: ports of {whose} come first from now on");
            plan.events.push(HUB.warning(*export, events::PORTS_YIELDED, note));
        }
    }
}

/// No member exports the Service any more. The object states that for a while, so that importers can distinguish it from a hub
/// that has lost it.
fn withdraw(
    settings: &Settings,
    resolved: &Object<ResolvedService>,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    if !shows_absence(snapshot) {
        return;
    }
    let Some(withdrawn_at) = resolved.withdrawn_at else {
        let lost: Vec<_> = resolved.exporters.iter().map(|exporter| &*exporter.cluster).collect();
        return write(resolved, &withdrawn(resolved, now), &lost, snapshot, plan);
    };
    match remaining(withdrawn_at, settings.multicluster_withdrawn_for, now) {
        Some(rest) => plan.wake_within(rest),
        None => {
            plan.push(HUB.delete(resolved));
        }
    }
}

/// Replaces what is in force, by which these clusters are exporters no more: in a while, if one of them may come back.
fn write(
    resolved: &Object<ResolvedService>,
    spec: &ResolvedServiceSpec,
    lost: &[&str],
    snapshot: &HubSnapshot,
    plan: &mut Plan,
) {
    let step = HUB.replace(resolved, body(&resolved.service, spec)).stage(STAGE);
    if is_doubtful(&resolved.service, lost, snapshot) {
        plan.debounce(DOUBT, "an export is gone and its slices are not", step);
    } else {
        plan.push(step);
    }
}

fn withdrawn(resolved: &Object<ResolvedService>, now: Timestamp) -> ResolvedServiceSpec {
    ResolvedServiceSpec {
        winner: String::new(),
        exporters: Vec::new(),
        conflicts: Vec::new(),
        withdrawn_at: Some(whole_seconds(now)),
        ..resolved.to_spec()
    }
}

fn is_labelled(resolved: &Object<ResolvedService>) -> bool {
    resolved.meta.label(labels::MULTICLUSTER_NAMESPACE) == Some(&*resolved.service.namespace)
}

fn body(service: &ObjectName, spec: &ResolvedServiceSpec) -> Value {
    let labels = json!({ labels::MULTICLUSTER_NAMESPACE: service.namespace });
    json!({ "metadata": { "labels": labels }, "spec": spec })
}
