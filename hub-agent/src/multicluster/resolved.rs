//! The `ResolvedService` of a Service: what is in force, and when nothing is any more.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::multicluster::ResolvedServiceSpec;
use fleet_api::names::{SYSTEM_NAMESPACE, internal_export_candidates};
use fleet_api::{ObjectName, labels};
use fleet_model::multicluster::resolution::Resolution;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::conditions::whole_seconds;
use fleet_plan::deadline::remaining;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::evidence::shows_absence;
use super::exports::Exports;
use super::refusal;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// The stage in which an export gets into force.
const STAGE: &str = "mcs_resolve";
/// When to look again at what cannot be withdrawn yet.
const LATER: Duration = Duration::from_secs(5);

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
        (Some(resolution), None) => create(service, &resolution.spec, snapshot, plan),
        (Some(resolution), Some(resolved)) => update(resolved, resolution, snapshot, plan),
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
    let free = names.find(|name| snapshot.resolved_services.get(name).is_none());
    if let Some(name) = free {
        plan.push(HUB.create::<ResolvedService>(name, body(service, spec)).stage(STAGE));
    }
}

/// Nothing goes while it is not certain that it is gone.
fn update(
    resolved: &Object<ResolvedService>,
    resolution: &Resolution,
    snapshot: &HubSnapshot,
    plan: &mut Plan,
) {
    let stays = |cluster: &str| {
        let listed = &resolution.spec.exporters;
        listed.iter().any(|exporter| exporter.cluster == cluster)
    };
    let loses = resolved.exporters.iter().any(|exporter| !stays(&exporter.cluster));
    if loses && !shows_absence(snapshot) {
        plan.wake_within(LATER);
    } else if resolved.to_spec() != resolution.spec || !is_labelled(resolved) {
        plan.push(HUB.replace(resolved, body(&resolved.service, &resolution.spec)).stage(STAGE));
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
        return plan.wake_within(LATER);
    }
    let Some(withdrawn_at) = resolved.withdrawn_at else {
        let spec = withdrawn(resolved, now);
        plan.push(HUB.replace(resolved, body(&resolved.service, &spec)).stage(STAGE));
        return;
    };
    match remaining(withdrawn_at, settings.multicluster_withdrawn_for, now) {
        Some(rest) => plan.wake_within(rest),
        None => {
            plan.push(HUB.delete(resolved));
        }
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
