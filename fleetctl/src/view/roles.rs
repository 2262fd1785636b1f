//! Who exports and who imports each Service.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::ObjectName;

use crate::picture::{Member, Picture};
use crate::status::{StandardServiceStatus, Status};

/// The members that take part in one Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) exporters: BTreeSet<String>,
    pub(super) importers: BTreeSet<String>,
}

/// Every Service with its members: those that the hub knows, and those whose agents have not written it there.
pub(super) fn roles(picture: &Picture, status: &Status) -> BTreeMap<ObjectName, Roles> {
    let mut all = BTreeMap::<ObjectName, Roles>::new();
    for service in &status.standard_services {
        add_standard(&mut all, service);
    }
    for (name, member) in &picture.members {
        add_own(&mut all, name, member);
    }
    all
}

fn add_standard(all: &mut BTreeMap<ObjectName, Roles>, service: &StandardServiceStatus) {
    let StandardServiceStatus { name, exporters, refused, importers, waiting, .. } = service;
    let Some(name) = ObjectName::parse(name) else { return };
    let roles = all.entry(name).or_default();
    roles.exporters.extend(exporters.iter().chain(refused).cloned());
    roles.importers.extend(importers.iter().chain(waiting).cloned());
}

/// What a member takes part in by networking.fleet.azure.com: what its users want, and what is on the hub for it.
fn add_own(all: &mut BTreeMap<ObjectName, Roles>, member: &str, own: &Member) {
    let snapshot = &own.snapshot;
    let wanted = snapshot.service_exports.iter().map(|export| export.name.clone());
    let on_hub = snapshot.internal_exports.iter();
    let on_hub = on_hub.filter_map(|export| export.reference.object().cloned());
    for service in wanted.chain(on_hub) {
        all.entry(service).or_default().exporters.insert(member.to_owned());
    }
    let wanted = snapshot.multi_cluster_services.iter();
    let wanted = wanted.filter_map(|import| import.imports(&import.name.namespace));
    let on_hub = snapshot.internal_imports.iter();
    let on_hub = on_hub.filter_map(|request| request.reference.object().cloned());
    for service in wanted.chain(on_hub) {
        all.entry(service).or_default().importers.insert(member.to_owned());
    }
}
