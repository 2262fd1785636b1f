//! Assigns hints by traffic distribution: every ready endpoint to its own zone or node.

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints};

use crate::changes::Packed;
use crate::endpoint::is_ready;

use super::endpoints::{each_written, for_node, for_zone, hinted_nodes, hinted_zones, rewrite};

/// The supported values of `spec.trafficDistribution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    Close,
    SameZone,
    SameNode,
}

impl Distribution {
    pub(super) fn parse(value: &str) -> Option<Self> {
        [Self::Close, Self::SameZone, Self::SameNode]
            .into_iter()
            .find(|known| known.as_str() == value)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Close => "PreferClose",
            Self::SameZone => "PreferSameZone",
            Self::SameNode => "PreferSameNode",
        }
    }

    /// Sets the hints of all ready endpoints. Others keep theirs, since clients do not use them.
    pub(super) fn apply(self, packed: &mut Packed<'_>) {
        rewrite(packed, |endpoint| is_ready(endpoint) && !self.is_right(endpoint));
        each_written(packed, |endpoint| {
            if is_ready(endpoint) && !self.is_right(endpoint) {
                endpoint.hints = self.hints(endpoint);
            }
        });
    }

    fn is_right(self, endpoint: &Endpoint) -> bool {
        let zones = hinted_zones(endpoint).iter().map(|zone| zone.name.as_str());
        let nodes = hinted_nodes(endpoint).iter().map(|node| node.name.as_str());
        zones.eq(endpoint.zone.as_deref()) && nodes.eq(self.node(endpoint))
    }

    fn hints(self, endpoint: &Endpoint) -> Option<EndpointHints> {
        let zone = endpoint.zone.as_deref().map(for_zone);
        let node = self.node(endpoint).map(for_node);
        if zone.is_none() && node.is_none() {
            return None;
        }
        Some(EndpointHints { for_nodes: node, ..zone.unwrap_or_default() })
    }

    fn node(self, endpoint: &Endpoint) -> Option<&str> {
        endpoint.node_name.as_deref().filter(|_| self == Self::SameNode)
    }
}
