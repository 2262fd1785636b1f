//! Which exports form the Service, and with which ports.

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::{ClusterStatus, ServiceImportStatus, ServiceImportType, ServicePort, finalizers};
use fleet_model::objects::{InternalServiceExport, ServiceImport};
use fleet_model::ports;
use fleet_model::steps::HUB;
use fleet_plan::conditions::{Wanted, apply, find};
use fleet_plan::json_patch::{add_finalizer, remove_finalizer};
use fleet_plan::{Plan, Step, StepId, WAITING_STATUS_DELAY};
use jiff::Timestamp;
use serde_json::json;

use super::conflict;
use super::state::{Owned, ServiceState};
use super::withdraw;

/// An export, and whose it is.
pub type Export<'a> = Owned<'a, InternalServiceExport>;

/// The decision: whose ports are in force, and who has them.
#[derive(Debug)]
pub struct PortResolution<'a> {
    /// Ports in force.
    pub ports: &'a [ServicePort],
    /// Oldest export that has them.
    pub winner: Export<'a>,
    /// Live exports with these ports, oldest first.
    pub accepted: Vec<Export<'a>>,
    /// Live exports with other ports.
    pub conflicting: Vec<Export<'a>>,
    /// What the ServiceImport is to say.
    pub status: ServiceImportStatus,
}

/// Decides; `None` where nobody exports the Service.
///
/// The ports in force stay as long as a live export has them; otherwise the oldest export decides
/// (docs/design/rules.md#conflicts).
pub fn resolve<'a>(state: &ServiceState<'a>) -> Option<PortResolution<'a>> {
    let in_force = state.import.map(|import| import.object.status.ports.as_slice());
    let in_force = in_force.filter(|ports| !ports.is_empty());
    let has = |export: &Export<'a>, wanted| ports::same(&export.object.ports, wanted);
    let kept = in_force.filter(|ports| state.live_exports().any(|export| has(&export, ports)));
    let oldest = state.live_exports().next()?;
    let ports = kept.unwrap_or(&oldest.object.ports);
    let (accepted, conflicting): (Vec<_>, Vec<_>) =
        state.live_exports().partition(|export| has(export, ports));
    let status = status(state, ports, &accepted);
    Some(PortResolution { ports, winner: *accepted.first()?, accepted, conflicting, status })
}

/// Clusters that are listed already keep their places, as with the Go hub: taking over from one
/// changes nothing.
fn status(
    state: &ServiceState<'_>,
    ports: &[ServicePort],
    accepted: &[Export<'_>],
) -> ServiceImportStatus {
    let listed = state.import.map(|import| import.object.status.clusters.as_slice());
    let place = |member: &str| {
        listed.unwrap_or_default().iter().position(|listed| listed.cluster == member)
    };
    let mut clusters: Vec<_> = accepted.iter().map(|export| export.member).collect();
    clusters.sort_by_key(|member| (place(member).unwrap_or(usize::MAX), *member));
    let clusters =
        clusters.into_iter().map(|cluster| ClusterStatus { cluster: cluster.to_owned() });
    ServiceImportStatus {
        type_: Some(ServiceImportType::ClusterSetIP),
        ports: ports.to_vec(),
        clusters: clusters.collect(),
        ..ServiceImportStatus::default()
    }
}

/// A ServiceImport that exists, and what must have been written before its status is in force.
#[derive(Debug)]
pub(super) struct Resolved<'a> {
    pub(super) import: &'a Object<ServiceImport>,
    /// Write of the status in this plan, if it was not in force before.
    pub(super) status_write: Option<StepId>,
    /// Accepted members, each with the write of its verdict in this plan, if any.
    pub(super) accepted: Vec<(&'a str, Option<StepId>)>,
}

/// Brings the ServiceImport and the exports' verdicts in line.
pub(super) fn sync<'a>(
    state: &ServiceState<'a>,
    import: &'a Object<ServiceImport>,
    resolution: &PortResolution<'a>,
    now: Timestamp,
    plan: &mut Plan,
) -> Resolved<'a> {
    let guards = guard_exports(resolution, plan);
    let status_write = (*import.status != resolution.status)
        .then(|| plan.push(HUB.status(import, &resolution.status).after(guards).stage("resolve")));
    let accepted = resolution
        .accepted
        .iter()
        .map(|export| {
            let wanted = as_worded(export, conflict::accepted(state));
            (export.member, judge(export, wanted, status_write, now, plan))
        })
        .collect();
    for export in &resolution.conflicting {
        judge(export, conflict::refused(state, export, resolution), status_write, now, plan);
    }
    release_leaving(state, status_write, plan);
    Resolved { import, status_write, accepted }
}

/// Makes the ServiceImport; its arrival plans the Service again.
pub(super) fn create_import(state: &ServiceState<'_>, plan: &mut Plan) {
    withdraw::release_leaving(state, plan);
    plan.push(HUB.create::<ServiceImport>(state.service.clone(), json!({})));
}

/// The hub has no namespace for the ServiceImport: tells the exports.
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

/// An export made by a Go member carries no finalizer of the hub yet; it gets one before it counts.
fn guard_exports(resolution: &PortResolution<'_>, plan: &mut Plan) -> Vec<StepId> {
    let guard = |export: &Export<'_>| {
        let operations = add_finalizer(&export.object.meta, finalizers::INTERNAL_SERVICE_EXPORT);
        (!operations.is_empty()).then(|| HUB.patch(export.object, operations))
    };
    resolution.accepted.iter().filter_map(guard).map(|step| plan.push(step)).collect()
}

/// The ports are withdrawn from the ServiceImport; only then the export may go.
fn release_leaving(state: &ServiceState<'_>, status_write: Option<StepId>, plan: &mut Plan) {
    let leaving = state.exports.iter().filter(|export| export.object.meta.is_terminating());
    for export in leaving {
        if let Some(step) = release(export) {
            plan.push(step.after(status_write));
        }
    }
}

/// Takes the hub's finalizer off an export.
pub(super) fn release(export: &Export<'_>) -> Option<Step> {
    let operations = remove_finalizer(&export.object.meta, finalizers::INTERNAL_SERVICE_EXPORT);
    (!operations.is_empty()).then(|| HUB.patch(export.object, operations))
}

/// Writes the verdict on one export, if it does not stand there yet.
fn judge(
    export: &Export<'_>,
    wanted: Wanted,
    after: Option<StepId>,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<StepId> {
    Some(plan.push(condition_step(export, wanted, now)?.after(after)))
}

/// Good news need no particular words: those of the Go hub stay.
fn as_worded(export: &Export<'_>, wanted: Wanted) -> Wanted {
    let told = find(&export.object.conditions, wanted.type_);
    let told = told.filter(|told| told.status == wanted.status && told.reason == wanted.reason);
    let message = told.map_or(wanted.message, |told| told.message.clone());
    Wanted { message, ..wanted }
}

fn condition_step(export: &Export<'_>, wanted: Wanted, now: Timestamp) -> Option<Step> {
    let told = &export.object.conditions;
    let wanted = Wanted { generation: export.object.meta.generation, ..wanted };
    let mut conditions = apply(told, [wanted], now).unwrap_or_else(|| told.clone());
    // It was refused once, and has been corrected.
    conditions.retain(|told| {
        (told.type_.as_str(), told.reason.as_str())
            != (conditions::VALID, reasons::REFERENCE_REFUSED)
    });
    (conditions != *told).then(|| HUB.status(export.object, &json!({ "conditions": conditions })))
}
