//! What members write, as they should, and spoilt.

use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, finalizers, kinds};
use serde_json::{Value, json};

use crate::world::TEAM;

/// The kinds that members write, and the fields that name what they are about.
pub(crate) const EXPORTED: [(ResourceKind, &str); 3] = [
    (kinds::ENDPOINT_SLICE_EXPORT, "endpointSliceReference"),
    (kinds::INTERNAL_SERVICE_EXPORT, "serviceReference"),
    (kinds::INTERNAL_SERVICE_IMPORT, "serviceImportReference"),
];

/// The hub's finalizer on a kind.
pub(crate) fn finalizer(kind: ResourceKind) -> &'static str {
    match kind {
        kinds::ENDPOINT_SLICE_EXPORT => finalizers::ENDPOINT_SLICE_EXPORT,
        kinds::INTERNAL_SERVICE_EXPORT => finalizers::INTERNAL_SERVICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT => finalizers::INTERNAL_SERVICE_IMPORT,
        kinds::SERVICE_IMPORT => finalizers::SERVICE_IMPORT,
        _ => finalizers::ENDPOINT_SLICE_IMPORT,
    }
}

/// An object that a member, or the hub for it, makes of the Service `web` of [`TEAM`].
pub(crate) fn object(kind: ResourceKind, member: &str, name: &str) -> Value {
    let port = json!({ "name": "http", "protocol": "TCP", "port": 8080 });
    let spec = match kind {
        kinds::INTERNAL_SERVICE_EXPORT => {
            json!({ "ports": [port], "serviceReference": reference("Service", member, "web") })
        }
        kinds::INTERNAL_SERVICE_IMPORT => {
            json!({ "serviceImportReference": reference("ServiceImport", member, "web") })
        }
        _ => json!({
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.1"] }], "ports": [port],
            "endpointSliceReference": reference("EndpointSlice", member, "web-abcde"),
            "ownerServiceReference":
                { "namespace": TEAM, "name": "web", "namespacedName": format!("{TEAM}/web") },
        }),
    };
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "spec": spec,
        "metadata": {
            "name": name, "namespace": member_namespace(member), "finalizers": [finalizer(kind)],
        },
    })
}

fn reference(kind: &str, member: &str, name: &str) -> Value {
    json!({
        "clusterId": member, "kind": kind, "namespace": TEAM, "name": name,
        "namespacedName": format!("{TEAM}/{name}"), "resourceVersion": "7", "generation": 1,
        "uid": "0ffe1abe-1ba5-4e4c-9d6c-5b4f2a1c3d9e", "exportedSince": "2026-01-01T00:00:00Z",
    })
}

/// A slice with these addresses, each of an endpoint of its own.
pub(crate) fn slice(member: &str, name: &str, family: &str, addresses: &[&str]) -> Value {
    let mut slice = object(kinds::ENDPOINT_SLICE_EXPORT, member, name);
    slice["spec"]["addressType"] = json!(family);
    slice["spec"]["endpoints"] =
        addresses.iter().map(|address| json!({ "addresses": [address] })).collect();
    slice
}
