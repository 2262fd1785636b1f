//! The ServiceImport of the holder, and the request for it on the hub.

use fleet_accumulator::{Object, Uid};
use fleet_api::v1alpha1::InternalServiceImportSpec;
use fleet_api::{
    ExportedObjectReference, ObjectName, ServiceImportStatus, finalizers, kinds, names,
};
use fleet_model::objects::{InternalServiceImport, ServiceImport};
use fleet_model::reference;
use fleet_model::steps::{
    HUB, LOCAL, add, add_finalizer, controller_reference, remove_finalizer, to_json,
};
use fleet_runtime::plan::{Plan, Step, StepId};
use serde_json::{Value, json};

use super::subject::{Subject, Wish};
use super::wish::Prepared;

/// What has become of the import.
#[derive(Debug, Default)]
pub(super) struct Import {
    /// What the hub granted; `None` while nothing is granted.
    pub(super) granted: Option<ServiceImportStatus>,
    /// The write of this plan after which the ServiceImport does not exist any more.
    pub(super) gone: Option<StepId>,
    /// Steps of this plan after which the hub is not asked any more, where no ServiceImport is held
    /// until then.
    pub(super) unasked: Vec<StepId>,
}

/// Brings ServiceImport and request in line with the wish of the holder, if there is one.
pub(super) fn sync(
    subject: &Subject<'_>,
    holder: Option<&Wish>,
    prepared: Option<&Prepared>,
    plan: &mut Plan,
) -> Import {
    match (subject.import, holder) {
        (None, Some(holder)) if subject.in_hub => {
            let guarded = prepared.and_then(|prepared| prepared.write);
            let answer = ask(subject, for_wish(subject, holder), guarded, plan);
            let granted = answer.filter(|answer| answer.is_resolved()).cloned();
            Import { granted, ..Import::default() }
        }
        (None, None) if subject.in_hub => {
            Import { unasked: unask(subject, plan), ..Import::default() }
        }
        (None, Some(holder)) => {
            let after = prepared.and_then(|prepared| prepared.write);
            plan.push(create_import(subject, holder).after(after));
            withdraw_requests(subject, plan);
            Import::default()
        }
        (Some(import), Some(holder)) if !import.meta.is_terminating() => {
            request(subject, holder, import, plan)
        }
        (Some(import), _) => withdraw(subject, import, plan),
        (None, None) => {
            withdraw_requests(subject, plan);
            Import::default()
        }
    }
}

/// The import's finalizer is set before the request (design rule 1).
fn request(
    subject: &Subject<'_>,
    holder: &Wish,
    import: &Object<ServiceImport>,
    plan: &mut Plan,
) -> Import {
    let mut operations = add_finalizer(&import.meta, finalizers::SERVICE_IMPORT);
    operations.extend(restore_owner(import, holder));
    let guarded = (!operations.is_empty()).then(|| plan.push(LOCAL.patch(import, operations)));
    let Some(answer) = ask(subject, for_import(subject, import), guarded, plan) else {
        return Import::default();
    };
    if guarded.is_none() && *import.status != *answer {
        plan.push(LOCAL.status(import, answer));
    }
    let granted = Some(answer).filter(|answer| answer.is_resolved()).cloned();
    Import { granted, ..Import::default() }
}

/// Makes the holder the controller again of an import that somebody took from it.
fn restore_owner(import: &Object<ServiceImport>, holder: &Wish) -> Option<Value> {
    let meta = &import.object.meta;
    if meta.controller_owner().is_some() {
        return None;
    }
    let others = meta.owners.iter().filter(|owner| holder.uid != Uid::from(owner.uid.as_str()));
    let owners: Vec<_> = others.cloned().chain([controller_reference(holder)]).collect();
    Some(add(&["metadata", "ownerReferences"], to_json(&owners)))
}

/// Asks the hub for the Service in the name of the object that `reference` names, once it is
/// `guarded` by its finalizer. Returns the answer, if there is a request that can have one.
fn ask<'a>(
    subject: &Subject<'a>,
    reference: ExportedObjectReference,
    guarded: Option<StepId>,
    plan: &mut Plan,
) -> Option<&'a ServiceImportStatus> {
    let mut live = subject.requests.iter().filter(|request| !request.meta.is_terminating());
    let Some(current) = live.next() else {
        if subject.requests.is_empty() {
            plan.steps.extend(create_request(subject, reference).map(|step| step.after(guarded)));
        }
        return None; // A terminating request blocks its successor.
    };
    for surplus in live {
        plan.push(HUB.delete(surplus));
    }
    if current.reference.uid != Uid::from(reference.uid.as_str()) {
        let spec = InternalServiceImportSpec { service_import_reference: reference };
        let body = json!({ "spec": to_json(&spec) });
        plan.push(HUB.replace(current, body).after(guarded));
    }
    Some(&current.object.status)
}

