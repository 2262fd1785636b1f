//! Shared by the controllers that make EndpointSlices of Services: from objects of the snapshot to the input of
//! [`fleet_endpointslice::reconcile`], and from its outcome to a plan.
//!
//! A slice is found by its manager and its Service, and only the controller of that manager writes it. The
//! original has to remember its own writes. Here the engine does: a key waits until its writes are visible in a
//! snapshot, updates and deletes have preconditions, and a slice that a stale snapshot lacks is not created
//! twice, because its name is taken.

mod network;
mod pods;
mod service;
#[cfg(test)]
pub(crate) mod testing;
mod writes;

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, labels, names};
use fleet_model::objects::{EndpointSlice, ManagedIndex, ManagedSlice, Service, SliceIndex};

use crate::identity::Identity;
use crate::settings::Settings;
use crate::snapshot::MemberSnapshot;

pub(crate) use network::{PodsByNetwork, each_on_network, off_network, requested_network};
pub(crate) use pods::{SelectedPod, each_selecting, pods};
pub(crate) use service::service;
pub(crate) use writes::{delete_all, replace_whole, write};

/// The slices of a manager that back a Service, ordered by name.
pub(crate) fn managed<'a>(
    snapshot: &'a MemberSnapshot,
    manager: &str,
    service: &ObjectName,
) -> Vec<&'a Object<ManagedSlice>> {
    let index = ManagedIndex { manager: Arc::from(manager), service: service.clone() };
    snapshot.managed_slices.by(&index).collect()
}

/// Whether a controller makes the endpoints of a Service; if not, its users do.
pub(crate) fn is_served(service: &Service) -> bool {
    service.service_type != "ExternalName" && !service.selector.is_empty()
}

/// The manager of a slice, from its label.
pub(crate) fn manager(slice: &EndpointSlice) -> Option<&str> {
    slice.meta.label(labels::MANAGED_BY)
}

/// Whether the endpoints of a Service are addresses on a secondary network.
pub(crate) fn is_on_network(settings: &Settings, service: Option<&Object<Service>>) -> bool {
    let asks = service.is_some_and(|service| requested_network(service).is_some());
    asks && settings.endpointslices.serves_networks()
}

/// The names that the copy of an exported slice can have on the hub, in the order in which they are tried.
pub(crate) fn names_on_hub(
    identity: &Identity,
    slice: &Object<EndpointSlice>,
) -> impl Iterator<Item = ObjectName> {
    let (source, uid) = (&slice.name, slice.uid.to_string());
    let names =
        names::slice_export_candidates(&identity.cluster, &source.namespace, &source.name, &uid);
    names.map(|name| ObjectName::new(identity.hub_namespace.as_str(), name))
}

/// Whether a slice has endpoints of this cluster for other clusters. Imported ones never leave again
/// (docs/design/contract.md#exportable), nor those of another implementation of the standard API. Of a Service with endpoints on a secondary network, those on it and no others.
pub(crate) fn is_exportable(settings: &Settings, slice: &EndpointSlice, on_network: bool) -> bool {
    let of_others = settings.multicluster.is_watched() && slice.is_of_clusterset();
    !slice.meta.is_terminating()
        && !slice.is_imported()
        && !of_others
        && (manager(slice) == Some(labels::MANAGED_BY_NETWORK)) == on_network
}

/// Whether the watch of managed slices is behind that of all slices. Both read the same kind, and a write counts
/// as visible as soon as one of them shows it. The event of the other requeues the key.
pub(crate) fn is_behind(snapshot: &MemberSnapshot, name: &str, service: &ObjectName) -> bool {
    let mut slices = snapshot.endpoint_slices.by(&SliceIndex::Backs(service.clone()));
    slices.any(|slice| {
        manager(slice) == Some(name) && snapshot.managed_slices.get(&slice.name).is_none()
    })
}
