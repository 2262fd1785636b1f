//! What the hub makes of the exports.

use fleet_api::{ObjectName, kinds, names};
use fleet_runtime::controller::Controller as _;
use fleet_runtime::plan::Plan;
use hub_agent::service::{self, Fleet, Key, ServiceController, Verdict};

use super::behind;
use super::export::ports_told;
use crate::picture::Picture;
use crate::story::{Cause, Hop};

const HUB: &str = "hub";

/// The Service on the hub: refused exports, its namespace, conflicts, its ServiceImport.
pub(super) fn hops(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let fleet = Fleet::of(&picture.settings, service, &picture.hub);
    let mut hops = refused(picture, service);
    let Some(verdict) = service::verdict(&fleet) else { return hops };
    if !fleet.namespace_accepts_objects() {
        hops.push(namespace_missing(picture, service));
        return hops;
    }
    hops.extend(verdict.conflicting.iter().map(|export| {
        Hop::stop(
            export.member,
            format!("InternalServiceExport {}", export.record.name),
            Cause::Conflict,
            service::conflict(&fleet, export, &verdict),
            format!(
                "give the Service in {} the ports it has in {}, or take one of both exports back",
                export.member, verdict.winner.member
            ),
        )
    }));
    let plan = service::plan(&picture.settings, service, &picture.hub, picture.now);
    hops.push(import(picture, &fleet, &verdict, &plan));
    hops
}

fn import(picture: &Picture, fleet: &Fleet<'_>, verdict: &Verdict<'_>, plan: &Plan) -> Hop {
    let object = format!("ServiceImport {}", fleet.service);
    let held = fleet.import.filter(|import| import.meta.is_terminating());
    if let Some(import) = held.filter(|_| fleet.import_to_let_go().is_none()) {
        let finalizers: Vec<_> = import.meta.finalizers.iter().map(AsRef::as_ref).collect();
        return Hop::stop(
            HUB,
            object,
            Cause::HubImportHeld,
            format!("it is being deleted, and held by {}", finalizers.join(", ")),
            "have the owner of that finalizer release it; the hub agent makes a new one then",
        );
    }
    if let Some(behind) = behind(picture, HUB, plan) {
        return behind;
    }
    let from: Vec<_> = verdict.accepted.iter().map(|export| export.member).collect();
    let says = format!("{}, from {}", ports_told(verdict.ports), from.join(", "));
    Hop::ok(HUB, object, says)
}

fn namespace_missing(picture: &Picture, service: &ObjectName) -> Hop {
    let namespace = &service.namespace;
    let record = picture.hub.namespaces.get(&ObjectName::cluster(namespace.clone()));
    let object = format!("Namespace {namespace}");
    if record.is_some() {
        return Hop::stop(
            HUB,
            object,
            Cause::NamespaceTerminating,
            format!("namespace {namespace} of the hub is being deleted"),
            "wait until it is gone, and make it again",
        );
    }
    Hop::stop(
        HUB,
        object,
        Cause::HubNamespaceMissing,
        format!("the hub has no namespace {namespace}, in which the Service of the fleet would be"),
        format!("{} create namespace {namespace}", picture.kubectl(HUB)),
    )
}

/// Exports whose reference the hub agent does not believe.
fn refused(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let controller = ServiceController { settings: picture.settings.clone() };
    let candidates = || names::internal_export_candidates(service);
    let homes = picture.members.iter();
    let objects = homes.flat_map(|(name, member)| {
        let home = &member.settings.identity.hub_namespace;
        candidates().map(move |object| (name, ObjectName::new(home.as_str(), object)))
    });
    let told = objects.filter_map(|(member, object)| {
        picture.hub.internal_exports.get(&object)?;
        let key = Key::Stray(kinds::INTERNAL_SERVICE_EXPORT, object.clone());
        let event = controller.plan(&key, &picture.hub, picture.now).events.into_iter().next()?;
        Some(Hop::stop(
            member,
            format!("InternalServiceExport {object}"),
            Cause::ReferenceRefused,
            format!("the hub agent refuses it: {}", event.note),
            format!(
                "see which name {member}'s agent was given (MEMBER_CLUSTER_NAME), and who else writes there"
            ),
        ))
    });
    told.collect()
}
