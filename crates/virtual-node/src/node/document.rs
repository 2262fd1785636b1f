//! A virtual node as it is applied on the server.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fleet_api::labels::{VIRTUAL_NODE, VIRTUAL_NODE_CAPACITY};
use fleet_api::offload::{Capacity, Topology, VirtualNodePhase};
use serde_json::{Map, Value, json};

use super::amount::capacity;
use crate::condition::Condition;
use crate::names;

/// What a virtual node should be like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesiredNode {
    /// The executor.
    pub executor: String,
    /// How far the virtual node is.
    pub phase: VirtualNodePhase,
    /// What the executor offers.
    pub offer: Capacity,
    /// What the origin's administrators let it have.
    pub cap: Option<Capacity>,
    /// Where the executor is.
    pub topology: Topology,
    /// Whether it takes no further Pods for now: it drains, or the executor could not place one.
    pub paused: bool,
    /// Its address: that of the agent.
    pub address: Option<IpAddr>,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

/// Labels of a virtual node. Zone and region are those of the executor, so that hints of endpoints are true.
pub fn labels(executor: &str, topology: &Topology) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        ("type".to_owned(), "virtual-node".to_owned()),
        (VIRTUAL_NODE.to_owned(), executor.to_owned()),
        ("kubernetes.io/os".to_owned(), "linux".to_owned()),
        // A load balancer of a cloud cannot reach it.
        ("node.kubernetes.io/exclude-from-external-load-balancers".to_owned(), "true".to_owned()),
        ("node.kubernetes.io/exclude-disruption".to_owned(), "true".to_owned()),
    ]);
    let Topology { region, zone, arch } = topology;
    let own = [
        ("topology.kubernetes.io/region", region),
        ("topology.kubernetes.io/zone", zone),
        ("kubernetes.io/arch", arch),
    ];
    let own = own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)));
    all.extend(own);
    let name = names::node(executor);
    if name.len() <= 63 {
        all.insert("kubernetes.io/hostname".to_owned(), name);
    }
    all
}

/// Taints of a virtual node. Users tolerate the first one; a node whose offer is withdrawn loses its Pods.
pub fn taints(executor: &str, phase: VirtualNodePhase, paused: bool) -> Vec<Value> {
    let taint =
        |key: &str, effect: &str| json!({ "key": key, "value": executor, "effect": effect });
    let mut all = vec![taint(VIRTUAL_NODE, "NoSchedule")];
    if phase == VirtualNodePhase::Withdrawn {
        all.push(taint(VIRTUAL_NODE, "NoExecute"));
    }
    if paused {
        all.push(taint(VIRTUAL_NODE_CAPACITY, "NoSchedule"));
    }
    all
}

/// Whether a Node that is there is another one than before: it was deleted by another client and made again. Its Lease gets the
/// new one as owner, and all its Pods are decided again.
pub fn is_recreated(before: Option<&str>, uid: &str) -> bool {
    before.is_some_and(|before| before != uid)
}

/// A virtual node with its status, for server-side apply: others keep their labels, annotations, taints and conditions.
pub fn node_document(desired: &DesiredNode) -> Value {
    let amounts = amounts(&capacity(&desired.offer, desired.cap.as_ref()));
    let address =
        desired.address.map(|ip| json!({ "type": "InternalIP", "address": ip.to_string() }));
    let name = names::node(&desired.executor);
    let host = json!({ "type": "Hostname", "address": name });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "labels": labels(&desired.executor, &desired.topology) },
        "spec": {
            "taints": taints(&desired.executor, desired.phase, desired.paused),
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": address.into_iter().chain([host]).collect::<Vec<_>>(),
            "conditions": desired.conditions.iter().map(Condition::document).collect::<Vec<_>>(),
            "nodeInfo": node_info(&desired.topology),
        },
    })
}

fn amounts(capacity: &Capacity) -> Map<String, Value> {
    let Capacity { cpu, memory, ephemeral_storage, pods, extended } = capacity;
    let mut all = Map::new();
    let own = extended.iter().map(|(name, amount)| (name.clone(), amount.clone().into()));
    all.extend(own);
    all.insert("cpu".to_owned(), cpu.clone().into());
    all.insert("memory".to_owned(), memory.clone().into());
    all.insert("pods".to_owned(), pods.to_string().into());
    let storage =
        ephemeral_storage.clone().map(|amount| ("ephemeral-storage".to_owned(), amount.into()));
    all.extend(storage);
    all
}

/// All of these are required. There is no machine, so most are empty.
fn node_info(topology: &Topology) -> Value {
    json!({
        "architecture": topology.arch.as_deref().unwrap_or_default(),
        "operatingSystem": "linux",
        "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
        "kubeletVersion": "", "machineID": "", "osImage": "", "systemUUID": "",
    })
}
