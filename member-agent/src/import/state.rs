//! One Service of the fleet and the objects of its import.

use fleet_accumulator::{Object, Uid};
use fleet_api::{ObjectName, annotations, finalizers, labels};
use fleet_model::objects::{
    EndpointSlice, EndpointSliceImport, InternalServiceImport, MultiClusterService, Service,
    ServiceImport, ServiceIndex, SliceIndex,
};
use fleet_model::owners::{is_controlled_by_mcs, is_mcs};
use jiff::Timestamp;

use super::refusal::{self, Refusal};
use crate::other_hub::OtherHub;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Ground;
use crate::{Identity, Settings};

/// A MultiClusterService of the snapshot.
pub(super) type Mcs = Object<MultiClusterService>;

/// Everything the import of one Service depends on.
#[derive(Debug)]
pub(super) struct ServiceState<'a> {
    pub(super) settings: &'a Settings,
    pub(super) identity: &'a Identity,
    pub(super) service: &'a ObjectName,
    pub(super) snapshot: &'a MemberSnapshot,
    pub(super) now: Timestamp,
    /// Why nothing is imported into the namespace; `None` if Services can be.
    pub(super) refusal: Option<Refusal>,
    /// Whether this cluster is the hub, too: a ServiceImport that no MultiClusterService owns is then
    /// the hub's, and none is made beside it.
    pub(super) in_hub: bool,
    /// MultiClusterServices that name the Service, oldest first.
    pub(super) multi_cluster_services: Vec<&'a Mcs>,
    /// The ServiceImport made for one of them.
    pub(super) import: Option<&'a Object<ServiceImport>>,
    /// This member's requests on the hub.
    pub(super) requests: Vec<&'a Object<InternalServiceImport>>,
    /// Slices that the hub distributed to this member.
    pub(super) copies: Vec<&'a Object<EndpointSliceImport>>,
    /// The hub, if it is another one than that which is followed.
    pub(super) other_hub: Option<OtherHub<'a>>,
    /// What directs the traffic, if policies do.
    pub(super) ground: Option<Ground<'a>>,
}

impl<'a> ServiceState<'a> {
    pub(super) fn of(
        settings: &'a Settings,
        service: &'a ObjectName,
        snapshot: &'a MemberSnapshot,
        now: Timestamp,
    ) -> Self {
        let mut multi_cluster_services: Vec<_> =
            snapshot.multi_cluster_services.by(service).collect();
        multi_cluster_services
            .sort_by(|a, b| (a.meta.created, &a.name).cmp(&(b.meta.created, &b.name)));
        let in_hub = in_hub(&settings.identity, snapshot);
        let import = snapshot.service_imports.get(service);
        let of_hub =
            |import: &&Object<ServiceImport>| in_hub && !is_controlled_by_mcs(&import.object.meta);
        Self {
            settings,
            identity: &settings.identity,
            refusal: refusal::of(settings, service, snapshot),
            service,
            snapshot,
            now,
            multi_cluster_services,
            in_hub,
            import: import.filter(|import| !of_hub(import)),
            requests: snapshot.internal_imports.by(service).collect(),
            copies: snapshot.slice_imports.by(service).collect(),
            other_hub: None,
            ground: None,
        }
    }

