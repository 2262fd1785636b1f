//! Nodes that stand for another member.

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1 as core;
use serde_json::{Map, Value};

use crate::objects::document::document_metadata;

wire! {
    /// A Node on the wire, whole but for `managedFields`.
    pub struct NodeDocumentWire as core::Node {
        spec: Option<Map<String, Value>>,
        status: Option<Map<String, Value>>,
    }
}

/// A Node. Heartbeats of its conditions are no change.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDocument {
    /// Metadata.
    pub meta: Meta,
    /// `metadata`, `spec` and `status`, as the API server has them.
    pub document: Value,
}

impl Tracked for NodeDocument {
    const KIND: ResourceKind = kinds::NODE;
    type Wire = NodeDocumentWire;
    type Index = ();

    fn project(wire: NodeDocumentWire) -> Result<Self, String> {
        let mut status = wire.status.unwrap_or_default();
        // A list of all images, which virtual nodes do not have.
        status.remove("images");
        let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            condition.remove("lastHeartbeatTime");
        }
        let mut document = Map::new();
        document.insert("metadata".to_owned(), document_metadata(&wire.metadata));
        document.insert("spec".to_owned(), Value::Object(wire.spec.unwrap_or_default()));
        document.insert("status".to_owned(), Value::Object(status));
        Ok(Self { meta: Meta::from_object(&wire.metadata), document: Value::Object(document) })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_heartbeat_is_no_change() {
        let at = |second: &str, status: &str| {
            let node = json!({
                "metadata": { "name": "fleet-west", "uid": "n", "resourceVersion": second },
                "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }] },
                "status": { "conditions": [
                    { "type": "Ready", "status": status, "lastHeartbeatTime": second },
                ] },
            });
            NodeDocument::project(serde_json::from_value(node).unwrap()).unwrap()
        };
        assert_eq!(at("1", "True"), at("2", "True"));
        assert_ne!(at("1", "True"), at("1", "False"));
        assert_eq!(at("1", "True").document["spec"]["taints"][0]["key"], "a");
    }
}
