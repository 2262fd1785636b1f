//! The Service on the hub: exports that do not count, what is in force, and in what exporters differ.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, events, kinds, names};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_plan::{Controller as _, Event};
use hub_agent::multicluster::{Key, MulticlusterController};

use super::text::{ACCEPT, ports_text};
use crate::explain::hub::{TOO_MANY, list_it};
use crate::explain::words::{DENIED, behind, named};
use crate::left_out::in_force;
use crate::picture::Picture;
use crate::story::{Cause, Hop};

const HUB: &str = "hub";

/// Everything on the hub.
pub(super) fn hops(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let controller = MulticlusterController { settings: picture.settings.clone() };
    let plan = controller.plan(&Key::Service(service.clone()), &picture.hub, picture.now);
    let mut hops = invalid(picture, &controller, service);
    hops.extend(plan.events.iter().filter_map(|event| refused(picture, event)));
    hops.extend(unanswered(picture, service));
    if let Some(behind) = behind(picture, HUB, &plan) {
        hops.push(behind);
    } else if let Some(resolved) = in_force(picture, service) {
        hops.extend(resolution(resolved));
    } else if hops.is_empty() {
        hops.extend(nothing(picture, service));
    }
    hops
}

/// What is in force, and in what exporters differ.
fn resolution(resolved: &Object<ResolvedService>) -> Vec<Hop> {
    let object = format!("{} {}", kinds::RESOLVED_SERVICE.label(), resolved.name);
    let from: Vec<_> = resolved.exporters.iter().map(|it| it.cluster.as_str()).collect();
    let (properties, from) = (&resolved.properties, named(&from));
    let ports = ports_text(&properties.ports);
    let mut hops = vec![Hop::ok(
        HUB,
        &object,
        format!(
            "{} with {ports}, from {from}; {} decides",
            properties.type_.as_str(),
            resolved.winner
        ),
    )];
    // Endpoints of all exporters travel, whatever these differ in.
    hops.extend(resolved.conflicts.iter().map(|conflict| {
        Hop::ok(HUB, &object, format!("{}: {}", conflict.reason.as_str(), conflict.message))
    }));
    let withheld = resolved.exporters.iter().filter(|exporter| !exporter.withheld.is_empty());
    hops.extend(withheld.map(|exporter| {
        let ports: Vec<_> = exporter.withheld.iter().map(|name| format!("{name:?}")).collect();
        let (cluster, winner) = (&exporter.cluster, &resolved.winner);
        Hop::stop(
            cluster,
            &object,
            Cause::PortsWithheld,
            format!("its ports {} contradict those in force, so no importer uses them", ports.join(", ")),
            format!("give these ports of the Service in {cluster} the name, protocol and number that they have in {winner}"),
        )
    }));
    hops
}

/// An export that does not count, by the Event that reports it.
fn refused(picture: &Picture, event: &Event) -> Option<Hop> {
    let member = names::member_of_namespace(&event.name.namespace)?;
    let (cause, advice) = match event.reason {
        events::POLICY_DENIED => (Cause::PolicyDenied, list_it(picture, member)),
        events::NAMESPACE_DENIED => (Cause::NamespaceDenied, DENIED.to_owned()),
        events::LIMIT_EXCEEDED => (
            Cause::LimitExceeded,
            format!("export a Service within the bound; or, if the member exports too many, {TOO_MANY}"),
        ),
        events::DUPLICATE => (
            Cause::DuplicateExport,
            format!("find out who else writes to {}, and delete what no agent created", event.name.namespace),
        ),
        events::EXPORT_REFUSED => (
            Cause::ExportRefused,
            "correct the ports of the Service; if they are right, check who else writes to the member's namespace".to_owned(),
        ),
        _ => return None,
    };
    let object = format!("{} {}", event.kind.label(), event.name);
    Some(Hop::stop(
        member,
        object,
        cause,
        format!("the hub agent rejects it: {}", event.note),
        advice,
    ))
}

/// Exports that name no Service, under the names that those of this Service have.
fn invalid(
    picture: &Picture,
    controller: &MulticlusterController,
    service: &ObjectName,
) -> Vec<Hop> {
    let members = picture.members.values().map(|it| it.settings.identity.hub_namespace.as_str());
    let objects = members.flat_map(|namespace| {
        let names = names::internal_export_candidates(service);
        names.map(move |name| ObjectName::new(namespace, name))
    });
    let invalid = objects.filter(|name| {
        picture.hub.exported_services.get(name).is_some_and(|export| export.service.is_none())
    });
    let events = invalid
        .flat_map(|name| controller.plan(&Key::Invalid(name), &picture.hub, picture.now).events);
    events.filter_map(|event| refused(picture, &event)).collect()
}

/// Exports of members that the hub agent has not accepted.
fn unanswered(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let waits = |member: &str| {
        let name = ObjectName::new(names::member_namespace(member), member);
        let report = picture.hub.cluster_reports.get(&name);
        !report.is_some_and(|report| report.is_accepted())
            && in_force(picture, service).is_none_or(|it| it.exporter(member).is_none())
    };
    let exports = picture.hub.exported_services.by(service);
    let exports = exports.filter(|export| !export.meta.is_terminating());
    let waiting = exports.filter_map(|export| {
        let member = names::member_of_namespace(&export.name.namespace).filter(|it| waits(it))?;
        Some(Hop::stop(
            member,
            format!("{} {member}", kinds::CLUSTER_REPORT.label()),
            Cause::NotAccepted,
            format!("the hub agent has not accepted {member} for multicluster.x-k8s.io, so its export does not count"),
            ACCEPT,
        ))
    });
    waiting.collect()
}

/// Why nothing is in force although the hub agent has nothing to write.
fn nothing(picture: &Picture, service: &ObjectName) -> Option<Hop> {
    let hub = &picture.hub;
    hub.exported_services.by(service).next()?;
    let (namespace, object) = (names::SYSTEM_NAMESPACE, kinds::RESOLVED_SERVICE.label());
    if !namespace_accepts_objects(&hub.namespaces, namespace) {
        return Some(Hop::stop(
            HUB,
            object,
            Cause::SystemNamespaceMissing,
            format!("namespace {namespace} of the hub does not exist or is being deleted"),
            format!("{} create namespace {namespace}", picture.kubectl(HUB)),
        ));
    }
    let mut withdrawn = hub.resolved_services.by(service);
    if withdrawn.any(|resolved| resolved.is_withdrawn()) {
        return Some(Hop::stop(
            HUB,
            object,
            Cause::HubAgentBehind,
            "the last export was withdrawn a moment ago; the hub agent puts the new one into force within seconds",
            "wait for some seconds",
        ));
    }
    Some(Hop::stop(
        HUB,
        object,
        Cause::NoFreeName,
        format!("every name that it could have in {namespace} of the hub is taken"),
        "find out who else writes there, and delete the objects that no agent created",
    ))
}
