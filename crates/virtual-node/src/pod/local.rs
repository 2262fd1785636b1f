//! A Pod in its own cluster.

use std::collections::BTreeMap;

use fleet_api::offload::PodPhase;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::condition::Condition;

/// A Pod that is bound to a virtual node, as the API server of the origin has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid. Everything about it is found by this, never by its name.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Kinds of its owners.
    pub owner_kinds: Vec<String>,
    /// Its spec.
    pub spec: Map<String, Value>,
    /// Set while it is being deleted.
    pub deletion: Option<Deletion>,
    /// Its phase.
    pub phase: PodPhase,
    /// Its reason.
    pub reason: Option<String>,
    /// Its conditions, those of other clients included.
    pub conditions: Vec<Condition>,
    /// Its addresses.
    pub pod_ips: Vec<String>,
    /// When the executor took it.
    pub start_time: Option<Timestamp>,
}

/// That a Pod is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// How many seconds its containers have.
    pub grace_seconds: i64,
    /// When it was asked for, by the clock of the origin's API server.
    pub requested: Timestamp,
}

impl LocalPod {
    /// Whether a DaemonSet owns it: one Pod of it is on every node, which makes no sense on a virtual one.
    pub fn is_of_daemon_set(&self) -> bool {
        self.owner_kinds.iter().any(|kind| kind == "DaemonSet")
    }

    /// Condition types that other clients decide, and that the Pod is not ready without.
    pub fn readiness_gates(&self) -> impl Iterator<Item = &str> {
        let gates = self.spec.get("readinessGates").and_then(Value::as_array);
        gates.into_iter().flatten().filter_map(|gate| gate["conditionType"].as_str())
    }

    /// Names of its containers in a list such as `containers`.
    pub fn container_names(&self, list: &str) -> impl Iterator<Item = &str> {
        let containers = self.spec.get(list).and_then(Value::as_array);
        containers.into_iter().flatten().filter_map(|container| container["name"].as_str())
    }
}
