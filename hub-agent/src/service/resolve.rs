//! Which exports form the Service, and with which ports.

use std::time::Duration;

use fleet_accumulator::Record;
use fleet_api::conditions::{self, reasons};
use fleet_api::{ClusterStatus, ServiceImportStatus, ServiceImportType, ServicePort, finalizers};
use fleet_model::conditions::{Wanted, apply};
use fleet_model::ports;
use fleet_model::records::{InternalServiceExportRecord, ServiceImportRecord};
use fleet_model::steps::{HUB, add_finalizer, remove_finalizer};
use fleet_runtime::plan::{Plan, Step, StepId};
use jiff::Timestamp;
use serde_json::json;

use super::fleet::{Fleet, Owned};
use super::withdraw;

/// "Waiting" is written only after it has lasted this long (design 3a).
pub(super) const PATIENCE: Duration = Duration::from_millis(500);

/// The decision: whose ports are in force, and who has them.
#[derive(Debug)]
pub(super) struct Verdict<'a> {
    /// Ports in force.
    pub(super) ports: &'a [ServicePort],
    /// Oldest exporter that has them.
    pub(super) winner: &'a str,
    /// Live exports with these ports, oldest first.
    pub(super) accepted: Vec<Owned<'a, InternalServiceExportRecord>>,
    /// Live exports with other ports.
    pub(super) conflicting: Vec<Owned<'a, InternalServiceExportRecord>>,
}

impl Verdict<'_> {
    /// What the ServiceImport says.
    pub(super) fn status(&self) -> ServiceImportStatus {
        let mut clusters: Vec<_> = self.accepted.iter().map(|export| export.member).collect();
        clusters.sort_unstable();
        ServiceImportStatus {
            type_: Some(ServiceImportType::ClusterSetIP),
            ports: self.ports.to_vec(),
            clusters: clusters
                .into_iter()
                .map(|cluster| ClusterStatus { cluster: cluster.to_owned() })
                .collect(),
            ..ServiceImportStatus::default()
        }
    }
}

/// Decides; `None` where nobody exports the Service.
///
/// The ports in force stay as long as a live export has them; otherwise the oldest export decides
/// (design rule 13).
pub(super) fn verdict<'a>(fleet: &Fleet<'a>) -> Option<Verdict<'a>> {
    let in_force = fleet.import.map(|import| import.object.status.ports.as_slice());
    let in_force = in_force.filter(|ports| !ports.is_empty());
    let has = |export: &Owned<'a, InternalServiceExportRecord>, wanted: &[ServicePort]| {
        ports::same(&export.record.spec.ports, wanted)
    };
    let kept = in_force.filter(|ports| fleet.live_exports().any(|export| has(&export, ports)));
    let oldest = fleet.live_exports().next()?;
    let ports = kept.unwrap_or(&oldest.record.object.spec.ports);
    let (accepted, conflicting): (Vec<_>, Vec<_>) =
        fleet.live_exports().partition(|export| has(export, ports));
    Some(Verdict { ports, winner: accepted.first()?.member, accepted, conflicting })
}

/// A ServiceImport that exists, and what must have been written before its status is in force.
#[derive(Debug)]
pub(super) struct Resolved<'a> {
    pub(super) import: &'a Record<ServiceImportRecord>,
    /// Write of the status in this plan, if it was not in force before.
    pub(super) status_write: Option<StepId>,
    /// Accepted members, each with the write of its verdict in this plan, if any.
    pub(super) accepted: Vec<(&'a str, Option<StepId>)>,
}

/// Brings the ServiceImport and the exports' verdicts in line. `None` until the ServiceImport
/// exists.
pub(super) fn resolve<'a>(
    fleet: &Fleet<'a>,
    verdict: &Verdict<'a>,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<Resolved<'a>> {
    let Some(import) = fleet.import else {
        withdraw::release_leaving(fleet, plan);
        create_import(fleet, verdict, now, plan);
        return None;
    };
    let guards = guard_exports(verdict, plan);
    let wanted = verdict.status();
    let status_write = (import.status != wanted)
        .then(|| plan.push(HUB.status(import, &wanted).after(guards.clone()).stage("resolve")));
    let accepted = verdict
        .accepted
        .iter()
        .map(|export| (export.member, judge(export, accepted_text(fleet), status_write, now, plan)))
        .collect();
    for export in &verdict.conflicting {
        judge(export, conflict_text(fleet, verdict), status_write, now, plan);
    }
    release_leaving(fleet, status_write, plan);
    Some(Resolved { import, status_write, accepted })
}

