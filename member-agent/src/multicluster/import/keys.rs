//! The keys that a change affects, each computed from the changed object alone.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, labels};
use fleet_endpointslice::MANAGER;
use fleet_model::changes::each_touched;
use fleet_model::objects::Service;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_plan::Affected;

use super::source;
use super::state::{Import, imported, is_import};
use crate::executing::services_running_in;
use crate::slicing;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Concerned;

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
    each_touched(&old.service_exports, &new.service_exports, |export| {
        if is_exported(&export.name, new) {
            add(&export.name);
        }
    });
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
        if let Some(service) = backed.as_ref().filter(|service| is_exported(service, new)) {
            add(service);
        }
        // Kubernetes' own slices of a derived Service with a selector.
        let derived = backed.filter(|_| slicing::manager(slice) == Some(MANAGER));
        let derived = derived.and_then(|name| new.services.get(&name));
        derived.and_then(beside).iter().for_each(&mut add);
    });
    each_touched(&old.services, &new.services, |service| {
        if is_exported(&service.name, new) {
            add(&service.name);
        }
        beside(service).iter().for_each(&mut add);
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
    // Only an import that another hub has confirmed depends on who has published to this one. After a hub was built anew, all
    // clusters report at once: the imports are read once for all of them.
    let mut published: HashMap<Arc<str>, HashSet<Option<Box<str>>>> = HashMap::new();
    each_touched(&old.fleet_reports, &new.fleet_reports, |report| {
        let hubs = published.entry(Arc::clone(&report.name.name)).or_default();
        hubs.insert(report.published_to.as_deref().map(Into::into));
    });
    if published.is_empty() {
        return;
    }
    for import in new.standard_imports.iter() {
        let concerns = |cluster: &str| {
            let hubs = published.get(cluster);
            hubs.is_some_and(|hubs| hubs.iter().any(|hub| hub.as_deref() != import.hub()))
        };
        if sources(import, new).any(concerns) {
            add(&import.name);
        }
    }
}

/// The clusters that an import names, or has slices of, which are written before that.
fn sources<'a>(import: &'a Import, snapshot: &'a MemberSnapshot) -> impl Iterator<Item = &'a str> {
    let named = import.status.clusters.iter().map(|named| named.cluster.as_str());
    let imported = imported(&import.name, snapshot);
    named.chain(imported.filter_map(|slice| source::cluster(&slice.slice)))
}

/// The import of a derived Service, which is beside it.
fn beside(derived: &Object<Service>) -> Option<ObjectName> {
    derived.imports().filter(|import| import.namespace == derived.name.namespace)
}

fn is_exported(service: &ObjectName, snapshot: &MemberSnapshot) -> bool {
    snapshot.standard_exports.get(service).is_some()
}

/// Adds the imports that a change of policies, drains, verdicts or zones concerns.
pub(super) fn directed(concerned: &Concerned, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    let mut add = |service: &ObjectName| keys.add_for(&service.namespace, Key(service.clone()));
    match concerned {
        Concerned::All => new.standard_imports.iter().for_each(|import| add(&import.name)),
        Concerned::Some { services, clusters } => {
            services.iter().filter(|it| new.standard_imports.get(it).is_some()).for_each(&mut add);
            if clusters.is_empty() {
                return;
            }
            let concerns = |import: &&Import| sources(import, new).any(|it| clusters.contains(it));
            new.standard_imports.iter().filter(concerns).for_each(|import| add(&import.name));
            each_running_in(clusters, new, add);
        }
    }
}

/// Adds every Service of which there is anything.
pub(super) fn all(snapshot: &MemberSnapshot, keys: &mut Affected<Key>) {
    affected(&MemberSnapshot::default(), snapshot, keys);
}

/// Adds the imported Services of which endpoints of others, or own ones on virtual nodes, run in one of these clusters.
fn each_running_in(
    clusters: &BTreeSet<String>,
    snapshot: &MemberSnapshot,
    mut add: impl FnMut(&ObjectName),
) {
    let of_others = snapshot.fleet_slices.iter().filter(|slice| {
        let mut executors = slice.executors();
        executors.any(|executor| clusters.contains(executor))
    });
    let of_others = of_others.filter_map(|slice| slice.service().cloned());
    let own = services_running_in(clusters, snapshot);
    let services: BTreeSet<ObjectName> = of_others.chain(own).collect();
    let imported = services.iter().filter(|it| snapshot.standard_imports.get(it).is_some());
    imported.for_each(&mut add);
}
