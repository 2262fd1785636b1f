//! The Service on its way to the hub: its InternalServiceExport.

use fleet_accumulator::Record;
use fleet_api::v1alpha1::InternalServiceExportSpec;
use fleet_api::{ObjectName, conditions, finalizers, names};
use fleet_model::conditions::find;
use fleet_model::records::{InternalServiceExportRecord, ServiceRecord};
use fleet_model::reference;
use fleet_model::steps::{HUB, add, to_json};
use fleet_runtime::plan::{Plan, Step, StepId};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::slices::Verdict;
use super::subject::{Eligibility, Subject};

/// Brings the hub's copy of the Service in line, and tells what the hub thinks of it.
pub(super) fn sync(subject: &Subject<'_>, guarded: Option<StepId>, plan: &mut Plan) -> Verdict {
    let Eligibility::Exportable(service) = subject.eligibility() else {
        return Verdict::Undecided;
    };
    let Some(current) = current(subject, service) else {
        // What is there belongs to an earlier Service of the name, and blocks its successor.
        withdraw(subject, plan);
        if subject.internal_exports.is_empty() {
            plan.steps.extend(create(subject, service).map(|step| step.after(guarded)));
        }
        return Verdict::Undecided;
    };
    for extra in subject.internal_exports.iter().filter(|other| other.uid != current.uid) {
        if !extra.meta.is_terminating() {
            plan.push(HUB.delete(extra));
        }
    }
    if current.spec.ports != service.ports {
        plan.push(update(subject, current, service).after(guarded));
    }
    match find(&current.conditions, conditions::CONFLICT) {
        Some(conflict) if conflict.status == conditions::FALSE => Verdict::Accepted,
        Some(conflict) if conflict.status == conditions::TRUE => Verdict::Refused,
        _ => Verdict::Undecided,
    }
}

/// The hub's verdict on the Service as it is exported now.
pub(super) fn conflict<'a>(
    subject: &Subject<'a>,
) -> Option<(&'a Record<InternalServiceExportRecord>, &'a Condition)> {
    let Eligibility::Exportable(service) = subject.eligibility() else { return None };
    let current = current(subject, service)?;
    Some((current, find(&current.object.conditions, conditions::CONFLICT)?))
}

/// Deletes every export of this Service that is not going already.
pub(super) fn withdraw(subject: &Subject<'_>, plan: &mut Plan) -> Vec<StepId> {
    let live = subject.internal_exports.iter().filter(|export| !export.meta.is_terminating());
    live.map(|export| plan.push(HUB.delete(export))).collect()
}

/// Asks the hub whether really nothing lies where this Service would be exported to.
pub(super) fn confirm_absent(subject: &Subject<'_>, plan: &mut Plan) -> Option<StepId> {
    let name = free_name(subject)?;
    Some(plan.push(HUB.confirm_absent::<InternalServiceExportRecord>(name)))
}

/// The export of this very Service, under whatever name.
fn current<'a>(
    subject: &Subject<'a>,
    service: &Record<ServiceRecord>,
) -> Option<&'a Record<InternalServiceExportRecord>> {
    let uid = service.uid.to_string();
    subject
        .internal_exports
        .iter()
        .copied()
        .find(|export| !export.meta.is_terminating() && export.spec.service_reference.uid == uid)
}

fn create(subject: &Subject<'_>, service: &Record<ServiceRecord>) -> Option<Step> {
    let spec = spec(subject, service);
    let body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": to_json(&spec),
    });
    Some(HUB.create::<InternalServiceExportRecord>(free_name(subject)?, body))
}

/// The object is shared with the hub, so only our part of it is patched.
fn update(
    subject: &Subject<'_>,
    current: &Record<InternalServiceExportRecord>,
    service: &Record<ServiceRecord>,
) -> Step {
    let spec = spec(subject, service);
    let operations = vec![
        add(&["spec", "ports"], to_json(&spec.ports)),
        add(&["spec", "serviceReference"], to_json(&spec.service_reference)),
    ];
    HUB.patch(current, operations)
}

fn spec(subject: &Subject<'_>, service: &Record<ServiceRecord>) -> InternalServiceExportSpec {
    let cluster = &subject.identity.cluster;
    let generation = service.meta.generation;
    InternalServiceExportSpec {
        ports: service.ports.clone(),
        service_reference: reference::export_of(cluster, service, generation, subject.now),
        ..InternalServiceExportSpec::default()
    }
}

fn free_name(subject: &Subject<'_>) -> Option<ObjectName> {
    names::internal_export_candidates(subject.name)
        .map(|name| subject.on_hub(&name))
        .find(|name| subject.snapshot.internal_exports.get(name).is_none())
}
