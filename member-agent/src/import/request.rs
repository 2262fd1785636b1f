//! The ServiceImport of the holder and its request on the hub, an InternalServiceImport.

use fleet_accumulator::{Object, Uid};
use fleet_api::v1alpha1::InternalServiceImportSpec;
use fleet_api::{
    ExportedObjectReference, ObjectName, ServiceImportStatus, finalizers, kinds, names,
};
use fleet_model::limits;
use fleet_model::objects::{InternalServiceImport, ServiceImport, by_age};
use fleet_model::reference;
use fleet_model::steps::{HUB, LOCAL, controller_reference, to_json};
use fleet_plan::json_patch::{add, add_finalizer};
use fleet_plan::{Step, StepId};
use serde_json::{Value, json};

use super::stages::{Import, Prepared};
use super::state::{Mcs, ServiceState};
use crate::measurement::Plan;

/// Brings ServiceImport and request in line with the holder, if there is one.
pub(super) fn sync(
    state: &ServiceState<'_>,
    holder: Option<&Mcs>,
    prepared: Option<&Prepared>,
    plan: &mut Plan,
) -> Import {
    match (state.import, holder) {
        (None, Some(holder)) if state.in_hub => {
            let guarded = prepared.and_then(|prepared| prepared.write);
            ask(state, for_mcs(state, holder), guarded, plan).map(answered).unwrap_or_default()
        }
        (None, None) if state.in_hub => Import { unasked: unask(state, plan), ..Import::default() },
        (None, Some(holder)) => {
            let after = prepared.and_then(|prepared| prepared.write);
            plan.push(create_import(state, holder).after(after));
            withdraw_requests(state, plan);
            Import::default()
        }
        (Some(import), Some(holder)) if !import.meta.is_terminating() => {
            request(state, holder, import, plan)
        }
        (Some(import), _) => withdraw(state, import, plan),
        (None, None) => {
            withdraw_requests(state, plan);
            Import::default()
        }
    }
}

/// The import's finalizer is set before the request (docs/design/rules.md#finalizers).
fn request(
    state: &ServiceState<'_>,
    holder: &Mcs,
    import: &Object<ServiceImport>,
    plan: &mut Plan,
) -> Import {
    let mut operations = add_finalizer(&import.meta, finalizers::SERVICE_IMPORT);
    operations.extend(restore_owner(import, holder));
    let guarded = (!operations.is_empty()).then(|| plan.push(LOCAL.patch(import, operations)));
    let Some(answer) = ask(state, for_import(state, import), guarded, plan) else {
        return Import::default();
    };
    let outcome = answered(answer);
    // Another hub that has not granted it yet takes nothing away.
    let is_lost = state.other_hub.is_some() && !answer.is_resolved();
    if guarded.is_none() && outcome.excess.is_none() && *import.status != *answer && !is_lost {
        plan.push(LOCAL.status(import, answer));
    }
    outcome
}

/// What the hub's answer comes to. An older hub agent may grant more ports than a Service can have.
fn answered(answer: &ServiceImportStatus) -> Import {
    let excess = limits::of_grant(answer);
    let granted = (excess.is_none() && answer.is_resolved()).then(|| answer.clone());
    Import { granted, excess, ..Import::default() }
}

/// Makes the holder the controller again of a ServiceImport that has lost its controller.
fn restore_owner(import: &Object<ServiceImport>, holder: &Mcs) -> Option<Value> {
    let meta = &import.object.meta;
    if meta.controller_owner().is_some() {
        return None;
    }
    let others = meta.owners.iter().filter(|owner| !holder.uid.is(&owner.uid));
    let owners: Vec<_> = others.cloned().chain([controller_reference(holder)]).collect();
    Some(add(&["metadata", "ownerReferences"], to_json(&owners)))
}

/// Requests the Service from the hub for the object that `reference` names, after the step `guarded` has added its
/// finalizer. Returns the status of the request, if it exists.
fn ask<'a>(
    state: &ServiceState<'a>,
    reference: ExportedObjectReference,
    guarded: Option<StepId>,
    plan: &mut Plan,
) -> Option<&'a ServiceImportStatus> {
    let mut live: Vec<_> =
        state.requests.iter().filter(|request| !request.meta.is_terminating()).collect();
    // The hub agent accepts the oldest.
    live.sort_by(|a, b| by_age(a, b));
    let Some((current, surplus)) = live.split_first() else {
        if state.requests.is_empty() {
            plan.steps.extend(create_request(state, reference).map(|step| step.after(guarded)));
        }
        return None; // A terminating request blocks its successor.
    };
    for surplus in surplus {
        plan.push(HUB.delete(surplus));
    }
    if current.reference.uid != Uid::from(reference.uid.as_str()) {
        let spec = InternalServiceImportSpec { service_import_reference: reference };
        let body = json!({ "spec": to_json(&spec) });
        plan.push(HUB.replace(current, body).after(guarded));
    }
    Some(&current.object.status)
}

