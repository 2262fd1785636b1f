//! What a write of a slice changes, as far as traffic depends on it.

use std::collections::BTreeMap;

use fleet_api::EndpointPort;
use fleet_model::ports::same_in_slices;
use fleet_traffic::Conditions;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointSlice};

use super::shaping::{address, conditions};

fn by_address(slice: &EndpointSlice) -> BTreeMap<&str, &Endpoint> {
    slice.endpoints.iter().map(|endpoint| (address(endpoint), endpoint)).collect()
}

/// Whether the exporter no longer offers an endpoint of a slice, or not for new connections: traffic to it may fail until the slice
/// is written. `source` is the slice as the exporter has it.
pub(crate) fn loses(current: &EndpointSlice, source: &EndpointSlice) -> bool {
    let source = by_address(source);
    let is_lost = |endpoint: &Endpoint| {
        let offered = source.get(address(endpoint)).map(|one| conditions(one));
        let Some(offered) = offered else { return true };
        conditions(endpoint).ready && !offered.ready
    };
    current.endpoints.iter().any(is_lost)
}

/// Whether all endpoints of a slice are there already, so that only their place changes.
pub(crate) fn is_shape_only(current: &EndpointSlice, source: &EndpointSlice) -> bool {
    let known = by_address(current);
    same_ports(current, source)
        && current.address_type == source.address_type
        && source.endpoints.iter().all(|endpoint| known.contains_key(address(endpoint)))
        && !loses(current, source)
}

/// Whether an endpoint of a slice has another place in `wanted`.
pub(crate) fn moves(current: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let known = by_address(current);
    let place = |endpoint: &Endpoint| -> (Conditions, Option<EndpointHints>) {
        (conditions(endpoint), endpoint.hints.clone())
    };
    let moved = wanted.endpoints.iter().any(|endpoint| {
        known.get(address(endpoint)).is_some_and(|known| place(known) != place(endpoint))
    });
    let wanted = by_address(wanted);
    moved || current.endpoints.iter().any(|endpoint| !wanted.contains_key(address(endpoint)))
}

/// Whether two slices have equal endpoints. API servers fill in empty conditions.
pub(crate) fn same_endpoints(a: &EndpointSlice, b: &EndpointSlice) -> bool {
    let pairs = a.endpoints.iter().zip(&b.endpoints);
    a.endpoints.len() == b.endpoints.len()
        && pairs.into_iter().all(|(a, b)| {
            conditions(a) == conditions(b)
                && (&a.addresses, &a.hints, &a.node_name) == (&b.addresses, &b.hints, &b.node_name)
        })
}

/// API servers fill in the protocol.
fn same_ports(a: &EndpointSlice, b: &EndpointSlice) -> bool {
    let ports = |slice: &EndpointSlice| -> Vec<EndpointPort> {
        slice.ports.iter().flatten().map(EndpointPort::from).collect()
    };
    same_in_slices(&ports(a), &ports(b))
}
