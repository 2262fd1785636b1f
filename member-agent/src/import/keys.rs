//! The keys that a change affects, each computed from the changed object alone.

use std::fmt;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, ResourceKind, kinds, names};
use fleet_model::changes::each_touched;
use fleet_model::cidr::Cidrs;
use fleet_model::objects::{
    EndpointSlice, EndpointSliceImport, InternalServiceImport, MultiClusterService, Service, Wanted,
};
use fleet_plan::{Account, Affected};

use crate::Identity;
use crate::executing::services_running_in;
use crate::reserved;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Concerned;

/// A key of the import controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A Service of the fleet.
    Service(ObjectName),
    /// A MultiClusterService that names no Service.
    Mcs(ObjectName),
    /// An object in this member's namespace on the hub whose reference names no Service.
    InvalidReference(ResourceKind, ObjectName),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => service.fmt(f),
            Self::Mcs(name) => write!(f, "MultiClusterService {name}"),
            Self::InvalidReference(kind, name) => write!(f, "{} {name}", kind.kind),
        }
    }
}

impl Key {
    fn namespace(&self) -> &Account {
        let (Self::Service(name) | Self::Mcs(name) | Self::InvalidReference(_, name)) = self;
        &name.namespace
    }
}

/// Plans what a user has changed, on the account of the namespace: what thousands of imports of another user need comes in turn.
fn add(keys: &mut Affected<Key>, key: Key) {
    let namespace = Account::clone(key.namespace());
    keys.add_for(&namespace, key);
}

/// The key of a MultiClusterService as it is now.
pub(super) fn of_mcs(mcs: &Object<MultiClusterService>) -> Key {
    mcs.imports(&mcs.name.namespace).map_or_else(|| Key::Mcs(mcs.name.clone()), Key::Service)
}

fn of_request(request: &Object<InternalServiceImport>) -> Key {
    request.reference.object().cloned().map_or_else(
        || Key::InvalidReference(kinds::INTERNAL_SERVICE_IMPORT, request.name.clone()),
        Key::Service,
    )
}

/// Adds the keys that own what changed, before and after the change.
pub(super) fn affected(
    identity: &Identity,
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    keys: &mut Affected<Key>,
) {
    each_touched(&old.multi_cluster_services, &new.multi_cluster_services, |mcs| {
        add(keys, of_mcs(mcs));
        // One whose spec names another Service now keeps its derived Service: the former import is affected, too.
        new.service_imports.by(&mcs.uid).for_each(|import| {
            add(keys, Key::Service(import.name.clone()));
        });
    });
    each_touched(&old.namespaces, &new.namespaces, |namespace| {
        let name = &namespace.name.name;
        let all_mcs = &new.multi_cluster_services;
        if **name == *identity.system_namespace {
            all_mcs.iter().for_each(|mcs| add(keys, of_mcs(mcs)));
        }
        all_mcs.in_namespace(name).for_each(|mcs| add(keys, of_mcs(mcs)));
    });
    each_touched(&old.service_imports, &new.service_imports, |import| {
        add(keys, Key::Service(import.name.clone()));
        // The finalizer of a MultiClusterService is removed only when none of its imports remains.
        if let Some(owner) = import.meta.controller_owner() {
            let owner = ObjectName::new(import.name.namespace.clone(), owner.name.as_str());
            new.multi_cluster_services
                .get(&owner)
                .into_iter()
                .for_each(|mcs| add(keys, of_mcs(mcs)));
        }
    });
    each_touched(&old.services, &new.services, |service| {
        of_derived(identity, service, new).for_each(|key| add(keys, key));
        if is_freed(identity, service, new) {
            each_named(&service.name.name, new, keys);
        }
    });
    let mut reserved = Reserved::changed(old, new);
    each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
        if let Some(service) = of_imported(identity, slice, new) {
            add(keys, Key::Service(service));
        }
        if reserved::is_of_api_server(slice) {
            reserved.addresses.extend(reserved::addresses(slice));
        }
    });
    each_touched(&old.internal_imports, &new.internal_imports, |request| {
        add(keys, of_request(request));
    });
    each_touched(&old.slice_imports, &new.slice_imports, |copy| {
        keys.add_for(&Account::from(copy.origin()), of_copy(copy));
    });
    if !reserved.is_empty() {
        let copies = new.slice_imports.iter().filter(|copy| reserved.concerns(copy));
        copies.for_each(|copy| keys.add_for(&Account::from(copy.origin()), of_copy(copy)));
    }
}

fn of_copy(copy: &Object<EndpointSliceImport>) -> Key {
    copy.spec.owner_service_reference.object().map_or_else(
        || Key::InvalidReference(kinds::ENDPOINT_SLICE_IMPORT, copy.name.clone()),
        Key::Service,
    )
}

/// Addresses that have become reserved in this cluster, or no longer are.
#[derive(Default)]
struct Reserved {
    addresses: Wanted,
    ranges: Vec<Cidrs>,
}

