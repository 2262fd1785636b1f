//! The distribution of CPU capacity over zones, and the hints that the slices have.
//!
//! The original keeps counts of hints in memory. Here they are counted from the slices.

use std::collections::BTreeMap;

use fleet_endpointslice::{AddressType, ServiceHints, Zones};
use fleet_model::objects::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

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

/// The address types of which ready endpoints carry hints. How many there are per zone does not matter to a plan.
pub(super) fn hints(slices: &[&EndpointSlice]) -> ServiceHints {
    let mut hints = ServiceHints::default();
    for address_type in AddressType::ALL {
        let mut of_type = slices.iter().filter(|one| one.address_type == address_type.as_str());
        if of_type.any(|slice| slice.endpoints.iter().any(is_hinted)) {
            hints.set(address_type, BTreeMap::new());
        }
    }
    hints
}

fn is_hinted(endpoint: &Endpoint) -> bool {
    let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
    let zones = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_deref());
    ready == Some(true) && zones.is_some_and(|zones| !zones.is_empty())
}
