//! Reads and writes the hints of single endpoints.

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, ForNode, ForZone};

use crate::changes::{Packed, Update};

/// Removes all hints.
pub(super) fn clear(packed: &mut Packed<'_>) {
    rewrite(packed, |endpoint| endpoint.hints.is_some());
    each_written(packed, |endpoint| endpoint.hints = None);
}

/// Turns unchanged slices into updates if any endpoint is `wrong`.
pub(super) fn rewrite(packed: &mut Packed<'_>, wrong: impl Fn(&Endpoint) -> bool) {
    let Packed { unchanged, updates, .. } = packed;
    unchanged.retain(|&of| {
        let right = !of.endpoints.iter().any(&wrong);
        if !right {
            updates.push(Update { slice: of.clone(), of, recycled: false });
        }
        right
    });
}

/// Calls `visit` for all endpoints to be written, beginning with those of creates.
pub(super) fn each_written(packed: &mut Packed<'_>, mut visit: impl FnMut(&mut Endpoint)) {
    let updates = packed.updates.iter_mut().map(|update| &mut update.slice);
    for slice in packed.creates.iter_mut().chain(updates) {
        slice.endpoints.iter_mut().for_each(&mut visit);
    }
}

/// Hints for one zone.
pub(super) fn for_zone(zone: &str) -> EndpointHints {
    EndpointHints { for_zones: Some(vec![ForZone { name: zone.to_owned() }]), for_nodes: None }
}

/// Node hints for one node.
pub(super) fn for_node(node: &str) -> Vec<ForNode> {
    vec![ForNode { name: node.to_owned() }]
}

/// Zones in the hints of an endpoint.
pub(super) fn hinted_zones(endpoint: &Endpoint) -> &[ForZone] {
    let zones = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_deref());
    zones.unwrap_or_default()
}

/// Nodes in the hints of an endpoint.
pub(super) fn hinted_nodes(endpoint: &Endpoint) -> &[ForNode] {
    let nodes = endpoint.hints.as_ref().and_then(|hints| hints.for_nodes.as_deref());
    nodes.unwrap_or_default()
}
