//! A member as Go agents leave it at rest: docs/design/contract.md#wire.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use crate::mixed_fleet::member::{Member, condition, field, shop, slice};

const PREFIX: &str = "networking.fleet.azure.com";

/// Name of a slice's copy: with a random suffix of five hexadecimal digits.
pub(crate) const EXPORTED: &str = "a-team-shop-x1-1a2b3";
/// Name of a copy that the hub distributed to this member.
pub(crate) const IMPORTED: &str = "b-team-desk-y1-4c5d6";

/// The Service that this member imports.
pub(crate) fn desk() -> ObjectName {
    ObjectName::new("team", "desk")
}

pub(crate) fn derived() -> ObjectName {
    ObjectName::new("fleet-system", "team-desk")
}

pub(crate) fn imported_slice() -> ObjectName {
    ObjectName::new("fleet-system", IMPORTED)
}

fn on_hub(name: &str) -> ObjectName {
    ObjectName::new("fleet-member-a", name)
}

fn key(name: &str) -> String {
    format!("{PREFIX}/{name}")
}

fn annotations(entries: &[(&str, &str)]) -> Value {
    entries.iter().map(|(name, value)| (key(name), json!(value))).collect()
}

fn reference(cluster: &str, kind: &str, name: &ObjectName, uid: &Value, version: &Value) -> Value {
    json!({ "clusterId": cluster, "kind": kind, "namespace": name.namespace, "name": name.name,
        "namespacedName": name.to_string(), "resourceVersion": version, "generation": 1,
        "uid": uid, "exportedSince": "2025-12-31T23:00:00Z" })
}

/// Refers to an object of this member as it is now.
fn own_reference(member: &Member, kind: fleet_api::ResourceKind, name: &ObjectName) -> Value {
    let uid = field(&member.own, kind, name, "/metadata/uid");
    let version = field(&member.own, kind, name, "/metadata/resourceVersion");
    let mut reference = reference("a", kind.kind, name, &uid, &version);
    reference["apiVersion"] = json!(kind.api_version());
    reference
}

/// Sets the status that the object's creation has dropped.
fn with_status(
    member: &mut Member,
    kind: fleet_api::ResourceKind,
    name: &ObjectName,
    status: &Value,
) {
    let set = |object: &mut Value| object["status"] = status.clone();
    member.own.edit(kind, name, set).unwrap();
}

/// Service shop, exported by Go agents and accepted.
pub(crate) fn exported(member: &mut Member) {
    member.user_exports();
    let generation = json!(1);
    // ServiceExport: finalizer, two conditions, two last-seen annotations.
    let version = field(&member.own, kinds::SERVICE, &shop(), "/metadata/resourceVersion");
    let change = |export: &mut Value| {
        export["metadata"]["finalizers"] = json!([key("svc-export-cleanup")]);
        export["metadata"]["annotations"] = annotations(&[
            ("last-seen-resource-version", version.as_str().unwrap()),
            ("last-seen-timestamp", "2026-01-01T00:00:00+01:00"),
        ]);
        export["status"] = json!({ "conditions": [
            condition("Valid", "True", "ServiceIsValid",
                "service team/shop is valid for export", &generation),
            condition("Conflict", "False", "NoConflictFound",
                "service team/shop is exported without conflict", &generation),
        ] });
    };
    member.own.edit(kinds::SERVICE_EXPORT, &shop(), change).unwrap();
    // EndpointSlice: the unique name and the last-seen annotations of the slice.
    let change = |slice: &mut Value| {
        slice["metadata"]["annotations"] = annotations(&[
            ("fleet-unique-name", EXPORTED),
            ("last-seen-generation", "1"),
            ("last-seen-timestamp", "2026-01-01T00:00:00+01:00"),
        ]);
    };
    member.own.edit(kinds::ENDPOINT_SLICE, &slice(), change).unwrap();

    // InternalServiceExport: counted once for the metric, refreshed by touches of the Service.
    let internal = json!({
        "metadata": {
            "finalizers": [key("internal-svc-export-cleanup")],
            "annotations": annotations(&[
                ("last-observed-resource-version", version.as_str().unwrap())
            ]),
        },
        "spec": {
            "ports": field(&member.own, kinds::SERVICE, &shop(), "/spec/ports"),
            "serviceReference": own_reference(member, kinds::SERVICE, &shop()),
        },
    });
    member.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &on_hub("team-shop"), internal).unwrap();
    let change = |internal: &mut Value| {
        internal["status"] = json!({ "conditions": [condition(
            "Conflict", "False", "NoConflictFound",
            "service team/shop is exported without conflict", &json!(3)
        )] });
    };
    member.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub("team-shop"), change).unwrap();
    // EndpointSliceImport: not imported yet, so without a finalizer.
    let copy = json!({ "spec": {
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.0.1"] }],
        "ports": field(&member.own, kinds::ENDPOINT_SLICE, &slice(), "/ports"),
        "endpointSliceReference": own_reference(member, kinds::ENDPOINT_SLICE, &slice()),
        "ownerServiceReference":
            { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
    }});
    member.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &on_hub(EXPORTED), copy).unwrap();
}

