//! The keys that a change affects, each computed from the changed object alone.

use std::fmt;

use fleet_api::{ObjectName, labels};
use fleet_model::changes::each_touched;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_plan::Affected;

use super::state::{Import, imported, is_import};
use super::{source, target};
use crate::snapshot::MemberSnapshot;

/// A Service of the clusterset that is or may be imported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub ObjectName);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Adds the Services that a change concerns: those of namespaces that this cluster has, and those that it has objects of.
pub(super) fn affected(old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    let has_namespace = |service: &ObjectName| {
        new.namespaces.get(&ObjectName::cluster(service.namespace.as_ref())).is_some()
    };
    let mut add = |service: &ObjectName| keys.add_for(&service.namespace, Key(service.clone()));
    each_touched(&old.resolved_services, &new.resolved_services, |resolved| {
        if has_namespace(&resolved.service) {
            add(&resolved.service);
        }
    });
    each_touched(&old.fleet_slices, &new.fleet_slices, |slice| {
        if let Some(service) = slice.service().filter(|service| has_namespace(service)) {
            add(service);
        }
    });
    each_touched(&old.standard_imports, &new.standard_imports, |import| add(&import.name));
    each_touched(&old.standard_exports, &new.standard_exports, |export| add(&export.name));
    each_touched(&old.exported_services, &new.exported_services, |exported| {
        exported.service.iter().for_each(&mut add);
    });
    each_touched(&old.managed_slices, &new.managed_slices, |slice| {
        let managed = slice.managed(&slice.name.namespace);
        let ours = managed.filter(|it| *it.manager == *labels::MANAGED_BY_MULTICLUSTER);
        if let Some(managed) = ours {
            add(&managed.service);
        }
    });
    each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
        let backed = slice.backs(&slice.name.namespace);
        // What a derived Service has is imported, and found by the other watch.
        if let Some(service) = backed.filter(|service| is_exported(service, new)) {
            add(&service);
        }
    });
    each_touched(&old.services, &new.services, |service| {
        if is_exported(&service.name, new) {
            add(&service.name);
        }
        // A derived Service is beside its import.
        let beside = service.imports();
        let beside = beside.filter(|it| it.namespace == service.name.namespace);
        beside.iter().for_each(&mut add);
        let names = service.meta.owners.iter().map(|owner| owner.name.as_str());
        for name in names.filter(|name| service.meta.owners.iter().any(|it| is_import(it, name))) {
            add(&ObjectName::new(service.name.namespace.clone(), name));
        }
    });
    each_touched(&old.namespaces, &new.namespaces, |namespace| {
        let index = ResolvedService::of_namespace(&namespace.name.name);
        for resolved in new.resolved_services.by(&index) {
            add(&resolved.service);
        }
        for import in new.standard_imports.in_namespace(&namespace.name.name) {
            add(&import.name);
        }
    });
    each_touched(&old.fleet_reports, &new.fleet_reports, |report| {
        // Only an import that another hub has confirmed depends on who has published to this one.
        let (hub, cluster) = (report.published_to.as_deref(), &*report.name.name);
        for import in new.standard_imports.iter().filter(|import| import.hub() != hub) {
            if is_from(import, cluster, new) {
                add(&import.name);
            }
        }
    });
}

/// Whether an import names a cluster, or has slices of it, which are written before that.
fn is_from(import: &Import, cluster: &str, snapshot: &MemberSnapshot) -> bool {
    let mut imported = imported(&import.name, snapshot);
    target::clusters(import).iter().any(|named| named == cluster)
        || imported.any(|slice| source::cluster(&slice.slice) == Some(cluster))
}

fn is_exported(service: &ObjectName, snapshot: &MemberSnapshot) -> bool {
    snapshot.standard_exports.get(service).is_some()
}

/// Adds every Service of which there is anything.
pub(super) fn all(snapshot: &MemberSnapshot, keys: &mut Affected<Key>) {
    affected(&MemberSnapshot::default(), snapshot, keys);
}
