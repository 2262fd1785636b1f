//! Linkerd's own controller of ExternalWorkloads: whether it runs, and what it has made.

use fleet_api::{ObjectName, labels};
use fleet_model::objects::SliceIndex;

use crate::slicing;
use crate::snapshot::MemberSnapshot;

/// The Lease that Linkerd's controller holds while it runs, in the namespace of Linkerd's control plane.
pub const LEASE: &str = "linkerd-destination-endpoint-write";

/// Whether Linkerd's controller runs in this cluster, by its Lease: the watch shows those of its namespace alone. One that ends
/// without releasing the Lease counts as running until the Lease is deleted, since how old a renewal is no snapshot shows.
pub fn is_active(snapshot: &MemberSnapshot) -> bool {
    snapshot.linkerd_leases.iter().any(|lease| lease.held)
}

/// Whether Linkerd's controller has slices for the Service.
pub(super) fn has_slices(snapshot: &MemberSnapshot, service: &ObjectName) -> bool {
    let mut slices = snapshot.endpoint_slices.by(&SliceIndex::Backs(service.clone()));
    slices.any(|slice| {
        slicing::manager(slice) == Some(labels::MANAGED_BY_LINKERD) && !slice.meta.is_terminating()
    })
}
