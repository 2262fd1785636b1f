//! `fleetctl explain`: where one Service of the fleet stops, and what to do. Pure.
//!
//! All decisions are the agents' own: their plans are computed for the picture. A write that is still missing is reported
//! only if nothing else explains why the Service stops.

mod export;
mod hub;
mod import;
mod member;
pub(crate) mod words;

use std::collections::BTreeMap;

use fleet_api::ObjectName;

use crate::picture::{Member, Picture};
use crate::reading;
use crate::story::{Cause, Crossing, Hop, Story};

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
    let mut healthy = BTreeMap::new();
    for (name, member) in members() {
        if exports(member, service) || imports(member, service) {
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
    hops.extend(unused(picture, service));
}

/// Whether a member exports the Service, or still has objects of an export on the hub.
fn exports(member: &Member, service: &ObjectName) -> bool {
    let snapshot = &member.snapshot;
    snapshot.service_exports.get(service).is_some()
        || snapshot.internal_exports.by(service).next().is_some()
}

/// Whether a member imports the Service, or still has a request for it on the hub.
fn imports(member: &Member, service: &ObjectName) -> bool {
    let snapshot = &member.snapshot;
    snapshot.multi_cluster_services.by(service).next().is_some()
        || snapshot.internal_imports.by(service).next().is_some()
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
    Hop::stop(
        "fleet",
        "ServiceExport",
        Cause::NotExported,
        format!("{wanted}there is no ServiceExport for the Service in {}", having.join(", ")),
        format!(
            "printf 'apiVersion: networking.fleet.azure.com/v1beta1\\nkind: ServiceExport\\nmetadata:\\n  \
             name: {name}\\n  namespace: {namespace}\\n' | {kubectl} apply -f -"
        ),
    )
}

/// Members that cannot import the Service, since they lack its namespace.
fn lacking(picture: &Picture, namespace: &str) -> String {
    let key = ObjectName::cluster(namespace);
    let seen = picture.members.iter().filter(|(_, member)| member.blind.is_none());
    let lacking = seen.filter(|(_, member)| member.snapshot.namespaces.get(&key).is_none());
    let lacking: Vec<_> = lacking.map(|(name, _)| name.as_str()).collect();
    if lacking.is_empty() {
        return String::new();
    }
    format!("; there is no namespace {namespace} in {}", lacking.join(", "))
}

/// "no member ...", restricted to the members whose clusters could be read.
fn no_member(picture: &Picture, what: &str) -> String {
    let blind = picture.members.iter().filter(|(_, member)| member.blind.is_some());
    let blind: Vec<_> = blind.map(|(name, _)| name.as_str()).collect();
    if blind.is_empty() {
        format!("no member {what}")
    } else {
        format!("no member that could be read {what} (not read: {})", blind.join(", "))
    }
}
