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

/// What is to be done about one uid.
#[derive(Clone, Debug, PartialEq)]
pub enum HubAction {
    /// The import is created.
    Import(Box<PodImportSpec>),
    /// The import gets this spec.
    Update(Box<PodImportSpec>),
    /// The import is deleted: the executor has nothing of it any more.
    Delete,
    /// The export gets this status.
    Report(Box<PodExportStatus>),
    /// The finalizer of the export is removed.
    Release,
}

/// What is to be done about one uid. `node` is the virtual node of the executor that the export names, for its origin.
pub fn hand_over(
    export: Option<&HubExport>,
    import: Option<&HubImport>,
    node: Option<&VirtualNodeSpec>,
    now: Timestamp,
) -> Vec<HubAction> {
    match (export, import) {
        (None, None) => Vec::new(),
        (None, Some(import)) => stop(import, 0, now),
        (Some(export), _) if export.deleting => end(export, import, now),
        (Some(export), Some(import)) => pass_on(export, import, node),
        (Some(export), None) => begin(export, node),
    }
}

/// An export without an import. One that was released is over.
fn begin(export: &HubExport, node: Option<&VirtualNodeSpec>) -> Vec<HubAction> {
    if export.status.released {
        return Vec::new();
    }
    match accept(export, node, true) {
        Ok(()) => vec![HubAction::Import(Box::new(import_of(export)))],
        Err(rejection) => report(export, rejected(export, &rejection)),
    }
}

fn import_of(export: &HubExport) -> PodImportSpec {
    PodImportSpec { export: export.spec.clone(), stop: None }
}

/// The check at the border: what an origin writes is not trusted. Only a new Pod needs a node that takes some.
fn accept(
    export: &HubExport,
    node: Option<&VirtualNodeSpec>,
    is_new: bool,
) -> Result<(), Rejection> {
    let not_offered = || Rejection::new(Refusal::NotOffered, "executor");
    let node = node.filter(|node| node.executor == export.spec.executor).ok_or_else(not_offered)?;
    let was_taken = export.status.accepted;
    if is_new && !was_taken && node.phase != VirtualNodePhase::Accepted {
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
fn end(export: &HubExport, import: Option<&HubImport>, now: Timestamp) -> Vec<HubAction> {
    let Some(import) = import else {
        let released = PodExportStatus { released: true, ..export.status.clone() };
        return if export.status.released {
            vec![HubAction::Release]
        } else {
            report(export, released)
        };
    };
    let grace = export.spec.stop_grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
    let mut actions = stop(import, grace, now);
    actions.extend(report(export, reported(import)));
    actions
}

fn stop(import: &HubImport, grace_seconds: i64, now: Timestamp) -> Vec<HubAction> {
    if import.status.released {
        return if import.deleting { Vec::new() } else { vec![HubAction::Delete] };
    }
    let asked = import.spec.stop.as_ref();
    if asked.is_some_and(|asked| asked.grace_seconds <= grace_seconds) {
        return Vec::new();
    }
    let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let requested_at = asked.map_or(Time(whole), |asked| asked.requested_at.clone());
    let stop = Some(StopRequest { grace_seconds, requested_at });
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
    let status = PodExportStatus { released, ..status };
    if status == export.status { Vec::new() } else { vec![HubAction::Report(Box::new(status))] }
}
