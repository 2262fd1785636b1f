//! The objects of one Service of the fleet, in one snapshot of the hub.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use fleet_accumulator::{Object, Uid};
use fleet_api::{ObjectName, finalizers};
use fleet_model::hub_schema::HubSchema;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::{
    EndpointSliceExport, EndpointSliceImport, HasMeta, InternalServiceExport,
    InternalServiceImport, ServiceImport, named,
};

use super::keys::{FromMember, owner_of};
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// An object in a member's namespace on the hub.
#[derive(Debug)]
pub struct Owned<'a, T> {
    /// Name of the member cluster.
    pub member: &'a str,
    /// The object.
    pub object: &'a Object<T>,
}

// Derived implementations would require `T: Copy`.
impl<T> Clone for Owned<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Owned<'_, T> {}

/// A member's export of the Service.
pub type Export<'a> = Owned<'a, InternalServiceExport>;
/// A member's request to import the Service.
pub type Request<'a> = Owned<'a, InternalServiceImport>;
/// A slice of the Service that a member exports.
pub type SliceExport<'a> = Owned<'a, EndpointSliceExport>;

/// The objects of one Service of the fleet, without those whose reference is invalid.
#[derive(Debug)]
pub struct ServiceState<'a> {
    /// Settings of the agent.
    pub settings: &'a Settings,
    /// Which fields of slices the hub serves; `None` until that is known.
    pub schema: Option<HubSchema>,
    /// Namespace and name, the same in all clusters.
    pub service: &'a ObjectName,
    /// The ServiceImport on the hub.
    pub import: Option<&'a Object<ServiceImport>>,
    /// Exports, oldest first.
    pub exports: Vec<Export<'a>>,
    /// Requests, oldest first.
    pub requests: Vec<Request<'a>>,
    /// Exports and requests that do not count, because their member has an older one that is not being deleted: by uid,
    /// with the name of that one.
    duplicates: BTreeMap<&'a Uid, &'a ObjectName>,
    /// Exported slices, oldest first.
    pub slice_exports: Vec<SliceExport<'a>>,
    /// Copies of exported slices, in the importers' namespaces.
    pub slice_imports: Vec<&'a Object<EndpointSliceImport>>,
    pub(super) snapshot: &'a HubSnapshot,
}

impl<'a> ServiceState<'a> {
    /// Reads a Service from a snapshot; the cost depends on the size of the Service, not of the fleet.
    pub fn of(settings: &'a Settings, service: &'a ObjectName, snapshot: &'a HubSnapshot) -> Self {
        let import = snapshot.service_imports.get(service);
        let exports = owned(snapshot.internal_exports.by(service));
        let requests = owned(snapshot.internal_imports.by(service));
        Self {
            settings,
            schema: HubSchema::known(&snapshot.schema),
            service,
            // On a hub that is also a member, a MultiClusterService owns the ServiceImport of the member agent.
            import: import.filter(|import| import.meta.controller_owner().is_none()),
            duplicates: duplicates(&exports).chain(duplicates(&requests)).collect(),
            exports,
            requests,
            slice_exports: owned(snapshot.slice_exports.by(service)),
            slice_imports: snapshot.slice_imports.by(service).collect(),
            snapshot,
        }
    }