/// The import belongs to a MultiClusterService that let go of it, or is being deleted, or is none
/// of ours: then it stays, and nothing is asked of the hub for it.
fn withdraw(subject: &Subject<'_>, import: &Object<ServiceImport>, plan: &mut Plan) -> Import {
    let mut undone = withdraw_requests(subject, plan);
    if !import.meta.is_terminating() {
        if subject.import_owner().is_some() {
            plan.push(LOCAL.delete(import));
        }
        return Import::default();
    }
    let operations = remove_finalizer(&import.meta, finalizers::SERVICE_IMPORT);
    if operations.is_empty() {
        return Import::default();
    }
    undone.extend(confirm_unasked(subject, plan));
    let released = plan.push(LOCAL.patch(import, operations).after(undone));
    let gone = (import.meta.finalizers.len() == 1).then_some(released);
    Import { gone, ..Import::default() }
}

/// Takes the request back that no ServiceImport stands for.
fn unask(subject: &Subject<'_>, plan: &mut Plan) -> Vec<StepId> {
    let mut undone = withdraw_requests(subject, plan);
    // Only for those who wait for it.
    if subject.wishes.iter().any(|wish| wish.meta.has_finalizer(finalizers::MULTI_CLUSTER_SERVICE))
    {
        undone.extend(confirm_unasked(subject, plan));
    }
    undone
}

/// The view says that the hub is not asked for the Service; the hub has to agree.
fn confirm_unasked(subject: &Subject<'_>, plan: &mut Plan) -> Option<StepId> {
    if !subject.requests.is_empty() {
        return None;
    }
    let name = free_name(subject)?;
    Some(plan.push(HUB.confirm_absent::<InternalServiceImport>(name)))
}

fn withdraw_requests(subject: &Subject<'_>, plan: &mut Plan) -> Vec<StepId> {
    let live = subject.requests.iter().filter(|request| !request.meta.is_terminating());
    live.map(|request| plan.push(HUB.delete(request))).collect()
}

fn create_import(subject: &Subject<'_>, holder: &Wish) -> Step {
    let body = json!({
        "metadata": {
            "finalizers": [finalizers::SERVICE_IMPORT],
            "ownerReferences": [to_json(&controller_reference(holder))],
        },
    });
    LOCAL.create::<ServiceImport>(subject.service.clone(), body)
}

fn create_request(subject: &Subject<'_>, reference: ExportedObjectReference) -> Option<Step> {
    let spec = InternalServiceImportSpec { service_import_reference: reference };
    let body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
        "spec": to_json(&spec),
    });
    Some(HUB.create::<InternalServiceImport>(free_name(subject)?, body))
}

fn for_import(subject: &Subject<'_>, import: &Object<ServiceImport>) -> ExportedObjectReference {
    let since = import.meta.created.unwrap_or(subject.now);
    reference::export_of(&subject.identity.cluster, import, import.meta.generation, since)
}

/// In the hub's own cluster the ServiceImport of that name is the hub's. The MultiClusterService
/// stands in its place: the hub reads the name and this member the uid.
fn for_wish(subject: &Subject<'_>, wish: &Wish) -> ExportedObjectReference {
    let since = wish.meta.created.unwrap_or(subject.now);
    let service = subject.service;
    ExportedObjectReference {
        api_version: Some(kinds::SERVICE_IMPORT.api_version()),
        kind: kinds::SERVICE_IMPORT.kind.to_owned(),
        name: service.name.to_string(),
        namespaced_name: service.to_string(),
        ..reference::export_of(&subject.identity.cluster, wish, wish.meta.generation, since)
    }
}

fn free_name(subject: &Subject<'_>) -> Option<ObjectName> {
    names::internal_import_candidates(subject.service)
        .map(|name| ObjectName::new(subject.identity.hub_namespace.as_str(), name))
        .find(|name| subject.snapshot.internal_imports.get(name).is_none())
}