/// Withdraws the request of a ServiceImport whose MultiClusterService no longer holds it, or that is being deleted, and
/// deletes or releases the ServiceImport. One with another owner stays.
fn withdraw(state: &ServiceState<'_>, import: &Object<ServiceImport>, plan: &mut Plan) -> Import {
    let mut undone = withdraw_requests(state, plan);
    if !import.meta.is_terminating() {
        if state.import_owner().is_some() {
            plan.push(LOCAL.delete(import));
        }
        return Import::default();
    }
    let Some(release) = LOCAL.remove_finalizer(import, finalizers::SERVICE_IMPORT) else {
        return Import::default();
    };
    undone.extend(confirm_unasked(state, plan));
    let released = plan.push(release.after(undone));
    let gone = (import.meta.finalizers.len() == 1).then_some(released);
    Import { gone, ..Import::default() }
}

/// Withdraws the request where there is no ServiceImport.
fn unask(state: &ServiceState<'_>, plan: &mut Plan) -> Vec<StepId> {
    let mut undone = withdraw_requests(state, plan);
    // The check is needed only if a finalizer waits for it.
    if state
        .multi_cluster_services
        .iter()
        .any(|mcs| mcs.meta.has_finalizer(finalizers::MULTI_CLUSTER_SERVICE))
    {
        undone.extend(confirm_unasked(state, plan));
    }
    undone
}

/// Checks with the hub's API server that there is no request, if the snapshot has none.
fn confirm_unasked(state: &ServiceState<'_>, plan: &mut Plan) -> Option<StepId> {
    if !state.requests.is_empty() {
        return None;
    }
    let name = free_name(state)?;
    Some(plan.push(HUB.confirm_absent::<InternalServiceImport>(name)))
}

fn withdraw_requests(state: &ServiceState<'_>, plan: &mut Plan) -> Vec<StepId> {
    let live = state.requests.iter().filter(|request| !request.meta.is_terminating());
    live.map(|request| plan.push(HUB.delete(request))).collect()
}

fn create_import(state: &ServiceState<'_>, holder: &Mcs) -> Step {
    let body = json!({
        "metadata": {
            "finalizers": [finalizers::SERVICE_IMPORT],
            "ownerReferences": [to_json(&controller_reference(holder))],
        },
    });
    LOCAL.create::<ServiceImport>(state.service.clone(), body)
}

fn create_request(state: &ServiceState<'_>, reference: ExportedObjectReference) -> Option<Step> {
    let spec = InternalServiceImportSpec { service_import_reference: reference };
    let body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
        "spec": to_json(&spec),
    });
    Some(HUB.create::<InternalServiceImport>(free_name(state)?, body))
}

fn for_import(state: &ServiceState<'_>, import: &Object<ServiceImport>) -> ExportedObjectReference {
    let since = import.meta.created.unwrap_or(state.now);
    reference::export_of(&state.identity.cluster, import, import.meta.generation, since)
}

/// The reference where this cluster is also the hub, whose ServiceImport has that name. It has the uid of the
/// MultiClusterService: the hub agent reads the name, this agent the uid.
fn for_mcs(state: &ServiceState<'_>, mcs: &Mcs) -> ExportedObjectReference {
    let since = mcs.meta.created.unwrap_or(state.now);
    let service = state.service;
    ExportedObjectReference {
        api_version: Some(kinds::SERVICE_IMPORT.api_version()),
        kind: kinds::SERVICE_IMPORT.kind.to_owned(),
        name: service.name.to_string(),
        namespaced_name: service.to_string(),
        ..reference::export_of(&state.identity.cluster, mcs, mcs.meta.generation, since)
    }
}

fn free_name(state: &ServiceState<'_>) -> Option<ObjectName> {
    names::internal_import_candidates(state.service)
        .map(|name| ObjectName::new(state.identity.hub_namespace.as_str(), name))
        .find(|name| state.snapshot.internal_imports.get(name).is_none())
}
