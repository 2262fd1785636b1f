//! Which members import the Service.
//!
//! The claim is an annotation of the ServiceImport, as the Go agents know it. Any number of members
//! may hold it at once.

use std::collections::BTreeMap;

use fleet_api::{ServiceImportStatus, ServiceInUseBy, annotations, finalizers};
use fleet_model::records::InternalServiceImportRecord;
use fleet_model::steps::{HUB, add_finalizer, remove_finalizer, set_entries};
use fleet_runtime::plan::{Plan, Step, StepId};
use serde_json::Value;

use super::fleet::{Fleet, Owned};
use super::resolve::{Resolved, Verdict};

/// Namespaces of the members that hold the claim, each with the write that gives it to them in
/// this plan, if they did not have it before.
pub(super) type Importers<'a> = BTreeMap<&'a str, Option<StepId>>;

/// Brings the claim and the grants in line with the requests.
pub(super) fn claim<'a>(
    fleet: &Fleet<'a>,
    verdict: &Verdict<'_>,
    resolved: &Resolved<'a>,
    plan: &mut Plan,
) -> Importers<'a> {
    let held = holders(resolved);
    let live: Vec<_> = live_requests(fleet).collect();
    // Both writes go to the ServiceImport; the claim waits for the version that has the status.
    let claim_write = match resolved.status_write {
        None => write_claim(&live, resolved, &held, plan),
        Some(_) => None,
    };
    let mut importers = Importers::new();
    for request in live {
        let namespace: &str = &request.record.name.namespace;
        let held = held.member_clusters.contains_key(namespace);
        if !held && claim_write.is_none() {
            continue;
        }
        let gained = if held { None } else { claim_write };
        if let Some(step) = grant(request, verdict) {
            plan.push(step.after(resolved.status_write.into_iter().chain(gained)));
        }
        importers.insert(namespace, gained);
    }
    release_leaving(fleet, &held, claim_write, plan);
    importers
}

/// Requests that are not being withdrawn.
fn live_requests<'a>(
    fleet: &Fleet<'a>,
) -> impl Iterator<Item = Owned<'a, InternalServiceImportRecord>> {
    fleet.requests.iter().copied().filter(|request| !request.record.meta.is_terminating())
}

/// Who holds the claim now; what cannot be read is nobody's, and is rewritten from the requests.
fn holders(resolved: &Resolved<'_>) -> ServiceInUseBy {
    let text = resolved.import.meta.annotation(annotations::SERVICE_IN_USE_BY);
    ServiceInUseBy::parse(text).unwrap_or_default()
}

fn write_claim(
    live: &[Owned<'_, InternalServiceImportRecord>],
    resolved: &Resolved<'_>,
    held: &ServiceInUseBy,
    plan: &mut Plan,
) -> Option<StepId> {
    let wanted = ServiceInUseBy {
        member_clusters: live
            .iter()
            .map(|request| (request.record.name.namespace.to_string(), request.member.to_owned()))
            .collect(),
    };
    let operations = claim_operations(resolved, held, &wanted);
    if operations.is_empty() {
        return None;
    }
    let guards: Vec<_> = live.iter().filter_map(guard).map(|step| plan.push(step)).collect();
    Some(plan.push(HUB.patch(resolved.import, operations).after(guards)))
}

/// Annotation and finalizer change in one write; both go with the last importer.
fn claim_operations(
    resolved: &Resolved<'_>,
    held: &ServiceInUseBy,
    wanted: &ServiceInUseBy,
) -> Vec<Value> {
    let meta = &resolved.import.meta;
    if wanted.member_clusters.is_empty() {
        return unclaim_operations(meta);
    }
    let json = wanted.to_annotation();
    let mut operations = add_finalizer(meta, finalizers::SERVICE_IMPORT);
    if held != wanted {
        let entry = [(annotations::SERVICE_IN_USE_BY, Some(json.as_str()))];
        operations.extend(set_entries(meta, "annotations", &entry));
    }
    operations
}

/// Drops annotation and finalizer.
pub(super) fn unclaim_operations(meta: &fleet_accumulator::Meta) -> Vec<Value> {
    let mut operations =
        set_entries(meta, "annotations", &[(annotations::SERVICE_IN_USE_BY, None)]);
    operations.extend(remove_finalizer(meta, finalizers::SERVICE_IMPORT));
    operations
}

/// A request made by a Go member carries no finalizer of the hub yet; it gets one before the claim.
fn guard(request: &Owned<'_, InternalServiceImportRecord>) -> Option<Step> {
    let operations = add_finalizer(&request.record.meta, finalizers::INTERNAL_SERVICE_IMPORT);
    (!operations.is_empty()).then(|| HUB.patch(request.record, operations))
}

/// The grant is the status of the request: a copy of the ServiceImport's.
fn grant(request: Owned<'_, InternalServiceImportRecord>, verdict: &Verdict<'_>) -> Option<Step> {
    let wanted = verdict.status();
    (request.record.status != wanted).then(|| HUB.status(request.record, &wanted))
}

/// The status of a request without a grant.
pub(super) fn clear(request: Owned<'_, InternalServiceImportRecord>) -> Option<Step> {
    let granted = !request.record.status.is_empty();
    granted.then(|| HUB.status(request.record, &ServiceImportStatus::default()))
}

/// A request goes once its member no longer holds the claim.
fn release_leaving(
    fleet: &Fleet<'_>,
    held: &ServiceInUseBy,
    claim_write: Option<StepId>,
    plan: &mut Plan,
) {
    for request in fleet.requests.iter().filter(|request| request.record.meta.is_terminating()) {
        let holds = held.member_clusters.contains_key(&*request.record.name.namespace);
        if holds && claim_write.is_none() {
            continue;
        }
        if let Some(step) = release(request) {
            plan.push(step.after(claim_write));
        }
    }
}

/// Takes the hub's finalizer off a request.
pub(super) fn release(request: &Owned<'_, InternalServiceImportRecord>) -> Option<Step> {
    let operations = remove_finalizer(&request.record.meta, finalizers::INTERNAL_SERVICE_IMPORT);
    (!operations.is_empty()).then(|| HUB.patch(request.record, operations))
}
