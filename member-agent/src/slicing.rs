//! What controllers share that make the EndpointSlices of Services: from records to the input of
//! [`fleet_endpointslice::reconcile`], and from its outcome to a plan.
//!
//! A slice is found by its manager and its Service, and only the controller of that manager writes it. The
//! memory that the original needs of its own writes is the engine's here: a key waits until they have
//! come back, updates and deletes name the version they were planned on, and a slice that an old view
//! does not show is not made twice, because its name is taken.

mod network;
mod pods;
mod service;
#[cfg(test)]
pub(crate) mod testing;
mod writes;

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, labels};
use fleet_model::objects::{EndpointSlice, ManagedIndex, ManagedSlice, Service, SliceIndex};

use crate::snapshot::MemberSnapshot;

pub(crate) use network::{PodsByNetwork, each_on_network, off_network, requested_network};
pub(crate) use pods::{SelectedPod, each_selecting, pods};
pub(crate) use service::service;
pub(crate) use writes::{delete_all, write};

/// The slices of a manager that back a Service, ordered by name.
pub(crate) fn managed<'a>(
    snapshot: &'a MemberSnapshot,
    manager: &str,
    service: &ObjectName,
) -> Vec<&'a Object<ManagedSlice>> {
    let index = ManagedIndex { manager: Arc::from(manager), service: service.clone() };
    snapshot.managed_slices.by(&index).collect()
}

/// Whether somebody else but a user fills the Service.
pub(crate) fn is_served(service: &Service) -> bool {
    service.service_type != "ExternalName" && !service.selector.is_empty()
}

/// Who manages a slice.
pub(crate) fn manager(slice: &EndpointSlice) -> Option<&str> {
    slice.meta.label(labels::MANAGED_BY)
}

/// Whether the whole slices are behind: two watches read the kind, and an own write is known to have
/// come back when one of them shows it. Their event wakes the key again.
pub(crate) fn is_behind(snapshot: &MemberSnapshot, name: &str, service: &ObjectName) -> bool {
    let mut slices = snapshot.endpoint_slices.by(&SliceIndex::Backs(service.clone()));
    slices.any(|slice| {
        manager(slice) == Some(name) && snapshot.managed_slices.get(&slice.name).is_none()
    })
}