fn create_import(fleet: &Fleet<'_>, verdict: &Verdict<'_>, now: Timestamp, plan: &mut Plan) {
    if fleet.takes_objects(&fleet.service.namespace) {
        plan.push(HUB.create::<ServiceImportRecord>(fleet.service.clone(), json!({})));
        return;
    }
    for export in verdict.accepted.iter().chain(&verdict.conflicting) {
        if let Some(step) = verdict_step(export, namespace_text(fleet), now) {
            plan.push_later(PATIENCE, "namespace missing", step);
        }
    }
}

/// An export made by a Go member carries no finalizer of the hub yet; it gets one before it counts.
fn guard_exports(verdict: &Verdict<'_>, plan: &mut Plan) -> Vec<StepId> {
    let guard = |export: &Owned<'_, InternalServiceExportRecord>| {
        let operations = add_finalizer(&export.record.meta, finalizers::INTERNAL_SERVICE_EXPORT);
        (!operations.is_empty()).then(|| HUB.patch(export.record, operations))
    };
    verdict.accepted.iter().filter_map(guard).map(|step| plan.push(step)).collect()
}

/// The ports are withdrawn from the ServiceImport; only then the export may go.
fn release_leaving(fleet: &Fleet<'_>, status_write: Option<StepId>, plan: &mut Plan) {
    let leaving = fleet.exports.iter().filter(|export| export.record.meta.is_terminating());
    for export in leaving {
        if let Some(step) = release(export) {
            plan.push(step.after(status_write));
        }
    }
}

/// Takes the hub's finalizer off an export.
pub(super) fn release(export: &Owned<'_, InternalServiceExportRecord>) -> Option<Step> {
    let operations = remove_finalizer(&export.record.meta, finalizers::INTERNAL_SERVICE_EXPORT);
    (!operations.is_empty()).then(|| HUB.patch(export.record, operations))
}

/// Writes the verdict on one export, if it does not stand there yet.
fn judge(
    export: &Owned<'_, InternalServiceExportRecord>,
    wanted: Wanted,
    after: Option<StepId>,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<StepId> {
    Some(plan.push(verdict_step(export, wanted, now)?.after(after)))
}

fn verdict_step(
    export: &Owned<'_, InternalServiceExportRecord>,
    wanted: Wanted,
    now: Timestamp,
) -> Option<Step> {
    let wanted = Wanted { generation: export.record.meta.generation, ..wanted };
    let conditions = apply(&export.record.conditions, [wanted], now)?;
    Some(HUB.status(export.record, &json!({ "conditions": conditions })))
}

fn accepted_text(fleet: &Fleet<'_>) -> Wanted {
    let message = format!("service {} is exported without conflict", fleet.service);
    conflict(conditions::FALSE, reasons::NO_CONFLICT_FOUND, message)
}

fn conflict_text(fleet: &Fleet<'_>, verdict: &Verdict<'_>) -> Wanted {
    let message = format!(
        "ports of service {} differ from those that cluster {} exports",
        fleet.service, verdict.winner
    );
    conflict(conditions::TRUE, reasons::CONFLICT_FOUND, message)
}

fn namespace_text(fleet: &Fleet<'_>) -> Wanted {
    let namespace = &fleet.service.namespace;
    let message = format!("namespace {namespace} does not exist on the hub or is being deleted");
    conflict(conditions::UNKNOWN, reasons::PENDING_CONFLICT_RESOLUTION, message)
}

fn conflict(status: &str, reason: &str, message: String) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    Wanted { type_: conditions::CONFLICT, status, reason, message, generation: 0 }
}
