//! The distribution of CPU capacity over zones, and the hints that the slices have.
//!
//! The original keeps counts of hints in memory. Here they are counted from the slices.

use std::collections::BTreeMap;

use fleet_endpointslice::{AddressType, ServiceHints, Zones};
use fleet_model::objects::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::snapshot::MemberSnapshot;

/// Annotations that request hints by capacity; the older one takes precedence.
const ANNOTATIONS: [&str; 2] =
    ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];

/// Whether the Service may request hints by capacity.
pub(super) fn is_asked_for(service: &Service) -> bool {
    ANNOTATIONS.iter().any(|key| service.meta.annotation(key).is_some())
}

/// Each zone's share of the capacity.
pub(super) fn zones(snapshot: &MemberSnapshot) -> Zones {
    Zones::of_capacities(snapshot.nodes.iter().filter_map(|node| node.object.capacity()))
}

/// The number of endpoints that are hinted for each zone.
pub(super) fn hints(slices: &[&EndpointSlice]) -> ServiceHints {
    let mut hints = ServiceHints::default();
    for address_type in AddressType::ALL {
        let of_type = slices.iter().filter(|slice| slice.address_type == address_type.as_str());
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for endpoint in of_type.flat_map(|slice| &slice.endpoints) {
            let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
            let zones = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_deref());
            for zone in zones.into_iter().flatten().filter(|_| ready == Some(true)) {
                *counts.entry(zone.name.clone()).or_default() += 1;
            }
        }
        if !counts.is_empty() {
            hints.set(address_type, counts);
        }
    }
    hints
}
