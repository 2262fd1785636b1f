//! The Service on its way to the hub: its InternalServiceExport.

use std::slice;

use fleet_accumulator::Object;
use fleet_api::v1alpha1::InternalServiceExportSpec;
use fleet_api::{ObjectName, ServicePort, conditions, finalizers, names};
use fleet_model::conditions::find;
use fleet_model::objects::{InternalServiceExport, Service};
use fleet_model::steps::{HUB, add, to_json};
use fleet_model::{ports, reference};
use fleet_runtime::plan::{Plan, Sample, Step, StepId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::slices::Verdict;
use super::stamp;
use super::subject::Subject;

/// Brings the hub's copy of the Service in line, and tells what the hub thinks of it.
pub(super) fn sync(subject: &Subject<'_>, guarded: Option<StepId>, plan: &mut Plan) -> Verdict {
    let Some(service) = subject.exported() else { return Verdict::Undecided };
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
    plan.steps.extend(update(subject, current, service).map(|step| step.after(guarded)));
    match find(&current.conditions, conditions::CONFLICT) {
        Some(conflict) if conflict.status == conditions::FALSE => Verdict::Accepted,
        Some(conflict) if conflict.status == conditions::TRUE => Verdict::Refused,
        _ => Verdict::Undecided,
    }
}

/// The hub's verdict on the Service as it is exported now.
pub(super) fn conflict<'a>(
    subject: &Subject<'a>,
) -> Option<(&'a Object<InternalServiceExport>, &'a Condition)> {
    let current = current(subject, subject.exported()?)?;
    Some((current, find(&current.object.conditions, conditions::CONFLICT)?))
}

/// Deletes every export of this Service that is not going already.
pub(super) fn withdraw(subject: &Subject<'_>, plan: &mut Plan) -> Vec<StepId> {
    let live = subject.internal_exports.iter().filter(|export| !export.meta.is_terminating());
    live.map(|export| plan.push(HUB.delete(export))).collect()
}

/// Whether other objects have every name that this Service's export could have.
pub(super) fn is_crowded_out(subject: &Subject<'_>) -> bool {
    subject.internal_exports.is_empty() && free_name(subject).is_none()
}

/// Asks the hub whether really nothing lies where this Service would be exported to.
pub(super) fn confirm_absent(subject: &Subject<'_>, plan: &mut Plan) -> Option<StepId> {
    let name = free_name(subject)?;
    Some(plan.push(HUB.confirm_absent::<InternalServiceExport>(name)))
}

/// The export of this very Service, under whatever name.
pub(super) fn current<'a>(
    subject: &Subject<'a>,
    service: &Object<Service>,
) -> Option<&'a Object<InternalServiceExport>> {
    subject
        .internal_exports
        .iter()
        .copied()
        .find(|export| !export.meta.is_terminating() && export.reference.uid == service.uid)
}

fn create(subject: &Subject<'_>, service: &Object<Service>) -> Option<Step> {
    let spec = spec(subject, service, subject.now);
    let body = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": to_json(&spec),
    });
    Some(HUB.create::<InternalServiceExport>(free_name(subject)?, body))
}

/// The object is shared with the hub, so only our part of it is patched.
///
/// Other changes of the Service (its status, a label) export nothing else and are not sent.
fn update(
    subject: &Subject<'_>,
    current: &Object<InternalServiceExport>,
    service: &Object<Service>,
) -> Option<Step> {
    let same_ports = same_in_order(&current.ports, &service.ports);
    let seen = &current.reference;
    if same_ports && seen.refers(&subject.identity.cluster, service) {
        return None;
    }
    // The same ports, repaired, are exported since they were first.
    let since = stamp::since(seen.exported_since.as_ref(), same_ports, subject.now);
    let spec = spec(subject, service, since);
    let operations = vec![
        add(&["spec", "ports"], to_json(&spec.ports)),
        add(&["spec", "serviceReference"], to_json(&spec.service_reference)),
    ];
    let sample = (!same_ports && told(subject)).then(|| sample(subject, since));
    Some(HUB.patch(current, operations).sample(sample))
}

/// A Go hub takes the same ports in another order for other ports, so the order is exported too.
fn same_in_order(exported: &[ServicePort], wanted: &[ServicePort]) -> bool {
    let same = |(a, b)| ports::same(slice::from_ref(a), slice::from_ref(b));
    exported.len() == wanted.len() && exported.iter().zip(wanted).all(same)
}

/// Whether the user has read a verdict of the hub.
fn told(subject: &Subject<'_>) -> bool {
    let conflict = subject.export.and_then(|export| find(&export.conditions, conditions::CONFLICT));
    conflict.is_some_and(|conflict| conflict.status != conditions::UNKNOWN)
}

/// Measures an export that was seen at `since`.
pub(super) fn sample(subject: &Subject<'_>, since: Timestamp) -> Sample {
    Sample { origin: subject.identity.cluster.clone(), since, first: true, once: None }
}

fn spec(
    subject: &Subject<'_>,
    service: &Object<Service>,
    since: Timestamp,
) -> InternalServiceExportSpec {
    let cluster = &subject.identity.cluster;
    let generation = service.meta.generation;
    InternalServiceExportSpec {
        ports: service.ports.clone(),
        service_reference: reference::export_of(cluster, service, generation, since),
        ..InternalServiceExportSpec::default()
    }
}

/// The first name on the hub that nothing has.
fn free_name(subject: &Subject<'_>) -> Option<ObjectName> {
    names::internal_export_candidates(subject.name)
        .map(|name| subject.on_hub(&name))
        .find(|name| subject.snapshot.internal_exports.get(name).is_none())
}
