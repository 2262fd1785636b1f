//! One Service of the fleet, as this member imports it.

use fleet_accumulator::{Record, Uid};
use fleet_api::ObjectName;
use fleet_model::records::{
    EndpointSliceImportRecord, EndpointSliceRecord, InternalServiceImportRecord,
    MultiClusterServiceRecord, ServiceImportRecord, ServiceIndex, ServiceRecord, SliceIndex,
};
use jiff::Timestamp;

use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings};

/// A user's wish to import: a MultiClusterService.
pub(super) type Wish = Record<MultiClusterServiceRecord>;

/// Everything the import of one Service depends on.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) identity: &'a Identity,
    pub(super) service: &'a ObjectName,
    pub(super) snapshot: &'a MemberSnapshot,
    pub(super) now: Timestamp,
    /// MultiClusterServices that name the Service, oldest first.
    pub(super) wishes: Vec<&'a Wish>,
    /// The import made for one of them.
    pub(super) import: Option<&'a Record<ServiceImportRecord>>,
    /// Our requests on the hub.
    pub(super) requests: Vec<&'a Record<InternalServiceImportRecord>>,
    /// Slices that the hub distributed.
    pub(super) copies: Vec<&'a Record<EndpointSliceImportRecord>>,
}

impl<'a> Subject<'a> {
    pub(super) fn of(
        settings: &'a Settings,
        service: &'a ObjectName,
        snapshot: &'a MemberSnapshot,
        now: Timestamp,
    ) -> Self {
        let mut wishes: Vec<_> = snapshot.multi_cluster_services.by(service).collect();
        wishes.sort_by(|a, b| (a.meta.created, &a.name).cmp(&(b.meta.created, &b.name)));
        Self {
            identity: &settings.identity,
            service,
            snapshot,
            now,
            wishes,
            import: snapshot.service_imports.get(service),
            requests: snapshot.internal_imports.by(service).collect(),
            copies: snapshot.slice_imports.by(service).collect(),
        }
    }

    /// Wishes that are not being deleted, oldest first.
    pub(super) fn live_wishes(&self) -> impl Iterator<Item = &'a Wish> {
        self.wishes.iter().copied().filter(|wish| !wish.meta.is_terminating())
    }

    /// Slices in the system namespace that were imported for this Service.
    pub(super) fn imported(&self) -> impl Iterator<Item = &'a Record<EndpointSliceRecord>> {
        let system = self.identity.system_namespace.as_str();
        let imported = SliceIndex::ImportedFor(self.service.clone());
        let slices: Vec<_> = self.snapshot.endpoint_slices.by(&imported).collect();
        slices.into_iter().filter(move |slice| *slice.name.namespace == *system)
    }

    /// Derived Services that say they belong to this Service.
    pub(super) fn derived(&self) -> Vec<&'a Record<ServiceRecord>> {
        let index = ServiceIndex::Imports(self.service.clone());
        let services = self.snapshot.services.by(&index);
        services.filter(|service| self.is_in_system(&service.name)).collect()
    }

    /// Derived Services of one MultiClusterService; ownership is proven by labels and uid.
    pub(super) fn derived_of(&self, wish: &Wish) -> Vec<&'a Record<ServiceRecord>> {
        derived_of(self.identity, wish, self.snapshot)
    }

    /// Whether a name lies in the system namespace.
    fn is_in_system(&self, name: &ObjectName) -> bool {
        *name.namespace == *self.identity.system_namespace
    }

    /// Where an object of this name lies in the system namespace.
    pub(super) fn in_system(&self, name: &str) -> ObjectName {
        ObjectName::new(self.identity.system_namespace.as_str(), name)
    }

    /// Whether a uid is that of a live wish for this Service.
    pub(super) fn is_live_wish(&self, uid: &Uid) -> bool {
        self.live_wishes().any(|wish| wish.uid == *uid)
    }
}

/// Services in the system namespace whose labels point back to a MultiClusterService, and whose
/// uid mark, if any, is that of this very one.
pub(super) fn derived_of<'a>(
    identity: &Identity,
    wish: &Wish,
    snapshot: &'a MemberSnapshot,
) -> Vec<&'a Record<ServiceRecord>> {
    let index = ServiceIndex::DerivedFor(wish.name.clone());
    let services: Vec<_> = snapshot.services.by(&index).collect();
    services
        .into_iter()
        .filter(|service| *service.name.namespace == *identity.system_namespace)
        .filter(|service| is_marked_for(service, &wish.uid))
        .collect()
}

/// Whether the uid mark of a derived Service is absent (a Go agent made it) or as given.
fn is_marked_for(service: &Record<ServiceRecord>, uid: &Uid) -> bool {
    let mark = service.meta.annotation(fleet_api::annotations::MULTI_CLUSTER_SERVICE_UID);
    mark.is_none_or(|mark| *mark == uid.to_string())
}
