//! How far each MultiClusterService of a Service is, for whoever asks.
//!
//! The same choices that the plan is made of, told instead of acted upon.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, annotations};
use fleet_model::objects::InternalServiceImport;
use jiff::Timestamp;

use super::landing::{self, NoLanding};
use super::refusal::Refusal;
use super::subject::{Subject, Wish};
use super::{choose, status};
use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// Where the import of one MultiClusterService stands, or the first thing that stops it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
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
    NoLanding(NoLanding),
    /// Granted, and its derived Service, of this name, is missing.
    NoDerived(ObjectName),
    /// Granted, and its derived Service is being deleted: it blocks the next one.
    Blocked(ObjectName),
    /// Granted, and bound to this derived Service.
    Bound(ObjectName),
}

/// Every MultiClusterService that names `service`, oldest first, and how far it is.
pub fn standings(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Vec<(ObjectName, Standing)> {
    let subject = Subject::of(settings, service, snapshot, now);
    let holder = choose::holder(&subject);
    let told = |wish: &&Wish| (wish.name.clone(), standing(&subject, wish, holder));
    subject.wishes.iter().map(told).collect()
}

fn standing(subject: &Subject<'_>, wish: &Wish, holder: Option<&Wish>) -> Standing {
    if wish.meta.is_terminating() {
        return Standing::Terminating;
    }
    if let Some(refusal) = subject.refusal {
        return Standing::Refused(refusal);
    }
    match holder {
        Some(holder) if holder.uid == wish.uid => of_holder(subject, holder),
        Some(holder) => Standing::HeldBy(holder.name.clone()),
        None if subject.import_owner().is_none() => {
            Standing::Foreign(status::foreign_import(subject))
        }
        None => Standing::Withdrawing,
    }
}

fn of_holder(subject: &Subject<'_>, holder: &Wish) -> Standing {
    let Some(derived) = choose::derived_name(subject, holder) else { return Standing::NoName };
    let live = |request: &&&Object<InternalServiceImport>| !request.meta.is_terminating();
    let Some(request) = subject.requests.iter().find(live) else { return Standing::NotAsked };
    if !request.object.status.is_resolved() {
        let held = request.object.meta.annotation(annotations::IMPORT_HELD_BY);
        let held = held.map(|cluster| Standing::HeldByCluster(cluster.to_owned()));
        return held.unwrap_or(Standing::NotGranted);
    }
    match subject.snapshot.services.get(&derived) {
        Some(service) if service.meta.is_terminating() => Standing::Blocked(derived),
        Some(_) => Standing::Bound(derived),
        None => landing::obstacle(subject.identity, subject.snapshot)
            .map_or(Standing::NoDerived(derived), Standing::NoLanding),
    }
}