impl Reserved {
    /// Those of Nodes and Services.
    fn changed(old: &MemberSnapshot, new: &MemberSnapshot) -> Self {
        let mut changed = Self::default();
        each_touched(&old.node_addresses, &new.node_addresses, |node| {
            changed.addresses.extend(node.0.iter().copied());
        });
        each_touched(&old.service_cidrs, &new.service_cidrs, |range| {
            changed.ranges.push(range.cidrs.clone());
        });
        changed
    }

    fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.ranges.is_empty()
    }

    /// Whether a copy has one of them. Nodes come and go all day, so their addresses are looked up; for a range, which is rare,
    /// all are read.
    fn concerns(&self, copy: &Object<EndpointSliceImport>) -> bool {
        let in_range = |address| self.ranges.iter().any(|range| range.find(address).is_some());
        let is_in_range = |text: &str| text.parse().is_ok_and(in_range);
        (!self.addresses.is_empty() && copy.has_any(&self.addresses))
            || (!self.ranges.is_empty() && copy.addresses().any(is_in_range))
    }
}

/// The keys of a derived Service, from its annotation and from the MultiClusterService in its labels: a Go agent sets
/// the labels only.
fn of_derived<'a>(
    identity: &Identity,
    service: &'a Object<Service>,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = Key> + 'a {
    let derived = *service.name.namespace == *identity.system_namespace;
    let named = service.imports().filter(|_| derived).map(Key::Service);
    let mcs = service.derived_for().filter(|_| derived);
    let mcs = mcs.and_then(|mcs| snapshot.multi_cluster_services.get(&mcs));
    named.into_iter().chain(mcs.map(of_mcs))
}

/// Whether a Service in the system namespace that was no derived one is gone, so that its name is free.
fn is_freed(identity: &Identity, service: &Object<Service>, snapshot: &MemberSnapshot) -> bool {
    *service.name.namespace == *identity.system_namespace
        && service.derived_for().is_none()
        && snapshot.services.get(&service.name).is_none()
}

/// Adds the MultiClusterServices whose derived Service could have `name`. It reads all of them, which is fine for a
/// rare change.
fn each_named(name: &str, snapshot: &MemberSnapshot, keys: &mut Affected<Key>) {
    let could = |mcs: &&Object<MultiClusterService>| {
        names::derived_service_candidates(&mcs.name).any(|candidate| candidate == name)
    };
    snapshot.multi_cluster_services.iter().filter(could).for_each(|mcs| add(keys, of_mcs(mcs)));
}

/// The Service that a slice was imported for, from its annotation; for a slice of a Go agent, from the
/// EndpointSliceImport of the same name.
fn of_imported(
    identity: &Identity,
    slice: &Object<EndpointSlice>,
    snapshot: &MemberSnapshot,
) -> Option<ObjectName> {
    if *slice.name.namespace != *identity.system_namespace {
        return None;
    }
    slice.imported_for().or_else(|| {
        let name = identity.copy_of(&slice.name);
        snapshot.slice_imports.get(&name)?.spec.owner_service_reference.object()
    })
}

/// Adds the imports that a change of policies, drains, verdicts or zones concerns.
pub(super) fn directed(concerned: &Concerned, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    match concerned {
        Concerned::All => new.multi_cluster_services.iter().for_each(|mcs| add(keys, of_mcs(mcs))),
        Concerned::Some { services, clusters } => {
            for service in services {
                add(keys, Key::Service(service.clone()));
            }
            if clusters.is_empty() {
                return;
            }
            let runs_in_one = |copy: &EndpointSliceImport| {
                let mut executors = copy.executors();
                executors.any(|executor| clusters.contains(executor))
            };
            let copies = new.slice_imports.iter();
            let concerned =
                copies.filter(|copy| clusters.contains(copy.origin()) || runs_in_one(copy));
            concerned.for_each(|copy| keys.add_for(&Account::from(copy.origin()), of_copy(copy)));
            // The hub's definitions may lack where own endpoints run.
            for service in services_running_in(clusters, new) {
                if new.multi_cluster_services.by(&service).next().is_some() {
                    add(keys, Key::Service(service));
                }
            }
        }
    }
}

/// Adds the imports of slices that are read whole, and those of Services that this cluster exports itself.
pub(super) fn of_slices(
    identity: &Identity,
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    keys: &mut Affected<Key>,
) {
    each_touched(&old.managed_slices, &new.managed_slices, |slice| {
        let slice = new.endpoint_slices.get(&slice.name);
        let service = slice.and_then(|slice| of_imported(identity, slice, new));
        if let Some(service) = service {
            add(keys, Key::Service(service));
        }
    });
    each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
        let backed = slice.backs(&slice.name.namespace);
        let is_imported =
            |service: &ObjectName| new.multi_cluster_services.by(service).next().is_some();
        let exported = backed.filter(is_imported);
        if let Some(service) = exported {
            add(keys, Key::Service(service));
        }
    });
}
