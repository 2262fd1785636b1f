//! The state of each MultiClusterService of a Service, for `fleetctl`.
//!
//! It follows from the same choices as the plan.

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

/// The state of the import of one MultiClusterService: the first thing that blocks it, or its derived Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// It is being deleted.
    Terminating,
    /// Nothing is imported into its namespace.
    Refused(Refusal),
    /// Another MultiClusterService has imported the Service already.
    HeldBy(ObjectName),
    /// A ServiceImport of that name has another owner; a sentence about it.
    Foreign(String),
    /// What was imported for another MultiClusterService is being withdrawn.
    Withdrawing,
    /// Every name for its derived Service is taken.
    NoName,
    /// The hub has not been asked yet.
    NotAsked,
    /// Another cluster holds the import exclusively.
    HeldByCluster(String),
    /// The hub was asked and has not granted it.
    NotGranted,
    /// Granted, and nothing can be created in the system namespace.
    SystemNamespace(SystemNamespaceError),
    /// Granted, and its derived Service, of this name, is missing.
    NoDerived(ObjectName),
    /// Granted, and its derived Service of this name is being deleted: it blocks the next one.
    Blocked(ObjectName),
    /// Granted, and bound to this derived Service.
    Bound(ObjectName),
}

/// Every MultiClusterService that names `service`, oldest first, with its state.
pub fn import_states(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Vec<(ObjectName, ImportState)> {
    let state = ServiceState::of(settings, service, snapshot, now);
    let holder = choose::holder(&state);
    let with_state = |mcs: &&Mcs| (mcs.name.clone(), import_state(&state, mcs, holder));
    state.multi_cluster_services.iter().map(with_state).collect()
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
