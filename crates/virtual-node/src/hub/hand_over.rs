//! Exports become imports, and what executors report of these goes back.

use fleet_api::offload::{
    OffloadTerms, PodExportSpec, PodExportStatus, PodImportSpec, PodImportStatus, Refusal,
    StopRequest, VirtualNodePhase, VirtualNodeSpec,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::pod::{Rejection, check};

/// Seconds for the containers of a Pod whose export was deleted without a time: what Kubernetes gives them by default.
pub const DEFAULT_GRACE_SECONDS: i64 = 30;

/// An export, as the hub has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HubExport {
    /// The member whose namespace it is in: its origin, whatever it states.
    pub cluster: String,
    /// What crosses.
    pub spec: PodExportSpec,
    /// What the hub agent has reported.
    pub status: PodExportStatus,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// An import, as the hub has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HubImport {
    /// What the hub agent wrote.
    pub spec: PodImportSpec,
    /// What the executor has reported.
    pub status: PodImportStatus,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// The executor that an export names, as the hub knows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Destination<'a> {
    /// The virtual node that stands for it in the cluster of the origin.
    pub node: Option<&'a VirtualNodeSpec>,
    /// Whether it takes no further Pods: as many are there as it offers. Those that ran there before count already.
    pub is_full: bool,
    /// Whether it has as many Pods of this origin as any executor has, whatever the origin states about them.
    pub is_crowded: bool,
    /// Whether nothing waits for it any more: the origin has given it up, or it has left the fleet.
    pub is_given_up: bool,
}

/// What is to be done about one uid.
#[derive(Clone, Debug, PartialEq)]
pub enum HubAction {
    /// The import is created.
    Import(Box<PodImportSpec>),
    /// The import gets this spec.
    Update(Box<PodImportSpec>),
    /// The import is deleted: the executor has nothing of it any more.
    Delete,
    /// The import is deleted although the executor has not confirmed anything: it is given up.
    Drop,
    /// The export gets this status.
    Report(Box<PodExportStatus>),
    /// The finalizer of the export is removed.
    Release,
}

/// What is to be done about one uid. `to` is the executor that the export names.
pub fn hand_over(
    export: Option<&HubExport>,
    import: Option<&HubImport>,
    to: &Destination<'_>,
    now: Timestamp,
) -> Vec<HubAction> {
    match (export, import) {
        (None, None) => Vec::new(),
        (None, Some(import)) => stop(import, 0, now),
        (Some(export), _) if export.deleting => end(export, import, to, now),
        (Some(export), Some(import)) => pass_on(export, import, to.node),
        (Some(export), None) => begin(export, to),
    }
}

/// An export without an import. One that was released is over.
fn begin(export: &HubExport, to: &Destination<'_>) -> Vec<HubAction> {
    if export.status.released {
        return Vec::new();
    }
    let accepted = accept(export, to.node, true).and_then(|()| {
        let is_full = to.is_crowded || to.is_full && !ran(export);
        if is_full { Err(no_place()) } else { Ok(()) }
    });
    match accepted {
        Ok(()) => vec![HubAction::Import(Box::new(import_of(export)))],
        Err(rejection) => report(export, rejected(export, &rejection)),
    }
}

/// As many Pods are there as may be. An export with this status is planned again when one goes.
fn no_place() -> Rejection {
    Rejection::new(Refusal::QuotaExceeded, "capacity.pods")
}

fn import_of(export: &HubExport) -> PodImportSpec {
    PodImportSpec { export: export.spec.clone(), stop: None }
}

/// The import by which an executor stops what it may run, with what that takes and nothing else: the terms can have changed since the
/// Pod was accepted, so that nothing more of it can be checked.
fn import_to_stop(export: &HubExport, stop: StopRequest) -> PodImportSpec {
    let spec = export.spec.clone();
    let bare = PodExportSpec {
        origin: spec.origin,
        executor: spec.executor,
        spec_hash: spec.spec_hash,
        disconnect: spec.disconnect,
        resumed: spec.resumed,
        stop_grace_seconds: spec.stop_grace_seconds,
        ..PodExportSpec::default()
    };
    PodImportSpec { export: bare, stop: Some(stop) }
}

/// Whether the executor has had it already. If the hub has lost that, its origin remembers: one that lies about it gets no more than
/// is offered, and the executor makes no Pod that has run before.
fn ran(export: &HubExport) -> bool {
    export.status.accepted || export.spec.resumed
}

