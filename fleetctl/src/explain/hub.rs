//! What the hub makes of the exports.

use fleet_api::{ObjectName, kinds, names};
use fleet_plan::Controller as _;
use fleet_plan::Plan;
use hub_agent::service::{self, Key, PortResolution, ServiceController, ServiceState};

use super::words::{behind, ports_told};
use crate::picture::Picture;
use crate::story::{Cause, Hop};

const HUB: &str = "hub";

/// The Service on the hub: refused exports, its namespace, conflicts, its ServiceImport.
pub(super) fn hops(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let state = ServiceState::of(&picture.settings, service, &picture.hub);
    let mut hops = refused(picture, service);
    let Some(resolution) = service::resolve(&state) else { return hops };
    if !state.namespace_accepts_objects() {
        hops.push(namespace_missing(picture, service));
        return hops;
    }
    hops.extend(resolution.conflicting.iter().map(|export| {
        Hop::stop(
            export.member,
            format!("InternalServiceExport {}", export.object.name),
            Cause::Conflict,
            service::conflict(&state, export, &resolution),
            format!(
                "give the Service in {} the ports it has in {}, or take one of both exports back",
                export.member, resolution.winner.member
            ),
        )
    }));
    let plan = service::plan(&picture.settings, service, &picture.hub, picture.now);
    hops.push(import(picture, &state, &resolution, &plan));
    hops
}

fn import(
    picture: &Picture,
    state: &ServiceState<'_>,
    resolution: &PortResolution<'_>,
    plan: &Plan,
) -> Hop {
    let object = format!("ServiceImport {}", state.service);
    let held = state.import.filter(|import| import.meta.is_terminating());
    if let Some(import) = held.filter(|_| state.releasable_import().is_none()) {
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
    let from: Vec<_> = resolution.accepted.iter().map(|export| export.member).collect();
    let says = format!("{}, from {}", ports_told(resolution.ports), from.join(", "));
    Hop::ok(HUB, object, says)
}

fn namespace_missing(picture: &Picture, service: &ObjectName) -> Hop {
    let namespace = &service.namespace;
    let known = picture.hub.namespaces.get(&ObjectName::cluster(namespace.clone()));
    let object = format!("Namespace {namespace}");
    if known.is_some() {
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
        let key = Key::InvalidReference(kinds::INTERNAL_SERVICE_EXPORT, object.clone());
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
