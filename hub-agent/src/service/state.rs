//! One Service of the fleet, as the hub sees it.

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, finalizers};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::{
    EndpointSliceExport, EndpointSliceImport, HasMeta, InternalServiceExport,
    InternalServiceImport, ServiceImport, named,
};
use fleet_model::served::Served;

use super::keys::{FromMember, owner_of};
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// An object, and the member in whose namespace it lies.
#[derive(Debug)]
pub struct Owned<'a, T> {
    /// Name of the member cluster.
    pub member: &'a str,
    /// The object.
    pub object: &'a Object<T>,
}

// Derived, these would ask for a `T` that is `Copy`.
impl<T> Clone for Owned<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Owned<'_, T> {}

/// Everything about one Service of the fleet. Objects whose references are refused are not in it.
#[derive(Debug)]
pub struct ServiceState<'a> {
    /// What the agent was told at start.
    pub settings: &'a Settings,
    /// What slices can carry.
    pub served: Option<Served>,
    /// Namespace and name, the same in all clusters.
    pub service: &'a ObjectName,
    /// The resolved Service.
    pub import: Option<&'a Object<ServiceImport>>,
    /// Exports, oldest first.
    pub exports: Vec<Owned<'a, InternalServiceExport>>,
    /// Requests of importers, oldest first.
    pub requests: Vec<Owned<'a, InternalServiceImport>>,
    /// Exported slices, oldest first.
    pub slice_exports: Vec<Owned<'a, EndpointSliceExport>>,
    /// Distributed slices.
    pub slice_imports: Vec<&'a Object<EndpointSliceImport>>,
    pub(super) snapshot: &'a HubSnapshot,
}

impl<'a> ServiceState<'a> {
    /// Gathers a Service from a snapshot; cost follows the Service, not the fleet.
    pub fn of(settings: &'a Settings, service: &'a ObjectName, snapshot: &'a HubSnapshot) -> Self {
        let import = snapshot.service_imports.get(service);
        Self {
            settings,
            served: settings.served.get(),
            service,
            // On a hub that is also a member, an import made for a MultiClusterService is not ours.
            import: import.filter(|import| import.meta.controller_owner().is_none()),
            exports: owned(snapshot.internal_exports.by(service)),
            requests: owned(snapshot.internal_imports.by(service)),
            slice_exports: owned(snapshot.slice_exports.by(service)),
            slice_imports: snapshot.slice_imports.by(service).collect(),
            snapshot,
        }
    }

    /// The resolved Service, if it is on its way out and nobody else holds it back.
    pub fn releasable_import(&self) -> Option<&'a Object<ServiceImport>> {
        let import = self.import.filter(|import| import.meta.is_terminating());
        import.filter(|import| {
            import
                .meta
                .finalizers
                .iter()
                .all(|finalizer| **finalizer == *finalizers::SERVICE_IMPORT)
        })
    }

    /// Whether the namespace of the Service can take new objects.
    pub fn namespace_accepts_objects(&self) -> bool {
        namespace_accepts_objects(&self.snapshot.namespaces, &self.service.namespace)
    }

    /// Exports that are not being deleted, oldest first.
    pub fn live_exports(&self) -> impl Iterator<Item = Owned<'a, InternalServiceExport>> {
        self.exports.iter().copied().filter(|export| !export.object.meta.is_terminating())
    }

    /// Requests that are not being deleted, oldest first.
    pub fn live_requests(&self) -> impl Iterator<Item = Owned<'a, InternalServiceImport>> {
        self.requests.iter().copied().filter(|request| !request.object.meta.is_terminating())
    }

    /// Distributed slices of a name in all namespaces, whatever Service they say they are of.
    pub fn copies_named(
        &self,
        name: &Arc<str>,
    ) -> impl Iterator<Item = &'a Object<EndpointSliceImport>> + use<'a> {
        self.snapshot.slice_imports.by(&named(name))
    }

    /// Exported slices of a name in all namespaces, whatever Service they are of.
    pub fn slices_named(
        &self,
        name: &Arc<str>,
    ) -> impl Iterator<Item = Owned<'a, EndpointSliceExport>> + use<'a> {
        let slices = self.snapshot.slice_exports.by(&named(name));
        slices.filter_map(|object| Some(Owned { member: owner_of(object)?, object }))
    }
}

/// Age is the hub's creation time, then the member, then the uid: the same for every observer.
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