/// What the hub resolved of desk, which cluster b exports.
pub(crate) fn resolved() -> Value {
    json!({
        "type": "ClusterSetIP",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
        "clusters": [{ "cluster": "b" }],
    })
}

/// Service desk of cluster b, imported by Go agents.
pub(crate) fn imported(member: &mut Member) {
    let addresses = json!({ "ingress": [{ "ip": "192.0.2.7", "ipMode": "VIP" }] });
    // MultiClusterService, with both labels.
    let wish = json!({
        "metadata": {
            "finalizers": [key("service-resources-cleanup")],
            "labels": { key("service-import"): "desk", key("derived-service"): "team-desk" },
        },
        "spec": { "serviceImport": { "name": "desk" } },
    });
    member.own.create(kinds::MULTI_CLUSTER_SERVICE, &desk(), wish).unwrap();
    let valid =
        condition("Valid", "True", "FoundServiceImport", "found valid service import", &json!(1));
    let status = json!({ "loadBalancer": addresses, "conditions": [valid] });
    with_status(member, kinds::MULTI_CLUSTER_SERVICE, &desk(), &status);

    let uid = field(&member.own, kinds::MULTI_CLUSTER_SERVICE, &desk(), "/metadata/uid");
    let import = json!({ "metadata": {
        "finalizers": [key("serviceimport-cleanup")],
        "ownerReferences": [{ "apiVersion": "networking.fleet.azure.com/v1alpha1",
            "kind": "MultiClusterService", "name": "desk", "uid": uid, "controller": true,
            "blockOwnerDeletion": true }],
    }});
    member.own.create(kinds::SERVICE_IMPORT, &desk(), import).unwrap();
    with_status(member, kinds::SERVICE_IMPORT, &desk(), &resolved());

    // Derived Service.
    let service = json!({
        "metadata": {
            "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
            "labels": {
                key("multi-cluster-service-name"): "desk",
                key("multi-cluster-service-namespace"): "team",
            },
        },
        "spec": {
            "type": "LoadBalancer", "clusterIP": "10.0.0.9",
            "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080,
                "nodePort": 31234 }],
        },
    });
    member.own.create(kinds::SERVICE, &derived(), service).unwrap();
    with_status(member, kinds::SERVICE, &derived(), &json!({ "loadBalancer": addresses }));
    imported_slices(member);
}

fn imported_slices(member: &mut Member) {
    // InternalServiceImport: the request and the grant.
    let request = json!({
        "metadata": { "finalizers": [key("internalsvcimport-cleanup")] },
        "spec": {
            "serviceImportReference": own_reference(member, kinds::SERVICE_IMPORT, &desk()),
        },
    });
    let name = on_hub("team-desk");
    member.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &name, request).unwrap();
    let grant = |request: &mut Value| request["status"] = resolved();
    member.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &name, grant).unwrap();

    let origin = ObjectName::new("team", "desk-y1");
    let endpoints = json!([{ "addresses": ["10.2.0.1"] }]);
    let ports = json!([{ "name": "web", "protocol": "TCP", "port": 8080 }]);
    // EndpointSliceImport, with finalizer and the annotation of what was counted for the metric.
    let copy = json!({
        "metadata": {
            "finalizers": [key("endpointsliceimport-cleanup")],
            "annotations": annotations(&[("last-observed-generation", "1")]),
        },
        "spec": {
            "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
            "endpointSliceReference":
                reference("b", "EndpointSlice", &origin, &json!("uid-of-y1"), &json!("77")),
            "ownerServiceReference":
                { "namespace": "team", "name": "desk", "namespacedName": "team/desk" },
        },
    });
    member.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &on_hub(IMPORTED), copy).unwrap();
    // Imported EndpointSlice: two labels, endpoints without conditions.
    let slice = json!({
        "metadata": { "labels": {
            "kubernetes.io/service-name": "team-desk",
            "endpointslice.kubernetes.io/managed-by":
                "endpointsliceimport-controller.networking.fleet.azure.com",
        }},
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.2.0.1"], "conditions": {} }],
        "ports": ports,
    });
    member.own.create(kinds::ENDPOINT_SLICE, &imported_slice(), slice).unwrap();
}