/// The check at the border: what an origin writes is not trusted. Only a new Pod needs a node that takes some.
fn accept(
    export: &HubExport,
    node: Option<&VirtualNodeSpec>,
    is_new: bool,
) -> Result<(), Rejection> {
    let not_offered = || Rejection::new(Refusal::NotOffered, "executor");
    let node = node.filter(|node| node.executor == export.spec.executor).ok_or_else(not_offered)?;
    if is_new && !ran(export) && node.phase != VirtualNodePhase::Accepted {
        return Err(not_offered());
    }
    let terms: &OffloadTerms = &node.terms;
    check(&export.spec, &export.cluster, terms)
}

fn pass_on(
    export: &HubExport,
    import: &HubImport,
    node: Option<&VirtualNodeSpec>,
) -> Vec<HubAction> {
    let status = reported(import);
    // Nothing is changed of what ends.
    if import.spec.stop.is_some() || import.deleting || import.spec.export == export.spec {
        return report(export, status);
    }
    match accept(export, node, false) {
        Ok(()) => {
            let update = HubAction::Update(Box::new(import_of(export)));
            std::iter::once(update).chain(report(export, status)).collect()
        }
        // What runs goes on as it was.
        Err(rejection) => {
            let rejected = rejected(export, &rejection).rejected;
            report(export, PodExportStatus { rejected, ..status })
        }
    }
}

/// The end of an export: its import is stopped, goes when the executor has released it, and then the export may go.
fn end(
    export: &HubExport,
    import: Option<&HubImport>,
    to: &Destination<'_>,
    now: Timestamp,
) -> Vec<HubAction> {
    let grace = export.spec.stop_grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
    match import {
        None if export.status.released => vec![HubAction::Release],
        // Its offer is on the way back, like all that the hub has lost.
        None if ran(export) && !to.is_given_up && to.node.is_none() => Vec::new(),
        // An origin that lies about the past gets no more imports by that than others.
        None if ran(export) && !to.is_given_up && to.is_crowded => {
            report(export, rejected(export, &no_place()))
        }
        // The hub has lost the import, and only the executor knows whether anything runs.
        None if ran(export) && !to.is_given_up => {
            vec![HubAction::Import(Box::new(import_to_stop(export, request(grace, None, now))))]
        }
        None => report(export, PodExportStatus { released: true, ..export.status.clone() }),
        Some(import) if to.is_given_up && !import.status.released => vec![HubAction::Drop],
        Some(import) => {
            let mut actions = stop(import, grace, now);
            actions.extend(report(export, reported(import)));
            actions
        }
    }
}

fn request(grace_seconds: i64, asked: Option<&StopRequest>, now: Timestamp) -> StopRequest {
    let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let requested_at = asked.map_or(Time(whole), |asked| asked.requested_at.clone());
    StopRequest { grace_seconds, requested_at }
}

/// An import is stopped although its export is not being deleted: its origin is gone for good, or has lost it.
pub fn stop_import(import: &HubImport, now: Timestamp) -> Vec<HubAction> {
    stop(import, DEFAULT_GRACE_SECONDS, now)
}

fn stop(import: &HubImport, grace_seconds: i64, now: Timestamp) -> Vec<HubAction> {
    if import.status.released {
        return if import.deleting { Vec::new() } else { vec![HubAction::Delete] };
    }
    let asked = import.spec.stop.as_ref();
    if asked.is_some_and(|asked| asked.grace_seconds <= grace_seconds) {
        return Vec::new();
    }
    let stop = Some(request(grace_seconds, asked, now));
    vec![HubAction::Update(Box::new(PodImportSpec { stop, ..import.spec.clone() }))]
}

/// What the executor reports, for the origin.
fn reported(import: &HubImport) -> PodExportStatus {
    let PodImportStatus { rejected, remote, released } = import.status.clone();
    let accepted = remote.is_some();
    PodExportStatus { accepted, rejected, remote, released }
}

fn rejected(export: &HubExport, rejection: &Rejection) -> PodExportStatus {
    let rejected = Some(rejection.report(&export.spec.spec_hash));
    PodExportStatus { rejected, ..export.status.clone() }
}

/// A status is written if it differs.
fn report(export: &HubExport, status: PodExportStatus) -> Vec<HubAction> {
    // It cannot be taken back, and an export that lost its import has been released.
    let released = status.released || export.status.released;
    let status = PodExportStatus { released, ..status }.bounded();
    if status == export.status { Vec::new() } else { vec![HubAction::Report(Box::new(status))] }
}