    /// The ServiceImport, unless it is being deleted.
    pub fn live_import(&self) -> Option<&'a Object<ServiceImport>> {
        self.import.filter(|import| !import.meta.is_terminating())
    }

    /// The ServiceImport, if it is being deleted and has no finalizer but the hub agent's.
    pub fn releasable_import(&self) -> Option<&'a Object<ServiceImport>> {
        let import = self.import.filter(|import| import.meta.is_terminating())?;
        let mut finalizers = import.meta.finalizers.iter();
        finalizers.all(|finalizer| **finalizer == *finalizers::SERVICE_IMPORT).then_some(import)
    }

    /// Whether objects can be created in the namespace of the Service.
    pub fn namespace_accepts_objects(&self) -> bool {
        namespace_accepts_objects(&self.snapshot.namespaces, &self.service.namespace)
    }

    /// Exports that are not being deleted, the oldest of each member, oldest first.
    pub fn live_exports(&self) -> impl Iterator<Item = Export<'a>> {
        self.counting(&self.exports)
    }

    /// Exports of members that have an older one, with the name of that one.
    pub fn duplicate_exports(&self) -> impl Iterator<Item = (Export<'a>, &'a ObjectName)> {
        self.duplicates_in(&self.exports)
    }

    /// Exports that are being deleted, oldest first.
    pub fn terminating_exports(&self) -> impl Iterator<Item = Export<'a>> {
        self.exports.iter().copied().filter(|export| export.object.meta.is_terminating())
    }

    /// Requests that are not being deleted, the oldest of each member, oldest first.
    pub fn live_requests(&self) -> impl Iterator<Item = Request<'a>> {
        self.counting(&self.requests)
    }

    /// Requests of members that have an older one, with the name of that one.
    pub fn duplicate_requests(&self) -> impl Iterator<Item = (Request<'a>, &'a ObjectName)> {
        self.duplicates_in(&self.requests)
    }

    /// Requests that are being deleted, oldest first.
    pub fn terminating_requests(&self) -> impl Iterator<Item = Request<'a>> {
        self.requests.iter().copied().filter(|request| request.object.meta.is_terminating())
    }

    fn counting<T: HasMeta>(&self, owned: &[Owned<'a, T>]) -> impl Iterator<Item = Owned<'a, T>> {
        let counts = |it: &Owned<'a, T>| {
            !it.object.meta().is_terminating() && !self.duplicates.contains_key(&it.object.uid)
        };
        owned.iter().copied().filter(counts)
    }

    fn duplicates_in<T>(
        &self,
        owned: &[Owned<'a, T>],
    ) -> impl Iterator<Item = (Owned<'a, T>, &'a ObjectName)> {
        owned.iter().filter_map(|it| Some((*it, *self.duplicates.get(&it.object.uid)?)))
    }

    /// Copies of slices of this name in all namespaces, of any Service.
    pub fn copies_named(
        &self,
        name: &Arc<str>,
    ) -> impl Iterator<Item = &'a Object<EndpointSliceImport>> + use<'a> {
        self.snapshot.slice_imports.by(&named(name))
    }

    /// Exported slices of this name in all namespaces, of any Service.
    pub fn slices_named(&self, name: &Arc<str>) -> impl Iterator<Item = SliceExport<'a>> + use<'a> {
        let slices = self.snapshot.slice_exports.by(&named(name));
        slices.filter_map(|object| Some(Owned { member: owner_of(object)?, object }))
    }
}

/// Objects that are not being deleted of members that have an older such object: by uid, with the name of that one.
fn duplicates<'a, T: HasMeta>(
    owned: &[Owned<'a, T>],
) -> impl Iterator<Item = (&'a Uid, &'a ObjectName)> {
    let mut oldest = BTreeMap::new();
    let live = owned.iter().filter(|it| !it.object.meta().is_terminating());
    live.filter_map(move |it| match oldest.entry(it.member) {
        Entry::Vacant(entry) => {
            entry.insert(&it.object.name);
            None
        }
        Entry::Occupied(entry) => Some((&it.object.uid, *entry.get())),
    })
}

/// Sorts by creation time on the hub, then member, then uid, so that every hub agent has the same order.
fn owned<'a, T: FromMember + HasMeta>(
    objects: impl Iterator<Item = &'a Object<T>>,
) -> Vec<Owned<'a, T>> {
    let owned = |object| owner_of(object).map(|member| Owned { member, object });
    let mut owned: Vec<_> = objects.filter_map(owned).collect();
    owned.sort_by(|a, b| {
        let age = |owned: &Owned<'a, T>| (owned.object.meta().created, owned.member);
        age(a).cmp(&age(b)).then_with(|| a.object.uid.cmp(&b.object.uid))
    });
    owned
}
