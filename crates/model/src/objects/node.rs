//! Nodes, as far as endpoints and topology hints depend on them.

use std::collections::BTreeMap;

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_endpointslice::{Capacity, NodeView};
use k8s_openapi::api::core::v1::{self as core, NodeCondition, NodeStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

/// Label with the region of a node.
const REGION: &str = "topology.kubernetes.io/region";

/// The part of the status that is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeStatusWire {
    allocatable: Option<BTreeMap<String, Quantity>>,
    conditions: Option<Vec<NodeCondition>>,
}

wire! {
    /// A Node on the wire.
    pub struct NodeWire as core::Node {
        status: Option<NodeStatusWire>,
    }
}

/// Zone and capacity of a Node. Heartbeats of the node change nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its zone.
    pub zone: Option<Box<str>>,
    /// Its region.
    pub region: Option<Box<str>>,
    /// Whether it counts as capacity of its zone.
    pub counts: bool,
    /// Thousandths of a CPU.
    pub cpu: Option<i64>,
}

impl Node {
    /// Capacity that it adds to its zone; `None` for control planes and nodes that are not ready.
    pub fn capacity(&self) -> Option<Capacity<'_>> {
        self.counts.then_some(Capacity { zone: self.zone.as_deref(), cpu: self.cpu })
    }
}

fn label<'a>(node: &'a core::Node, key: &str) -> Option<&'a str> {
    let value = node.metadata.labels.as_ref()?.get(key)?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

impl Tracked for Node {
    const KIND: ResourceKind = kinds::NODE;
    type Wire = NodeWire;
    type Index = ();

    fn project(wire: NodeWire) -> Result<Self, String> {
        let status = wire.status.map(|NodeStatusWire { allocatable, conditions }| NodeStatus {
            allocatable,
            conditions,
            ..NodeStatus::default()
        });
        let node = core::Node { metadata: wire.metadata, spec: None, status };
        let capacity = Capacity::of(&node);
        Ok(Self {
            zone: NodeView::of(&node).zone.map(Box::from),
            region: label(&node, REGION).map(Box::from),
            counts: capacity.is_some(),
            cpu: capacity.and_then(|capacity| capacity.cpu),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(ready: &str, labels: &Value) -> Node {
        let node = json!({
            "metadata": { "name": "node-1", "labels": labels },
            "status": { "allocatable": { "cpu": "1500m", "memory": "1Gi" },
                "conditions": [{ "type": "Ready", "status": ready, "lastHeartbeatTime": null }] },
        });
        Node::project(serde_json::from_value(node).unwrap()).unwrap()
    }

    #[test]
    fn control_planes_and_unready_nodes_have_a_zone_but_no_capacity() {
        let zone = json!({ "topology.kubernetes.io/zone": "a" });
        let worker = node("True", &zone);
        let capacity = Capacity { zone: Some("a"), cpu: Some(1500) };
        assert_eq!(worker.capacity(), Some(capacity));
        let control =
            json!({ "topology.kubernetes.io/zone": "a", "node-role.kubernetes.io/master": "" });
        for other in [node("False", &zone), node("True", &control)] {
            assert_eq!((other.zone.as_deref(), other.capacity()), (Some("a"), None));
        }
        assert_eq!(node("True", &json!({})).zone, None);
    }

    #[test]
    fn a_node_has_the_region_of_its_label() {
        let region = node("True", &json!({ "topology.kubernetes.io/region": "north" })).region;
        assert_eq!(region.as_deref(), Some("north"));
        assert_eq!(node("True", &json!({ "topology.kubernetes.io/region": "" })).region, None);
        assert_eq!(node("True", &json!({})).region, None);
    }
}
