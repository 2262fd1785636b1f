//! The InternalServiceExport of a Service on the hub.

use fleet_accumulator::Object;
use fleet_api::v1alpha1::InternalServiceExportSpec;
use fleet_api::{ObjectName, annotations, conditions, finalizers, names};
use fleet_model::objects::{InternalServiceExport, Service};
use fleet_model::steps::{HUB, to_json};
use fleet_model::{ports, reference};
use fleet_plan::conditions::find;
use fleet_plan::json_patch::add;
use fleet_plan::{Step, StepId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::stamp;
use super::state::{ServiceState, is_hub_rebuilt};
use crate::measurement::{Measurement, Plan};

/// The hub's decision on an exported Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HubDecision {
    /// The slices are exported.
    Accepted,
    /// The ports conflict: no slice is exported.
    Refused,
    /// No decision yet: slices that are exported stay so, no new one is.
    Undecided,
}

/// Brings the InternalServiceExport up to date. Returns the hub's decision on it.
pub(super) fn sync(
    state: &ServiceState<'_>,
    guarded: Option<StepId>,
    plan: &mut Plan,
) -> HubDecision {
    let Some(service) = state.exported() else { return HubDecision::Undecided };
    let Some(current) = state.current(service).or_else(|| state.restored()) else {
        // The existing ones belong to an earlier Service of this name and block the next.
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
    if let Some((step, exported)) = update(state, current, service) {
        let sent = plan.push(step.after(guarded));
        if let Some(exported) = exported {
            plan.measure_after(sent, exported);
        }
    }
    match find(&current.conditions, conditions::CONFLICT) {
        Some(conflict) if is_superseded(state, conflict) => HubDecision::Undecided,
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

/// The condition with which the hub rejects the Service as it is exported now.
pub(super) fn rejection<'a>(state: &ServiceState<'a>) -> Option<&'a Condition> {
    let current = state.current(state.exported()?)?;
    let valid = find(&current.object.conditions, conditions::VALID)?;
    (valid.status == conditions::FALSE).then_some(valid)
}

/// Deletes every InternalServiceExport of this Service that is not being deleted yet.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) -> Vec<StepId> {
    let live = state.internal_exports.iter().filter(|export| !export.meta.is_terminating());
    live.map(|export| plan.push(HUB.delete(export))).collect()
}

/// Whether other objects have all candidate names of the InternalServiceExport.
pub(super) fn is_crowded_out(state: &ServiceState<'_>) -> bool {
    state.internal_exports.is_empty() && free_name(state).is_none()
}

/// Checks with the hub's API server that no InternalServiceExport of this Service exists.
pub(super) fn confirm_absent(state: &ServiceState<'_>, plan: &mut Plan) -> Option<StepId> {
    let name = free_name(state)?;
    Some(plan.push(HUB.confirm_absent::<InternalServiceExport>(name)))
}

fn create(state: &ServiceState<'_>, service: &Object<Service>) -> Option<Step> {
    let spec = spec(state, service, state.now);
    let mut body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": to_json(&spec),
    });
    if let Some(accepted) = was_accepted(state) {
        body["metadata"]["annotations"] =
            json!({ annotations::ACCEPTED_BEFORE: accepted.to_string() });
    }
    Some(HUB.create::<InternalServiceExport>(free_name(state)?, body))
}

/// Patches the fields that this agent owns: the hub agent writes the others.
///
/// Changes of the Service that export nothing else (its status, a label) cause no write. Also returns what to measure when
/// the step is acknowledged.
fn update(
    state: &ServiceState<'_>,
    current: &Object<InternalServiceExport>,
    service: &Object<Service>,
) -> Option<(Step, Option<Measurement>)> {
    // To a Go hub the same ports in another order are different ones.
    let same_ports = ports::same_in_order(&current.ports, &service.ports);
    let seen = &current.reference;
    if same_ports && seen.refers(&state.identity.cluster, service) {
        return None;
    }
    // The same ports, restored after a change by others, keep their time.
    let since = stamp::since(seen.exported_since.as_ref(), same_ports, state.now);
    let spec = spec(state, service, since);
    let operations = vec![
        add(&["spec", "ports"], to_json(&spec.ports)),
        add(&["spec", "serviceReference"], to_json(&spec.service_reference)),
    ];
    let exported = (!same_ports && is_decided(state)).then(|| exported(state, since));
    Some((HUB.patch(current, operations), exported))
}

/// Whether the ServiceExport shows a decision of the hub.
fn is_decided(state: &ServiceState<'_>) -> bool {
    was_accepted(state).is_some()
}

/// What the ServiceExport shows of the hub's decision. A hub that was rebuilt does not know it.
fn was_accepted(state: &ServiceState<'_>) -> Option<bool> {
    let conflict = state.export.and_then(|export| find(&export.conditions, conditions::CONFLICT));
    match conflict?.status.as_str() {
        conditions::FALSE => Some(true),
        conditions::TRUE => Some(false),
        _ => None,
    }
}

/// Whether a hub that is being rebuilt does not accept what it had accepted, as the ServiceExport shows: a backup has a conflict that has
/// ended since, with an export that its member has yet to withdraw again. A conflict that is new counts once the hub is complete.
pub(super) fn is_superseded(state: &ServiceState<'_>, conflict: &Condition) -> bool {
    conflict.status != conditions::FALSE
        && was_accepted(state) == Some(true)
        && rejection(state).is_none()
        && is_hub_rebuilt(state.settings, state.snapshot)
}

/// Whether the hub has yet to learn which decision the ServiceExport shows: it is being rebuilt, and lacks the export, has not decided
/// on it again, or has an earlier decision. Without it the hub could not know which of two exports was in use.
pub(super) fn is_remembered(state: &ServiceState<'_>) -> bool {
    if let Some((_, conflict)) = conflict(state) {
        return is_superseded(state, conflict);
    }
    let is_rebuilt = is_hub_rebuilt(state.settings, state.snapshot);
    let service = state.exported().filter(|_| is_rebuilt && is_decided(state));
    let Some(service) = service else { return false };
    match state.current(service) {
        Some(current) => {
            current.meta.annotation(annotations::ACCEPTED_BEFORE).is_some()
                && rejection(state).is_none()
        }
        // That of an earlier Service becomes that of this one.
        None if state.restored().is_some() => true,
        None => state.internal_exports.is_empty() && !is_crowded_out(state),
    }
}

/// Measures an export that was seen at `since`.
pub(super) fn exported(state: &ServiceState<'_>, since: Timestamp) -> Measurement {
    Measurement::Exported { origin: state.identity.cluster.clone(), since }
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

/// The first candidate name that no object on the hub has.
fn free_name(state: &ServiceState<'_>) -> Option<ObjectName> {
    names::internal_export_candidates(state.name)
        .map(|name| state.on_hub(&name))
        .find(|name| state.snapshot.internal_exports.get(name).is_none())
}