    /// MultiClusterServices that may import, oldest first.
    pub(super) fn live_multi_cluster_services(&self) -> impl Iterator<Item = &'a Mcs> {
        let served = self.refusal.is_none();
        self.multi_cluster_services
            .iter()
            .copied()
            .filter(move |mcs| served && !mcs.meta.is_terminating())
    }

    /// The MultiClusterService that the ServiceImport was made for.
    pub(super) fn import_owner(&self) -> Option<Uid> {
        let owner = self.import?.object.meta.controller_owner()?;
        is_mcs(owner).then(|| Uid::from(owner.uid.as_str()))
    }

    /// The MultiClusterService that held the ServiceImport before its owner reference was removed.
    ///
    /// The finalizer and the request with its uid prove that this agent made the ServiceImport; the label that only
    /// holders get names who held it.
    pub(super) fn disowned(&self) -> Option<&'a Mcs> {
        let import = self.import?;
        let asked = |request: &&Object<InternalServiceImport>| import.uid == request.reference.uid;
        let ours = import.object.meta.controller_owner().is_none()
            && !import.meta.is_terminating()
            && import.meta.has_finalizer(finalizers::SERVICE_IMPORT)
            && self.requests.iter().any(asked);
        let held = |mcs: &&Mcs| mcs.meta.label(labels::SERVICE_IMPORT) == Some(&*self.service.name);
        self.live_multi_cluster_services().find(held).filter(|_| ours)
    }

    /// Slices in the system namespace that were imported for this Service.
    pub(super) fn imported(&self) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
        let system = self.identity.system_namespace.as_str();
        let imported = SliceIndex::ImportedFor(self.service.clone());
        let slices: Vec<_> = self.snapshot.endpoint_slices.by(&imported).collect();
        slices.into_iter().filter(move |slice| *slice.name.namespace == *system)
    }

    /// Derived Services whose annotation names this Service.
    pub(super) fn derived(&self) -> Vec<&'a Object<Service>> {
        let index = ServiceIndex::Imports(self.service.clone());
        let services = self.snapshot.services.by(&index);
        services.filter(|service| self.is_in_system(&service.name)).collect()
    }

    /// Derived Services of one MultiClusterService: those that point back to it, and those of this
    /// import that carry its uid, whatever became of their labels.
    pub(super) fn derived_of(&self, mcs: &Mcs) -> Vec<&'a Object<Service>> {
        let mut services = derived_of(self.identity, mcs, self.snapshot);
        let marked =
            self.derived().into_iter().filter(|service| mark(service).as_ref() == Some(&mcs.uid));
        services.extend(marked);
        services.sort_by(|a, b| a.name.cmp(&b.name));
        services.dedup_by(|a, b| a.name == b.name);
        services
    }

    /// Derived Services of a MultiClusterService that no longer exists.
    pub(super) fn orphans(&self) -> Vec<&'a Object<Service>> {
        self.derived().into_iter().filter(|service| self.is_orphan(service)).collect()
    }

    /// Services whose labels name a MultiClusterService and whose mark has another uid. They are
    /// left alone (docs/design/rules.md#waiting-statuses).
    pub(super) fn estranged_from(&self, mcs: &Mcs) -> Vec<&'a Object<Service>> {
        named_after(self.identity, mcs, self.snapshot)
            .filter(|service| !service.meta.is_terminating())
            .filter(|service| mark(service).is_some_and(|mark| mark != mcs.uid))
            .filter(|service| !self.is_orphan(service))
            .collect()
    }

    /// Services whose labels name the MultiClusterService, which were made for an earlier one of its name and are deleted.
    pub(super) fn predecessors_of(&self, mcs: &Mcs) -> Vec<&'a Object<Service>> {
        let services = named_after(self.identity, mcs, self.snapshot);
        services.filter(|service| self.is_orphan(service)).collect()
    }

    /// Whether the mark proves that the MultiClusterService that the Service was made for no longer exists.
    ///
    /// If a MultiClusterService of the name in the labels exists with another uid, the Service belongs to an earlier
    /// one only if it is the older of the two. Otherwise it was created while the present one existed, and its mark
    /// was altered since: its owner is unknown, so it is kept for as long as that MultiClusterService exists.
    pub(super) fn is_orphan(&self, service: &Object<Service>) -> bool {
        let Some(mark) = mark(service) else { return false };
        let named = service.derived_for();
        let named = named.and_then(|name| self.snapshot.multi_cluster_services.get(&name));
        let exists =
            self.multi_cluster_services.iter().copied().chain(named).any(|mcs| mcs.uid == mark);
        !exists && named.is_none_or(|mcs| service.meta.created < mcs.meta.created)
    }

    /// Whether a name is in the system namespace.
    fn is_in_system(&self, name: &ObjectName) -> bool {
        *name.namespace == *self.identity.system_namespace
    }

    /// The object name in the system namespace.
    pub(super) fn in_system(&self, name: &str) -> ObjectName {
        ObjectName::new(self.identity.system_namespace.as_str(), name)
    }
}

/// Whether this cluster is also the hub: then this member's namespace on the hub exists here.
///
/// If that namespace exists by accident, imports work the same, without a ServiceImport.
pub(super) fn in_hub(identity: &Identity, snapshot: &MemberSnapshot) -> bool {
    let namespace = ObjectName::cluster(identity.hub_namespace.as_str());
    snapshot.namespaces.get(&namespace).is_some()
}

/// Services in the system namespace whose labels point back to a MultiClusterService of this name.
fn named_after<'a>(
    identity: &Identity,
    mcs: &Mcs,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = &'a Object<Service>> {
    let services = snapshot.services.by(&ServiceIndex::DerivedFor(mcs.name.clone()));
    services.filter(move |service| *service.name.namespace == *identity.system_namespace)
}

/// Those whose uid mark, if any, is that of this very one.
pub(super) fn derived_of<'a>(
    identity: &Identity,
    mcs: &Mcs,
    snapshot: &'a MemberSnapshot,
) -> Vec<&'a Object<Service>> {
    let services = named_after(identity, mcs, snapshot);
    services.filter(|service| mark(service).is_none_or(|mark| mark == mcs.uid)).collect()
}

/// The mark: the uid of the MultiClusterService that a derived Service was made for. A Go agent sets none.
fn mark(service: &Object<Service>) -> Option<Uid> {
    service.meta.annotation(annotations::MULTI_CLUSTER_SERVICE_UID).map(Uid::from)
}
