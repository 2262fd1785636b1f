//! The path from an exporter's Service to the hub.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, annotations};
use fleet_model::objects::ServiceExport;
use member_agent::export::{self, ExportDecision};

use super::words::{DENIED, behind, count, ports_text, ready};
use crate::picture::{Member, Picture};
use crate::reading;
use crate::shell::quoted;
use crate::story::{Cause, Hop};

const EXPORT: &str = "ServiceExport";

/// Everything between the exporter's Service and its objects on the hub.
pub(super) fn hops(
    picture: &Picture,
    name: &str,
    member: &Member,
    service: &ObjectName,
    healthy: bool,
) -> Vec<Hop> {
    if let Some(reason) = &member.blind {
        return vec![
            Hop::unseen(name, format!("{EXPORT} {service}"), reason),
            on_hub(name, member, service),
        ];
    }
    let unread = reading::of_member(name, member);
    if !unread.is_empty() {
        return unread;
    }
    let mut hops = own(picture, name, member, service);
    let plan = export::plan(&member.settings, service, &member.snapshot, picture.now);
    if healthy && !hops.iter().any(|hop| hop.stops() && hop.cause != Some(Cause::NoEndpoints)) {
        let next = behind(picture, name, &plan).or_else(|| crowded_out(name, member, service));
        hops.push(next.unwrap_or_else(|| on_hub(name, member, service)));
    }
    hops
}

fn own(picture: &Picture, name: &str, member: &Member, service: &ObjectName) -> Vec<Hop> {
    let (snapshot, now) = (&member.snapshot, picture.now);
    let Some(export) = snapshot.service_exports.get(service) else { return Vec::new() };
    let object = format!("{EXPORT} {service}");
    let decision = export::decision(&member.settings, service, snapshot, now);
    let Some(decision) = decision else { return vec![terminating(name, object, export)] };
    let kubectl = picture.kubectl(name);
    let (namespace, short) = (&service.namespace, quoted(&service.name));
    let weight = format!(
        "{kubectl} -n {} annotate serviceexport {short} --overwrite {}=1",
        quoted(namespace),
        annotations::WEIGHT
    );
    let stop =
        |cause, says: &str, advice: String| vec![Hop::stop(name, &object, cause, says, advice)];
    match decision {
        ExportDecision::Denied(_) if !is_exported(member, service) => stop(
            Cause::NamespaceDenied,
            &format!("no Service of namespace {namespace} is exported"),
            DENIED.to_owned(),
        ),
        ExportDecision::Export(found) | ExportDecision::Denied(found) => {
            let ports = ports_text(&found.ports);
            let mut hops = vec![Hop::ok(name, &object, format!("its Service has {ports}"))];
            hops.push(endpoints(picture, name, member, service));
            hops
        }
        ExportDecision::Hold(_, problem) => stop(
            Cause::WeightInvalid,
            &format!("its weight is invalid, so the export stays as it was: {problem}"),
            weight,
        ),
        ExportDecision::Pause => {
            stop(Cause::WeightZero, "its weight is 0, which keeps it out of the fleet", weight)
        }
        ExportDecision::NotFound => stop(
            Cause::ServiceNotFound,
            &format!("there is no Service {service}, or it is being deleted"),
            format!("create Service {service} in {name}, or delete the ServiceExport"),
        ),
        ExportDecision::Ineligible => stop(
            Cause::ServiceIneligible,
            &format!(
                "Service {service} is headless or of type ExternalName, which cannot be exported"
            ),
            "export a Service with a cluster IP instead".to_owned(),
        ),
        ExportDecision::SystemNamespace => stop(
            Cause::SystemNamespace,
            "it is in the agents' own namespace, from which no Service can be exported",
            "move the Service to another namespace".to_owned(),
        ),
        // Reported for the member.
        ExportDecision::NoMember => Vec::new(),
    }
}

/// Whether the hub has an export of it, which stays in force.
fn is_exported(member: &Member, service: &ObjectName) -> bool {
    member.snapshot.internal_exports.by(service).next().is_some()
}

/// An agent that exports nothing and has nothing to write has found no free name.
fn crowded_out(name: &str, member: &Member, service: &ObjectName) -> Option<Hop> {
    let snapshot = &member.snapshot;
    let is_wanted = snapshot.service_exports.get(service).is_some();
    (is_wanted && snapshot.internal_exports.by(service).next().is_none()).then(|| {
        Hop::stop(
            name,
            "InternalServiceExport",
            Cause::NoFreeName,
            format!(
                "every name that it could have in {} of the hub is taken",
                member.settings.identity.hub_namespace
            ),
            "find out who else writes there, and delete the objects that no agent created",
        )
    })
}

fn terminating(name: &str, object: String, export: &Object<ServiceExport>) -> Hop {
    let held: Vec<_> = export.meta.finalizers.iter().map(AsRef::as_ref).collect();
    Hop::stop(
        name,
        object,
        Cause::ExportTerminating,
        format!("it is being deleted, and waits for the finalizers {}", held.join(", ")),
        "wait until it is deleted, then create it again if you still need it",
    )
}

pub(super) fn endpoints(
    picture: &Picture,
    name: &str,
    member: &Member,
    service: &ObjectName,
) -> Hop {
    let ready = ready(member, service);
    if ready > 0 {
        return Hop::ok(name, "EndpointSlices", count(ready, "ready endpoint"));
    }
    let kubectl = picture.kubectl(name);
    let selector = format!("kubernetes.io/service-name={}", service.name);
    Hop::stop(
        name,
        "EndpointSlices",
        Cause::NoEndpoints,
        "the Service has no ready endpoint",
        format!(
            "check its Pods: {kubectl} -n {} get endpointslices -l {}",
            quoted(&service.namespace),
            quoted(&selector)
        ),
    )
}

/// The export on the hub.
fn on_hub(name: &str, member: &Member, service: &ObjectName) -> Hop {
    let snapshot = &member.snapshot;
    let exports = snapshot.internal_exports.by(service);
    let live = exports.filter(|export| !export.meta.is_terminating()).count();
    let slices = snapshot.slice_exports.by(service);
    let endpoints: usize = slices.map(|slice| slice.spec.endpoints.len()).sum();
    let says = match live {
        0 => "the hub has no export of it".to_owned(),
        _ => format!("the hub has {}", count(endpoints, "endpoint")),
    };
    Hop::ok(name, "InternalServiceExport", says)
}
