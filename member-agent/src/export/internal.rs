//! The Service on its way to the hub: its InternalServiceExport.

use std::slice;

use fleet_accumulator::Object;
use fleet_api::v1alpha1::InternalServiceExportSpec;
use fleet_api::{ObjectName, ServicePort, conditions, finalizers, names};
use fleet_model::objects::{InternalServiceExport, Service};
use fleet_model::steps::{HUB, to_json};
use fleet_model::{ports, reference};
use fleet_plan::conditions::find;
use fleet_plan::json_patch::add;
use fleet_plan::{Plan, Sample, Step, StepId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::stamp;
use super::state::ServiceState;

/// What the hub thinks of the exported Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HubDecision {
    /// Its slices travel.
    Accepted,
    /// Its ports conflict: none of its slices travel.
    Refused,
    /// No answer yet: what travels goes on, nothing new joins.
    Undecided,
}

/// Brings the hub's copy of the Service in line, and tells what the hub thinks of it.
pub(super) fn sync(
    state: &ServiceState<'_>,
    guarded: Option<StepId>,
    plan: &mut Plan,
) -> HubDecision {
    let Some(service) = state.exported() else { return HubDecision::Undecided };
    let Some(current) = state.current(service) else {
        // What is there belongs to an earlier Service of the name, and blocks its successor.
        withdraw(state, plan);
        if state.internal_exports.is_empty() {
            plan.steps.extend(create(state, service).map(|step| step.after(guarded)));
        }
        return HubDecision::Undecided;
    };
    for extra in state.internal_exports.iter().filter(|other| other.uid != current.uid) {
        if !extra.meta.is_terminating() {
            plan.push(HUB.delete(extra));
        }
    }
    plan.steps.extend(update(state, current, service).map(|step| step.after(guarded)));
    match find(&current.conditions, conditions::CONFLICT) {
        Some(conflict) if conflict.status == conditions::FALSE => HubDecision::Accepted,
        Some(conflict) if conflict.status == conditions::TRUE => HubDecision::Refused,
        _ => HubDecision::Undecided,
    }
}

/// The hub's decision on the Service as it is exported now.
pub(super) fn conflict<'a>(
    state: &ServiceState<'a>,
) -> Option<(&'a Object<InternalServiceExport>, &'a Condition)> {
    let current = state.current(state.exported()?)?;
    Some((current, find(&current.object.conditions, conditions::CONFLICT)?))
}

/// Deletes every export of this Service that is not going already.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) -> Vec<StepId> {
    let live = state.internal_exports.iter().filter(|export| !export.meta.is_terminating());
    live.map(|export| plan.push(HUB.delete(export))).collect()
}

/// Whether other objects have every name that this Service's export could have.
pub(super) fn is_crowded_out(state: &ServiceState<'_>) -> bool {
    state.internal_exports.is_empty() && free_name(state).is_none()
}

/// Asks the hub whether really nothing lies where this Service would be exported to.
pub(super) fn confirm_absent(state: &ServiceState<'_>, plan: &mut Plan) -> Option<StepId> {
    let name = free_name(state)?;
    Some(plan.push(HUB.confirm_absent::<InternalServiceExport>(name)))
}

fn create(state: &ServiceState<'_>, service: &Object<Service>) -> Option<Step> {
    let spec = spec(state, service, state.now);
    let body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": to_json(&spec),
    });
    Some(HUB.create::<InternalServiceExport>(free_name(state)?, body))
}

/// The object is shared with the hub, so only our part of it is patched.
///
/// Other changes of the Service (its status, a label) export nothing else and are not sent.
fn update(
    state: &ServiceState<'_>,
    current: &Object<InternalServiceExport>,
    service: &Object<Service>,
) -> Option<Step> {
    let same_ports = same_in_order(&current.ports, &service.ports);
    let seen = &current.reference;
    if same_ports && seen.refers(&state.identity.cluster, service) {
        return None;
    }
    // The same ports, repaired, are exported since they were first.
    let since = stamp::since(seen.exported_since.as_ref(), same_ports, state.now);
    let spec = spec(state, service, since);
    let operations = vec![
        add(&["spec", "ports"], to_json(&spec.ports)),
        add(&["spec", "serviceReference"], to_json(&spec.service_reference)),
    ];
    let sample = (!same_ports && told(state)).then(|| sample(state, since));
    Some(HUB.patch(current, operations).sample(sample))
}

/// A Go hub takes the same ports in another order for other ports, so the order is exported too.
fn same_in_order(exported: &[ServicePort], wanted: &[ServicePort]) -> bool {
    let same = |(a, b)| ports::same(slice::from_ref(a), slice::from_ref(b));
    exported.len() == wanted.len() && exported.iter().zip(wanted).all(same)
}

/// Whether the user has read a decision of the hub.
fn told(state: &ServiceState<'_>) -> bool {
    let conflict = state.export.and_then(|export| find(&export.conditions, conditions::CONFLICT));
    conflict.is_some_and(|conflict| conflict.status != conditions::UNKNOWN)
}

/// Measures an export that was seen at `since`.
pub(super) fn sample(state: &ServiceState<'_>, since: Timestamp) -> Sample {
    Sample { origin: state.identity.cluster.clone(), since, first: true, once: None }
}

fn spec(
    state: &ServiceState<'_>,
    service: &Object<Service>,
    since: Timestamp,
) -> InternalServiceExportSpec {
    let cluster = &state.identity.cluster;
    let generation = service.meta.generation;
    InternalServiceExportSpec {
        ports: service.ports.clone(),
        service_reference: reference::export_of(cluster, service, generation, since),
        ..InternalServiceExportSpec::default()
    }
}

/// The first name on the hub that nothing has.
fn free_name(state: &ServiceState<'_>) -> Option<ObjectName> {
    names::internal_export_candidates(state.name)
        .map(|name| state.on_hub(&name))
        .find(|name| state.snapshot.internal_exports.get(name).is_none())
}
