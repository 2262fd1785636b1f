//! The kinds that are compared, and objects of them that every server accepts.

use fleet_api::ResourceKind;
use fleet_api::kinds::{
    ENDPOINT_SLICE, ENDPOINT_SLICE_EXPORT, ENDPOINT_SLICE_IMPORT, INTERNAL_MEMBER_CLUSTER,
    INTERNAL_SERVICE_EXPORT, INTERNAL_SERVICE_IMPORT, MULTI_CLUSTER_SERVICE, SERVICE,
    SERVICE_EXPORT, SERVICE_IMPORT,
};
use serde_json::{Value, json};

/// Every kind that the agents write.
pub(super) const KINDS: [ResourceKind; 10] = [
    SERVICE,
    ENDPOINT_SLICE,
    SERVICE_EXPORT,
    SERVICE_IMPORT,
    MULTI_CLUSTER_SERVICE,
    INTERNAL_SERVICE_EXPORT,
    INTERNAL_SERVICE_IMPORT,
    ENDPOINT_SLICE_EXPORT,
    ENDPOINT_SLICE_IMPORT,
    INTERNAL_MEMBER_CLUSTER,
];

/// Everything of an object but its metadata and status, in one of several variants.
pub(super) fn content(kind: ResourceKind, variant: u8) -> Value {
    let port = json!({ "name": "http", "protocol": "TCP", "port": 80 + u16::from(variant) });
    let reference = json!({
        "clusterId": "a", "kind": "Service", "namespace": "n", "name": "s", "namespacedName": "n/s",
        "resourceVersion": variant.to_string(), "generation": variant, "uid": "u",
    });
    let owner = json!({ "namespace": "n", "name": "s", "namespacedName": "n/s" });
    let endpoints = json!([{ "addresses": [format!("10.0.0.{}", 1 + variant)] }]);
    let slice = json!({
        "addressType": "IPv4", "endpoints": endpoints, "ports": [port],
        "endpointSliceReference": reference, "ownerServiceReference": owner,
    });
    match kind {
        SERVICE => json!({ "spec": { "ports": [port] } }),
        ENDPOINT_SLICE => {
            json!({ "addressType": "IPv4", "endpoints": endpoints, "ports": [port] })
        }
        MULTI_CLUSTER_SERVICE => {
            json!({ "spec": { "serviceImport": { "name": format!("s{variant}") } } })
        }
        INTERNAL_SERVICE_EXPORT => {
            json!({ "spec": { "ports": [port], "serviceReference": reference } })
        }
        INTERNAL_SERVICE_IMPORT => json!({ "spec": { "serviceImportReference": reference } }),
        ENDPOINT_SLICE_EXPORT | ENDPOINT_SLICE_IMPORT => json!({ "spec": slice }),
        INTERNAL_MEMBER_CLUSTER => json!({
            "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 + u16::from(variant) },
        }),
        _ => json!({}),
    }
}

/// A status of the kind; `None` where the agents write none.
pub(super) fn status(kind: ResourceKind, variant: u8) -> Option<Value> {
    let condition = |name| {
        json!({
            "type": name, "status": "True", "reason": format!("Reason{variant}"), "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": variant,
        })
    };
    match kind {
        SERVICE_EXPORT | MULTI_CLUSTER_SERVICE => {
            Some(json!({ "conditions": [condition("Valid")] }))
        }
        INTERNAL_SERVICE_EXPORT => Some(json!({ "conditions": [condition("Conflict")] })),
        SERVICE_IMPORT | INTERNAL_SERVICE_IMPORT => {
            Some(json!({ "clusters": [{ "cluster": format!("c{variant}") }] }))
        }
        INTERNAL_MEMBER_CLUSTER => {
            let conditions = json!([condition("Joined")]);
            let agent = json!({ "type": "MultiClusterServiceAgent", "conditions": conditions });
            Some(json!({ "agentStatus": [agent] }))
        }
        _ => None,
    }
}

/// The part of [`content`] that a change replaces: a field, and its new value.
pub(super) fn change(kind: ResourceKind, variant: u8) -> Option<(&'static str, Value)> {
    let content = content(kind, variant);
    match kind {
        SERVICE => Some(("/spec/ports", content["spec"]["ports"].clone())),
        ENDPOINT_SLICE => Some(("/endpoints", content["endpoints"].clone())),
        SERVICE_EXPORT | SERVICE_IMPORT => None,
        _ => Some(("/spec", content["spec"].clone())),
    }
}
