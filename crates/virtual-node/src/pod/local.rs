//! A Pod in its own cluster.

use std::collections::BTreeMap;

use fleet_api::offload::PodPhase;
use jiff::{SignedDuration, Timestamp};
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
    /// Reads a Pod as the API server has it. What is missing is taken for empty: the server checks Pods, and a Pod without a uid
    /// does not exist.
    pub fn read(pod: &Value) -> Self {
        let (metadata, status) = (&pod["metadata"], &pod["status"]);
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let ips = status["podIPs"].as_array().into_iter().flatten();
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            labels: texts(&metadata["labels"]),
            annotations: texts(&metadata["annotations"]),
            owner_kinds: owners.map(|owner| text(&owner["kind"])).collect(),
            spec: pod["spec"].as_object().cloned().unwrap_or_default(),
            deletion: deletion(metadata),
            phase: status["phase"].as_str().and_then(PodPhase::parse).unwrap_or_default(),
            reason: status["reason"].as_str().map(str::to_owned),
            conditions: conditions.map(Condition::read).collect(),
            pod_ips: ips.map(|ip| text(&ip["ip"])).collect(),
            start_time: time(&status["startTime"]),
        }
    }

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

/// The time at which a Pod was to be gone is that of the request and the grace period.
fn deletion(metadata: &Value) -> Option<Deletion> {
    let until = time(&metadata["deletionTimestamp"])?;
    let grace_seconds = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
    let grace = SignedDuration::from_secs(grace_seconds.max(0));
    Some(Deletion { grace_seconds, requested: until.checked_sub(grace).unwrap_or(until) })
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_read_as_the_server_has_it() {
        let pod = LocalPod::read(&json!({
            "metadata": {
                "namespace": "shop", "name": "web", "uid": "u", "labels": { "app": "web" },
                "ownerReferences": [{ "kind": "DaemonSet" }],
                "deletionTimestamp": "2026-01-02T03:04:35Z", "deletionGracePeriodSeconds": 30,
            },
            "spec": { "containers": [{ "name": "web" }], "readinessGates": [{ "conditionType": "a/b" }] },
            "status": {
                "phase": "Running", "startTime": "2026-01-02T03:00:00Z",
                "podIPs": [{ "ip": "10.0.0.1" }],
                "conditions": [{ "type": "Ready", "status": "True", "reason": "r",
                    "lastTransitionTime": "2026-01-02T03:00:05Z" }, { "type": "a/b", "status": "Unknown" }],
            },
        }));
        assert!(pod.is_of_daemon_set());
        assert_eq!(pod.readiness_gates().collect::<Vec<_>>(), ["a/b"]);
        assert_eq!(pod.container_names("containers").collect::<Vec<_>>(), ["web"]);
        let deletion = pod.deletion.unwrap();
        assert_eq!(deletion.grace_seconds, 30);
        assert_eq!(deletion.requested.to_string(), "2026-01-02T03:04:05Z");
        assert_eq!((pod.phase, &*pod.pod_ips[0]), (PodPhase::Running, "10.0.0.1"));
        let states: Vec<_> = pod
            .conditions
            .iter()
            .map(|one| (&*one.type_, one.status, one.since.is_some()))
            .collect();
        assert_eq!(states, [("Ready", true, true), ("a/b", false, false)]);
        assert_eq!(LocalPod::read(&json!({})), LocalPod::default());
    }
}
