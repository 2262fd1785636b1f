//! The path from the hub to an importer's derived Service.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, annotations};
use fleet_model::objects::InternalServiceImport;
use member_agent::import::{self, ImportState, Refusal};

use super::words::{DENIED, behind, count, look, ready};
use crate::picture::{Member, Picture};
use crate::reading;
use crate::shell::quoted;
use crate::story::{Cause, Crossing, Hop};

const MCS: &str = "MultiClusterService";

/// Everything between the hub and the importer's clients.
pub(super) fn hops(
    picture: &Picture,
    name: &str,
    member: &Member,
    service: &ObjectName,
    healthy: bool,
) -> (Vec<Hop>, Option<Crossing>) {
    if let Some(reason) = &member.blind {
        return from_afar(name, member, service, reason);
    }
    let unread = reading::of_member(name, member);
    if !unread.is_empty() {
        return (unread, None);
    }
    let import = Import { picture, name, member, service };
    let import_states =
        import::import_states(&member.settings, service, &member.snapshot, picture.now);
    let mut hops: Vec<_> = import_states
        .iter()
        .filter_map(|(mcs, import_state)| import.hop(mcs, import_state))
        .collect();
    let bound = import_states.iter().find_map(|(_, import_state)| match import_state {
        ImportState::Bound(derived) => Some(derived),
        _ => None,
    });
    let plan = import::plan(&member.settings, service, &member.snapshot, picture.now);
    if healthy && !hops.iter().any(Hop::stops) {
        hops.extend(behind(picture, name, &plan));
    }
    let crossing = bound.and_then(|derived| import.arrived(derived, &mut hops));
    (hops, crossing)
}

/// One import in one member.
struct Import<'a> {
    picture: &'a Picture,
    name: &'a str,
    member: &'a Member,
    service: &'a ObjectName,
}

