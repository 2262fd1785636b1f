//! The ServiceImport and its status, and the condition `Conflict` of the exports.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::{ServiceImportStatus, events, finalizers};
use fleet_model::objects::ServiceImport;
use fleet_model::steps::HUB;
use fleet_plan::conditions::{Wanted, apply, find};
use fleet_plan::{Plan, Step, StepId, WAITING_STATUS_DELAY};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::conflict;
use super::rejection;
use super::resolution::PortResolution;
use super::state::{Export, ServiceState};

/// Writes of this plan that grants and copies of slices wait for.
#[derive(Debug)]
pub(super) struct StatusWrites<'a> {
    /// Write of the ServiceImport's status; `None` if the status is in force already.
    pub(super) import: Option<StepId>,
    /// Each accepted member.
    pub(super) accepted: BTreeMap<&'a str, Acceptance>,
}

/// How far an accepted member has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// The ServiceImport lists it; with the write of its export's condition, if any.
    Listed(Option<StepId>),
    /// Its export gets the hub's finalizer first. Importers keep what they have of it.
    Unlisted,
}

impl StatusWrites<'_> {
    /// Whether the ServiceImport lists a member.
    pub(super) fn lists(&self, member: &str) -> bool {
        matches!(self.accepted.get(member), Some(Acceptance::Listed(_)))
    }
}

/// Brings the status of the ServiceImport and the conditions of the exports in line with `resolution`.
pub(super) fn sync<'a>(
    state: &ServiceState<'_>,
    import: &Object<ServiceImport>,
    resolution: &PortResolution<'a>,
    now: Timestamp,
    plan: &mut Plan,
) -> StatusWrites<'a> {
    let guards = guard_exports(resolution, plan);
    let import_write = (*import.status != resolution.status)
        .then(|| plan.push(HUB.status(import, &resolution.status).after(guards).stage("resolve")));
    for export in resolution.yielding.iter().filter(|_| import_write.is_some()) {
        let note = conflict::yielded(state, export, resolution);
        plan.events.push(HUB.warning(export.object, events::PORTS_YIELDED, note));
    }
    let mut sync_export = |export: &Export<'_>, condition| {
        let step = condition_step(export, condition, now)?;
        Some(plan.push(step.after(import_write)))
    };
    let unlisted = resolution.accepted.iter().map(|export| (export.member, Acceptance::Unlisted));
    let mut accepted: BTreeMap<_, _> = unlisted.collect();
    for export in &resolution.listed {
        let condition = with_present_message(export, conflict::accepted(state));
        accepted.insert(export.member, Acceptance::Listed(sync_export(export, condition)));
    }
    for export in &resolution.conflicting {
        sync_export(export, conflict::rejected(state, export, resolution));
    }
    for step in release_exports(state) {
        plan.push(step.after(import_write));
    }
    StatusWrites { import: import_write, accepted }
}

/// Reports to exports that they do not count, and why.
pub(super) fn report_refused(state: &ServiceState<'_>, now: Timestamp, plan: &mut Plan) {
    for (export, refusal) in state.refused_exports() {
        let event = refusal.event(export.object, state.service);
        plan.steps.extend(rejection::condition(export.object, &event, now));
        plan.events.push(event);
    }
}

/// Creates the ServiceImport; the watch event of its creation plans the Service again.
pub(super) fn create_import(state: &ServiceState<'_>, plan: &mut Plan) {
    plan.push(HUB.create::<ServiceImport>(state.service.clone(), json!({})));
}

/// Reports to the exports that the hub has no namespace for the ServiceImport.
pub(super) fn report_namespace_missing(
    state: &ServiceState<'_>,
    resolution: &PortResolution<'_>,
    now: Timestamp,
    plan: &mut Plan,
) {
    for export in resolution.accepted.iter().chain(&resolution.conflicting) {
        if let Some(step) = condition_step(export, conflict::namespace_missing(state), now) {
            plan.debounce(WAITING_STATUS_DELAY, "namespace missing", step);
        }
    }
}

/// Deletes the ServiceImport. Returns the step after which it is gone, if this plan gets that far.
pub(super) fn withdraw(import: &Object<ServiceImport>, plan: &mut Plan) -> Option<StepId> {
    if import.meta.is_terminating() {
        return None;
    }
    let deleted = plan.push(HUB.delete(import));
    import.meta.finalizers.is_empty().then_some(deleted)
}

/// Releases exports that are being deleted from a ServiceImport that stays, since exporters may be absent. Their members may be about to
/// make them again, and the hub is not rebuilt before they have.
pub(super) fn unlist(state: &ServiceState<'_>, import: &Object<ServiceImport>, plan: &mut Plan) {
    let leaving: BTreeSet<_> = state.terminating_exports().map(|export| export.member).collect();
    let mut status = ServiceImportStatus::clone(&import.status);
    status.clusters.retain(|listed| !leaving.contains(listed.cluster.as_str()));
    let written =
        (status != *import.status).then(|| plan.push(HUB.status(import, &status).stage("resolve")));
    for step in release_exports(state) {
        plan.push(step.after(written));
    }
}

/// The removals of the hub's finalizer from exports that are being deleted. They have to wait until the
/// ServiceImport no longer lists the exports.
pub(super) fn release_exports(state: &ServiceState<'_>) -> impl Iterator<Item = Step> {
    let finalizer = finalizers::INTERNAL_SERVICE_EXPORT;
    state.terminating_exports().filter_map(|export| HUB.remove_finalizer(export.object, finalizer))
}

/// Adds the finalizer that exports of Go members lack, before the ServiceImport lists them. Returns what its status waits
/// for.
fn guard_exports(resolution: &PortResolution<'_>, plan: &mut Plan) -> Vec<StepId> {
    let guard =
        |export: &Export<'_>| HUB.add_finalizer(export.object, finalizers::INTERNAL_SERVICE_EXPORT);
    let exports = resolution.accepted.iter();
    let guards: Vec<_> = exports.filter_map(guard).map(|step| plan.push(step)).collect();
    if resolution.waits_for_guards { guards } else { Vec::new() }
}

/// Keeps the message of a Go hub if status and reason already match.
fn with_present_message(export: &Export<'_>, desired: Wanted) -> Wanted {
    let present = find(&export.object.conditions, desired.type_);
    let present = present.filter(|it| it.status == desired.status && it.reason == desired.reason);
    let message = present.map_or(desired.message, |present| present.message.clone());
    Wanted { message, ..desired }
}

/// Sets a condition of an export, unless it is set already.
fn condition_step(export: &Export<'_>, desired: Wanted, now: Timestamp) -> Option<Step> {
    let present = &export.object.conditions;
    let desired = Wanted { generation: export.object.meta.generation, ..desired };
    // The export was rejected once and has been corrected.
    let is_outdated = |condition: &Condition| {
        condition.type_ == conditions::VALID
            && reasons::EXPORT_REFUSED.contains(&condition.reason.as_str())
    };
    let applied = apply(present, [desired], now);
    if applied.is_none() && !present.iter().any(is_outdated) {
        return None;
    }
    let mut conditions = applied.unwrap_or_else(|| present.clone());
    conditions.retain(|condition| !is_outdated(condition));
    Some(HUB.status(export.object, &json!({ "conditions": conditions })))
}
