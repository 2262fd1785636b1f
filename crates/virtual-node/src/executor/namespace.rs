//! The namespace of an executor for Pods of one namespace of an origin, and what keeps them in bounds there.

use fleet_api::labels::OFFLOAD_ORIGIN;
use fleet_api::offload::{Capacity, PolicyProfile};
use serde_json::{Map, Value, json};

use super::pod::SERVICE_ACCOUNT;
use crate::names;

/// Name of everything in the namespace that is there once.
const NAME: &str = "offload";

/// The namespace, and what is in it before any Pod: what it may use, defaults, who may reach its Pods, and the account that they
/// run as. `clients` are the ranges of the fleet's Pods.
pub fn namespace_documents(
    origin: &str,
    namespace: &str,
    profile: PolicyProfile,
    capacity: &Capacity,
    clients: &[String],
) -> Vec<Value> {
    let name = names::namespace(origin, namespace);
    let object = |version: &str, kind: &str, object: &str| {
        json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": {
                "namespace": name, "name": object, "labels": { OFFLOAD_ORIGIN: origin },
            },
        })
    };
    let mut quota = object("v1", "ResourceQuota", NAME);
    quota["spec"] = json!({ "hard": hard(capacity) });
    let mut limits = object("v1", "LimitRange", NAME);
    limits["spec"] = limit_range();
    let mut policy = object("networking.k8s.io/v1", "NetworkPolicy", NAME);
    policy["spec"] = network_policy(clients);
    let mut account = object("v1", "ServiceAccount", SERVICE_ACCOUNT);
    account["automountServiceAccountToken"] = false.into();
    vec![namespace_document(&name, origin, profile), quota, limits, policy, account]
}

fn namespace_document(name: &str, origin: &str, profile: PolicyProfile) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": name, "labels": {
            OFFLOAD_ORIGIN: origin,
            "pod-security.kubernetes.io/enforce": profile.level(),
            "pod-security.kubernetes.io/enforce-version": "latest",
        } },
    })
}

/// What all Pods of the namespace may use together. Services, claims and other objects are not made there.
fn hard(capacity: &Capacity) -> Map<String, Value> {
    let mut hard = Map::new();
    let mut set = |name: String, amount: &str| hard.insert(name, amount.into());
    for (name, amount) in [("cpu", &capacity.cpu), ("memory", &capacity.memory)] {
        set(format!("requests.{name}"), amount);
        set(format!("limits.{name}"), amount);
    }
    if let Some(storage) = &capacity.ephemeral_storage {
        set("requests.ephemeral-storage".to_owned(), storage);
    }
    for (name, amount) in &capacity.extended {
        set(format!("requests.{name}"), amount);
    }
    set("pods".to_owned(), &capacity.pods.to_string());
    for none in ["services", "persistentvolumeclaims", "replicationcontrollers"] {
        set(none.to_owned(), "0");
    }
    hard
}

/// A container without requests and limits would be refused by the quota.
fn limit_range() -> Value {
    json!({ "limits": [{
        "type": "Container",
        "defaultRequest": { "cpu": "100m", "memory": "128Mi" },
        "default": { "cpu": "1", "memory": "512Mi" },
    }] })
}

/// Pods are reached by the fleet's Pods alone. An empty list of peers would mean all.
fn network_policy(clients: &[String]) -> Value {
    let peers: Vec<_> =
        clients.iter().map(|range| json!({ "ipBlock": { "cidr": range } })).collect();
    let ingress = if peers.is_empty() { json!([]) } else { json!([{ "from": peers }]) };
    json!({ "podSelector": {}, "policyTypes": ["Ingress"], "ingress": ingress })
}
