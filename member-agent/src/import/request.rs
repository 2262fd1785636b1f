//! The ServiceImport of the holder, and the request for it on the hub.

use fleet_accumulator::Record;
use fleet_api::v1alpha1::InternalServiceImportSpec;
use fleet_api::{ObjectName, ServiceImportStatus, finalizers, names};
use fleet_model::records::{InternalServiceImportRecord, ServiceImportRecord};
use fleet_model::reference;
use fleet_model::steps::{
    HUB, LOCAL, add_finalizer, controller_reference, remove_finalizer, to_json,
};
use fleet_runtime::plan::{Plan, Step, StepId};
use serde_json::json;

use super::subject::{Subject, Wish};
use super::wish::Prepared;

/// What has become of the import.
#[derive(Debug, Default)]
pub(super) struct Import {
    /// What the hub granted; `None` while nothing is granted.
    pub(super) granted: Option<ServiceImportStatus>,
    /// The write of this plan after which the ServiceImport does not exist any more.
    pub(super) gone: Option<StepId>,
}

/// Brings ServiceImport and request in line with the wish of the holder, if there is one.
pub(super) fn sync(
    subject: &Subject<'_>,
    holder: Option<&Wish>,
    prepared: Option<&Prepared>,
    plan: &mut Plan,
) -> Import {
    match (subject.import, holder) {
        (None, Some(holder)) => {
            let after = prepared.and_then(|prepared| prepared.write);
            plan.push(create_import(subject, holder).after(after));
            withdraw_requests(subject, plan);
            Import::default()
        }
        (Some(import), Some(_)) if !import.meta.is_terminating() => request(subject, import, plan),
        (Some(import), _) => withdraw(subject, import, plan),
        (None, None) => {
            withdraw_requests(subject, plan);
            Import::default()
        }
    }
}

/// The import's finalizer is set before the request (design rule 1).
fn request(subject: &Subject<'_>, import: &Record<ServiceImportRecord>, plan: &mut Plan) -> Import {
    let operations = add_finalizer(&import.meta, finalizers::SERVICE_IMPORT);
    let guarded = (!operations.is_empty()).then(|| plan.push(LOCAL.patch(import, operations)));
    let uid = import.uid.to_string();
    let mut live = subject.requests.iter().filter(|request| !request.meta.is_terminating());
    let Some(current) = live.next() else {
        if subject.requests.is_empty() {
            plan.steps.extend(create_request(subject, import).map(|step| step.after(guarded)));
        }
        return Import::default(); // A terminating request blocks its successor.
    };
    for surplus in live {
        plan.push(HUB.delete(surplus));
    }
    if current.spec.service_import_reference.uid != uid {
        let body = json!({ "spec": to_json(&spec(subject, import)) });
        plan.push(HUB.replace(current, body).after(guarded));
    }
    if guarded.is_none() && import.status != current.status {
        plan.push(LOCAL.status(import, &current.status));
    }
    let granted = Some(current.status.clone()).filter(ServiceImportStatus::is_resolved);
    Import { granted, gone: None }
}

/// The import belongs to a MultiClusterService that let go of it, or is being deleted, or is none
/// of ours: then it stays, and nothing is asked of the hub for it.
fn withdraw(
    subject: &Subject<'_>,
    import: &Record<ServiceImportRecord>,
    plan: &mut Plan,
) -> Import {
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
    if subject.requests.is_empty() {
        let name = free_name(subject);
        undone.extend(
            name.map(|name| plan.push(HUB.confirm_absent::<InternalServiceImportRecord>(name))),
        );
    }
    let released = plan.push(LOCAL.patch(import, operations).after(undone));
    let gone = (import.meta.finalizers.len() == 1).then_some(released);
    Import { granted: None, gone }
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
    LOCAL.create::<ServiceImportRecord>(subject.service.clone(), body)
}

fn create_request(subject: &Subject<'_>, import: &Record<ServiceImportRecord>) -> Option<Step> {
    let body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
        "spec": to_json(&spec(subject, import)),
    });
    Some(HUB.create::<InternalServiceImportRecord>(free_name(subject)?, body))
}

fn spec(subject: &Subject<'_>, import: &Record<ServiceImportRecord>) -> InternalServiceImportSpec {
    let since = import.meta.created.unwrap_or(subject.now);
    let (cluster, generation) = (&subject.identity.cluster, import.meta.generation);
    InternalServiceImportSpec {
        service_import_reference: reference::export_of(cluster, import, generation, since),
    }
}

fn free_name(subject: &Subject<'_>) -> Option<ObjectName> {
    names::internal_import_candidates(subject.service)
        .map(|name| ObjectName::new(subject.identity.hub_namespace.as_str(), name))
        .find(|name| subject.snapshot.internal_imports.get(name).is_none())
}
