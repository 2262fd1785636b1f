//! One Service of the fleet, as the hub sees it.

use std::sync::Arc;

use fleet_accumulator::{Record, View};
use fleet_api::ObjectName;
use fleet_model::records::{
    EndpointSliceExportRecord, EndpointSliceImportRecord, HasMeta, InternalServiceExportRecord,
    InternalServiceImportRecord, NamespaceRecord, ServiceImportRecord,
};

use super::keys::{FromMember, member_of};
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// An object, and the member in whose namespace it lies.
#[derive(Debug)]
pub struct Owned<'a, T> {
    /// Name of the member cluster.
    pub member: &'a str,
    /// The object.
    pub record: &'a Record<T>,
}

// Derived, these would ask for a `T` that is `Copy`.
impl<T> Clone for Owned<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Owned<'_, T> {}

/// Everything about one Service of the fleet. Objects that claim another member's identity are
/// not in it.
#[derive(Debug)]
pub struct Fleet<'a> {
    /// What the agent was told at start.
    pub settings: &'a Settings,
    /// Namespace and name, the same in all clusters.
    pub service: &'a ObjectName,
    /// The resolved Service.
    pub import: Option<&'a Record<ServiceImportRecord>>,
    /// Exports, oldest first.
    pub exports: Vec<Owned<'a, InternalServiceExportRecord>>,
    /// Requests of importers.
    pub requests: Vec<Owned<'a, InternalServiceImportRecord>>,
    /// Exported slices, oldest first.
    pub slice_exports: Vec<Owned<'a, EndpointSliceExportRecord>>,
    /// Distributed slices.
    pub slice_imports: Vec<&'a Record<EndpointSliceImportRecord>>,
    namespaces: &'a View<NamespaceRecord>,
}

impl<'a> Fleet<'a> {
    /// Gathers a Service from a snapshot; cost follows the Service, not the fleet.
    pub fn of(settings: &'a Settings, service: &'a ObjectName, snapshot: &'a HubSnapshot) -> Self {
        let import = snapshot.service_imports.get(service);
        Self {
            settings,
            service,
            // On a hub that is also a member, an import made for a MultiClusterService is not ours.
            import: import.filter(|import| import.meta.controller_owner().is_none()),
            exports: owned(snapshot.internal_exports.by(service)),
            requests: owned(snapshot.internal_imports.by(service)),
            slice_exports: owned(snapshot.slice_exports.by(service)),
            slice_imports: snapshot.slice_imports.by(service).collect(),
            namespaces: &snapshot.namespaces,
        }
    }

    /// Whether a previous withdrawal of the Service is still under way.
    pub fn import_is_terminating(&self) -> bool {
        self.import.is_some_and(|import| import.meta.is_terminating())
    }

    /// Exports that are not being deleted, oldest first.
    pub fn live_exports(&self) -> impl Iterator<Item = Owned<'a, InternalServiceExportRecord>> {
        self.exports.iter().copied().filter(|export| !export.record.meta.is_terminating())
    }

    /// Whether new objects can be made in a namespace.
    pub fn takes_objects(&self, namespace: &str) -> bool {
        let name = ObjectName::cluster(Arc::<str>::from(namespace));
        self.namespaces.get(&name).is_some_and(|namespace| !namespace.terminating)
    }
}

/// Age is the hub's creation time, then the member, then the uid: the same for every observer.
fn owned<'a, T: FromMember + HasMeta>(
    records: impl Iterator<Item = &'a Record<T>>,
) -> Vec<Owned<'a, T>> {
    let mut owned: Vec<_> =
        records.filter_map(|record| Some(Owned { member: member_of(record)?, record })).collect();
    owned.sort_by(|a, b| {
        let age = |owned: &Owned<'a, T>| (owned.record.meta().created, owned.member);
        age(a).cmp(&age(b)).then_with(|| a.record.uid.cmp(&b.record.uid))
    });
    owned
}
