//! `fleetctl explain`: where one Service of the fleet stops, and what to do. Pure.
//!
//! All decisions are the agents' own: their plans are computed for the picture. A write that is still missing is reported
//! only if nothing else explains why the Service stops.

mod export;
mod hub;
mod import;
mod member;
mod part;
mod reach;
mod standard;
mod traffic;
pub(crate) mod words;

use std::collections::BTreeMap;

use fleet_api::ObjectName;

use crate::picture::{Member, Picture};
use crate::reading;
use crate::shell::quoted;
use crate::story::{Cause, Crossing, Hop, Story};
use part::{exports, imports};
use words::{lacking, named, no_member};

/// Follows a Service through hub and members.
pub fn explain(picture: &Picture, service: &ObjectName) -> Story {
    let mut hops = reading::of_hub(&picture.hub);
    let mut crossings = Vec::new();
    if hops.is_empty() {
        walk(picture, service, &mut hops, &mut crossings);
    }
    Story::new(service.to_string(), hops, crossings)
}

fn walk(
    picture: &Picture,
    service: &ObjectName,
    hops: &mut Vec<Hop>,
    crossings: &mut Vec<Crossing>,
) {
    let members = || picture.members.iter();
    let is_standard = standard::is_used(picture, service);
    let mut healthy = BTreeMap::new();
    for (name, member) in members() {
        let in_fleet = exports(member, service) || imports(member, service);
        if in_fleet || (is_standard && standard::concerns(picture, member, service)) {
            let found = member::hops(picture, name, member);
            healthy.insert(name.as_str(), !found.iter().any(Hop::stops));
            hops.extend(found);
        }
    }
    let is_healthy = |name: &str| healthy.get(name).copied().unwrap_or_default();
    for (name, member) in members().filter(|(_, member)| exports(member, service)) {
        hops.extend(export::hops(picture, name, member, service, is_healthy(name)));
    }
    hops.extend(hub::hops(picture, service));
    for (name, member) in members().filter(|(_, member)| imports(member, service)) {
        let (found, crossing) = import::hops(picture, name, member, service, is_healthy(name));
        hops.extend(found);
        crossings.extend(crossing);
    }
    hops.extend(traffic::hops(picture, service));
    if is_standard {
        standard::walk(picture, service, &is_healthy, hops, crossings);
    }
    hops.extend(reach::hops(picture, service));
    // A Service that crosses by the other API alone is at rest.
    let is_imported = || members().any(|(_, member)| imports(member, service));
    if !is_standard || is_imported() {
        hops.extend(unused(picture, service));
    }
}

/// Reports that no member exports the Service, or that none imports it.
fn unused(picture: &Picture, service: &ObjectName) -> Option<Hop> {
    let any = |of: fn(&Member, &ObjectName) -> bool| {
        picture.members.values().any(|member| of(member, service))
    };
    if !any(exports) {
        return Some(not_exported(picture, service, any(imports)));
    }
    (!any(imports)).then(|| {
        let (namespace, name) = (&service.namespace, &service.name);
        Hop::stop(
            "fleet",
            "MultiClusterService",
            Cause::NotImported,
            format!(
                "it is exported, and {}{}",
                no_member(picture, "imports it"),
                lacking(picture, namespace)
            ),
            format!(
                "create a MultiClusterService in namespace {namespace} of the member that needs it, with \
                 spec.serviceImport.name: {name}"
            ),
        )
    })
}

fn not_exported(picture: &Picture, service: &ObjectName, imported: bool) -> Hop {
    let having = |(name, member): (&String, &Member)| {
        member.snapshot.services.get(service).map(|_| name.clone())
    };
    let having: Vec<_> = picture.members.iter().filter_map(having).collect();
    let wanted = if imported { "it is imported, but " } else { "" };
    let Some(first) = having.first() else {
        return Hop::stop(
            "fleet",
            "ServiceExport",
            Cause::NotExported,
            format!("{wanted}{}", no_member(picture, "has a Service of that name or exports it")),
            format!(
                "create Service and ServiceExport {service} in the exporting member, or correct the name"
            ),
        );
    };
    let (kubectl, namespace, name) = (picture.kubectl(first), &service.namespace, &service.name);
    // Inside the document no quotes would help.
    let is_plain = [namespace, name].into_iter().all(|part| quoted(part) == **part);
    let advice = if is_plain {
        format!(
            "printf 'apiVersion: networking.fleet.azure.com/v1beta1\\nkind: ServiceExport\\nmetadata:\\n  \
             name: {name}\\n  namespace: {namespace}\\n' | {kubectl} apply -f -"
        )
    } else {
        "create a ServiceExport with the name of the Service".to_owned()
    };
    Hop::stop(
        "fleet",
        "ServiceExport",
        Cause::NotExported,
        format!("{wanted}there is no ServiceExport for the Service in {}", named(&having)),
        advice,
    )
}
