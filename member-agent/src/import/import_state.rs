//! How far each MultiClusterService of a Service is, for whoever asks.
//!
//! The same choices that the plan is made of, told instead of acted upon.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, annotations};
use fleet_model::objects::InternalServiceImport;
use jiff::Timestamp;

use super::refusal::Refusal;
use super::state::{Mcs, ServiceState};
use super::system_namespace::{self, SystemNamespaceError};
use super::{choose, status};
use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// Where the import of one MultiClusterService stands, or the first thing that stops it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// It is being deleted.
    Terminating,
    /// Nothing is imported into its namespace.
    Refused(Refusal),
    /// Another MultiClusterService has imported the Service already.
    HeldBy(ObjectName),
    /// A ServiceImport of that name is somebody else's; says whose.
    Foreign(String),
    /// What was imported for another MultiClusterService is being withdrawn.
    Withdrawing,
    /// Every name for its derived Service is taken.
    NoName,
    /// The hub has not been asked yet.
    NotAsked,
    /// Another cluster holds the import alone.
    HeldByCluster(String),
    /// The hub was asked and has not granted it.
    NotGranted,
    /// Granted, and nothing can be created where its derived Service belongs.
    SystemNamespace(SystemNamespaceError),
    /// Granted, and its derived Service, of this name, is missing.
    NoDerived(ObjectName),
    /// Granted, and its derived Service is being deleted: it blocks the next one.
    Blocked(ObjectName),
    /// Granted, and bound to this derived Service.
    Bound(ObjectName),
}

/// Every MultiClusterService that names `service`, oldest first, and how far it is.
pub fn import_states(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Vec<(ObjectName, ImportState)> {
    let state = ServiceState::of(settings, service, snapshot, now);
    let holder = choose::holder(&state);
    let told = |mcs: &&Mcs| (mcs.name.clone(), import_state(&state, mcs, holder));
    state.multi_cluster_services.iter().map(told).collect()
}

fn import_state(state: &ServiceState<'_>, mcs: &Mcs, holder: Option<&Mcs>) -> ImportState {
    if mcs.meta.is_terminating() {
        return ImportState::Terminating;
    }
    if let Some(refusal) = state.refusal {
        return ImportState::Refused(refusal);
    }
    match holder {
        Some(holder) if holder.uid == mcs.uid => of_holder(state, holder),
        Some(holder) => ImportState::HeldBy(holder.name.clone()),
        None if state.import_owner().is_none() => {
            ImportState::Foreign(status::foreign_import(state))
        }
        None => ImportState::Withdrawing,
    }
}

fn of_holder(state: &ServiceState<'_>, holder: &Mcs) -> ImportState {
    let Some(derived) = choose::derived_name(state, holder) else { return ImportState::NoName };
    let live = |request: &&&Object<InternalServiceImport>| !request.meta.is_terminating();
    let Some(request) = state.requests.iter().find(live) else { return ImportState::NotAsked };
    if !request.object.status.is_resolved() {
        let held = request.object.meta.annotation(annotations::IMPORT_HELD_BY);
        let held = held.map(|cluster| ImportState::HeldByCluster(cluster.to_owned()));
        return held.unwrap_or(ImportState::NotGranted);
    }
    match state.snapshot.services.get(&derived) {
        Some(service) if service.meta.is_terminating() => ImportState::Blocked(derived),
        Some(_) => ImportState::Bound(derived),
        None => system_namespace::error(state.identity, state.snapshot)
            .map_or(ImportState::NoDerived(derived), ImportState::SystemNamespace),
    }
}
