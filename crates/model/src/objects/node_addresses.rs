//! Addresses of Nodes, and nothing else of them: a Node is large and its status changes often, its addresses do not.

use std::net::IpAddr;

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1::{self as core, NodeAddress};
use serde::Deserialize;

/// The part of the status that is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeAddressesStatusWire {
    addresses: Vec<NodeAddress>,
}

wire! {
    /// A Node on the wire.
    pub struct NodeAddressesWire as core::Node {
        status: Option<NodeAddressesStatusWire>,
    }
}

/// The IP addresses of a Node, by which it is found. Everything else that happens to it changes nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddresses(pub Box<[IpAddr]>);

impl Tracked for NodeAddresses {
    const KIND: ResourceKind = kinds::NODE;
    type Wire = NodeAddressesWire;
    type Index = IpAddr;

    /// Names of the Node are no addresses.
    fn project(wire: NodeAddressesWire) -> Result<Self, String> {
        let addresses = wire.status.unwrap_or_default().addresses;
        let mut addresses: Vec<IpAddr> =
            addresses.iter().filter_map(|address| address.address.parse().ok()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        Ok(Self(addresses.into()))
    }

    fn index(&self, _: &ObjectName) -> Vec<IpAddr> {
        self.0.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(status: &Value) -> NodeAddresses {
        let node = json!({ "metadata": { "name": "node-1" }, "status": status });
        NodeAddresses::project(serde_json::from_value(node).unwrap()).unwrap()
    }

    #[test]
    fn only_addresses_count() {
        let status = |beat: &str| {
            json!({
                "addresses": [
                    { "type": "InternalIP", "address": "192.168.0.4" },
                    { "type": "InternalIP", "address": "fd00::4" },
                    { "type": "ExternalIP", "address": "192.168.0.4" },
                    { "type": "Hostname", "address": "node-1" },
                ],
                "conditions": [{ "type": "Ready", "status": "True", "lastHeartbeatTime": beat }],
                "images": [{ "names": ["a"], "sizeBytes": 1 }],
            })
        };
        let read = node(&status("2026-01-02T03:04:05Z"));
        let expected: [IpAddr; 2] = ["192.168.0.4".parse().unwrap(), "fd00::4".parse().unwrap()];
        assert_eq!(*read.0, expected);
        assert_eq!(read, node(&status("2026-01-02T03:09:05Z")), "a heartbeat is no change");
        assert!(node(&Value::Null).0.is_empty());
    }
}
