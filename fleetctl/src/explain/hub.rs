//! The Service on the hub.

use fleet_api::{ObjectName, events, kinds, names};
use fleet_model::objects::MemberPolicy;
use fleet_plan::{Controller as _, Event, Plan};
use hub_agent::service::{self, Key, PortResolution, ServiceController, ServiceState};

use super::words::{DENIED, behind, named, ports_text};
use crate::picture::Picture;
use crate::shell::quoted;
use crate::story::{Cause, Hop};

const HUB: &str = "hub";

/// Rejected exports, the namespace of the Service, conflicts, and its ServiceImport.
pub(super) fn hops(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let state = ServiceState::of(&picture.settings, service, &picture.hub);
    let mut hops = refused(picture, service);
    hops.extend(not_counted(picture, service));
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
                "give the Service in {} the ports that it has in {}, or delete one of the two ServiceExports",
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
            format!("it is being deleted, and waits for the finalizers {}", finalizers.join(", ")),
            "have the owner of the finalizer remove it; the hub agent then creates a new ServiceImport",
        );
    }
    if let Some(behind) = behind(picture, HUB, plan) {
        return behind;
    }
    let from: Vec<_> = resolution.accepted.iter().map(|export| export.member).collect();
    let says = format!("{}, from {}", ports_text(resolution.ports), named(&from));
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
            "wait until it is deleted, and create it again",
        );
    }
    Hop::stop(
        HUB,
        object,
        Cause::HubNamespaceMissing,
        format!("the hub has no namespace {namespace}, which it needs for the ServiceImport"),
        format!("{} create namespace {}", picture.kubectl(HUB), quoted(namespace)),
    )
}

/// Exports that the hub agent rejects because of their reference or size.
fn refused(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let controller = ServiceController { settings: picture.settings.clone() };
    let candidates = || names::internal_export_candidates(service);
    let members = picture.members.iter();
    let objects = members.flat_map(|(name, member)| {
        let namespace = &member.settings.identity.hub_namespace;
        candidates().map(move |object| (name, ObjectName::new(namespace.as_str(), object)))
    });
    let hops = objects.filter_map(|(member, object)| {
        picture.hub.internal_exports.get(&object)?;
        let key = Key::InvalidReference(kinds::INTERNAL_SERVICE_EXPORT, object.clone());
        let event = controller.plan(&key, &picture.hub, picture.now).events.into_iter().next()?;
        let (cause, advice) = match event.reason {
            events::LIMIT_EXCEEDED => {
                (Cause::LimitExceeded, "export a Service within the bound".to_owned())
            }
            _ => (Cause::ReferenceRefused, format!(
                "check the cluster name of {member}'s agent (MEMBER_CLUSTER_NAME), and who else writes to its namespace"
            )),
        };
        let says = format!("the hub agent rejects it: {}", event.note);
        Some(Hop::stop(member, format!("InternalServiceExport {object}"), cause, says, advice))
    });
    hops.collect()
}

/// What to do about a member that exports too much.
pub(super) const TOO_MANY: &str = "delete exports of the member that are not needed, or raise --max-services-per-member of the hub agent";

/// Exports that the hub agent rejects because of their namespace, of how many there are, or of the member policy; and requests
/// that it rejects because of that.
fn not_counted(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let plan = service::plan(&picture.settings, service, &picture.hub, picture.now);
    let hop = |event: Event| {
        let member = names::member_of_namespace(&event.name.namespace)?;
        let is_export = event.kind == kinds::INTERNAL_SERVICE_EXPORT;
        let (cause, advice) = match event.reason {
            events::POLICY_DENIED => (Cause::PolicyDenied, list_it(picture, member)),
            events::NAMESPACE_DENIED if is_export => (Cause::NamespaceDenied, DENIED.to_owned()),
            events::LIMIT_EXCEEDED if service::limit_named_in(&event.note).is_some() => {
                (Cause::LimitExceeded, TOO_MANY.to_owned())
            }
            _ => return None,
        };
        let object = format!("{} {}", event.kind.label(), event.name);
        let says = format!("the hub agent rejects it: {}", event.note);
        Some(Hop::stop(member, object, cause, says, advice))
    };
    plan.events.into_iter().filter_map(hop).collect()
}

/// Advice to an administrator of the hub whose policy does not list a Service.
pub(super) fn list_it(picture: &Picture, member: &str) -> String {
    format!(
        "if {member} may share it, add it to that list, in the value policies.members of the hub's chart if that has the policy, else \
         by {} -n {} edit configmap {}",
        picture.kubectl(HUB),
        quoted(&names::member_namespace(member)),
        MemberPolicy::NAME
    )
}