impl Import<'_> {
    fn hop(&self, mcs: &ObjectName, import_state: &ImportState) -> Option<Hop> {
        let object = format!("{MCS} {mcs}");
        let stop = |cause, says: String, advice: String| {
            Some(Hop::stop(self.name, &object, cause, says, advice))
        };
        let system = &self.member.settings.identity.system_namespace;
        let kubectl = self.picture.kubectl(self.name);
        match import_state {
            ImportState::Bound(derived) => {
                Some(Hop::ok(self.name, &object, format!("bound to Service {derived}")))
            }
            // Reported as a missing write, or for the member.
            ImportState::NotAsked
            | ImportState::Withdrawing
            | ImportState::Refused(Refusal::Leaving | Refusal::Left) => None,
            ImportState::Terminating => stop(
                Cause::ImportTerminating,
                "it is being deleted".to_owned(),
                "create it again if you still need it".to_owned(),
            ),
            ImportState::Refused(Refusal::SystemNamespace) => stop(
                Cause::SystemNamespace,
                Refusal::SystemNamespace.to_string(),
                "move it to another namespace".to_owned(),
            ),
            ImportState::Refused(Refusal::NamespaceDenied) => stop(
                Cause::NamespaceDenied,
                Refusal::NamespaceDenied.to_string(),
                DENIED.to_owned(),
            ),
            ImportState::Refused(Refusal::Terminating) => stop(
                Cause::NamespaceTerminating,
                Refusal::Terminating.to_string(),
                "wait until the namespace is deleted, and create it again".to_owned(),
            ),
            ImportState::HeldBy(other) => stop(
                Cause::ImportHeldHere,
                format!("{MCS} {other} already imports the Service"),
                format!("use the derived Service of {other}, or delete one of the two"),
            ),
            ImportState::Foreign(says) => stop(
                Cause::ImportForeign,
                says.clone(),
                "delete that ServiceImport if it is not needed; the agent creates its own"
                    .to_owned(),
            ),
            ImportState::NoName => stop(
                Cause::NoFreeName,
                format!("every name for its derived Service in {system} is taken"),
                format!(
                    "rename it, or delete one of those Services: {kubectl} -n {system} get services"
                ),
            ),
            ImportState::HeldByCluster(other) => stop(
                Cause::ImportHeldByCluster,
                format!(
                    "cluster {other} imports the Service exclusively: the hub runs with --exclusive-imports"
                ),
                format!(
                    "delete the import in {}, or start the hub agent without --exclusive-imports",
                    quoted(other)
                ),
            ),
            ImportState::NotGranted => self.not_granted(&object),
            ImportState::SystemNamespace(error) => stop(
                Cause::SystemNamespaceMissing,
                format!("namespace {system} of derived Services {error}"),
                format!("{kubectl} create namespace {system}"),
            ),
            ImportState::NoDerived(derived) => stop(
                Cause::DerivedServiceMissing,
                format!("its derived Service {derived} is missing"),
                look(self.picture, self.name),
            ),
            ImportState::Blocked(derived) => stop(
                Cause::DerivedServiceMissing,
                format!("its derived Service {derived} is being deleted, which delays a new one"),
                format!(
                    "check its finalizers: {kubectl} -n {system} get service {} -o yaml",
                    quoted(&derived.name)
                ),
            ),
        }
    }

    /// The steps of exports and hub report the reason, unless none was found there.
    fn not_granted(&self, object: &str) -> Option<Hop> {
        let exports = self.picture.hub.internal_exports.by(self.service);
        let exported = exports.into_iter().any(|export| !export.meta.is_terminating());
        exported.then(|| {
            Hop::stop(
                self.name,
                object,
                Cause::NotGranted,
                "the hub has not granted the import",
                "see the steps of the hub below",
            )
        })
    }

    /// The endpoints of the derived Service.
    fn arrived(&self, derived: &ObjectName, hops: &mut Vec<Hop>) -> Option<Crossing> {
        let endpoints = ready(self.member, derived);
        let object = format!("Service {derived}");
        if endpoints > 0 {
            hops.push(Hop::ok(self.name, object, count(endpoints, "ready endpoint")));
            let (from, to) = (origins(self.member, self.service), self.name.to_owned());
            return Some(Crossing { from, to, endpoints, api: None });
        }
        if !hops.iter().any(Hop::stops) {
            hops.push(Hop::stop(
                self.name,
                object,
                Cause::NoEndpoints,
                "it has no ready endpoint, since no accepted exporter has one",
                "see the steps of the exporters below",
            ));
        }
        None
    }
}

/// Members whose EndpointSlices the hub has copied for a member.
fn origins(member: &Member, service: &ObjectName) -> Vec<String> {
    let copies = member.snapshot.slice_imports.by(service);
    let mut origins: Vec<_> =
        copies.map(|copy| copy.spec.endpoint_slice_reference.cluster_id.clone()).collect();
    origins.sort();
    origins.dedup();
    origins
}

/// The state of an import as the hub shows it, if the member's cluster cannot be read.
fn from_afar(
    name: &str,
    member: &Member,
    service: &ObjectName,
    reason: &str,
) -> (Vec<Hop>, Option<Crossing>) {
    let live = |request: &&Object<InternalServiceImport>| !request.meta.is_terminating();
    let mut requests = member.snapshot.internal_imports.by(service);
    let request = requests.find(live);
    let mut hops = Vec::new();
    if let Some(request) = request {
        let object = format!("InternalServiceImport {}", request.name);
        let held = request.meta.annotation(annotations::IMPORT_HELD_BY);
        hops.push(match held {
            _ if request.object.status.is_resolved() => {
                let copies = member.snapshot.slice_imports.by(service);
                let endpoints: usize = copies.map(|copy| copy.spec.endpoints.len()).sum();
                Hop::ok(name, object, format!("granted, with {}", count(endpoints, "endpoint")))
            }
            Some(holder) => Hop::stop(
                name,
                object,
                Cause::ImportHeldByCluster,
                format!("cluster {holder} imports the Service exclusively"),
                format!("delete the import in {holder}"),
            ),
            None => Hop::unseen(name, object, "not granted yet"),
        });
    }
    hops.push(Hop::unseen(name, format!("{MCS}, derived Service"), reason));
    (hops, None)
}
