//! An object of each kind that is watched: those of our own kinds with every field that their definitions have.

use std::collections::BTreeMap;

use fleet_api::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value, json};

/// Longest list in an example.
const ITEMS: usize = 2;

/// All of them, by kind and group.
pub(crate) fn objects() -> BTreeMap<(String, String), Value> {
    let definitions = [
        crds::networking(),
        crds::reports(),
        crds::multicluster(),
        crds::reachability(),
        crds::offloading(),
        crds::traffic(),
        crds::service_traffic(),
        crds::membership(),
        crds::external_workloads(),
    ];
    let own = definitions.into_iter().flatten().map(|definition| of_definition(&definition));
    own.chain(of_kubernetes()).collect()
}

fn of_definition(definition: &CustomResourceDefinition) -> ((String, String), Value) {
    let definition = serde_json::to_value(definition).unwrap();
    let (kind, group) = (&definition["spec"]["names"]["kind"], &definition["spec"]["group"]);
    let (kind, group) = (kind.as_str().unwrap().to_owned(), group.as_str().unwrap().to_owned());
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut object = example(schema);
    object["metadata"] = metadata("east");
    ((kind, group), object)
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name, "namespace": "fleet-member-east", "uid": "00000000-0000-4000-8000-000000000001",
        "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": { "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "x" },
        "annotations": {
            "networking.fleet.azure.com/service-in-use-by": "{\"MemberClusters\":{\"fleet-member-a\":\"a\"}}",
            "networking.fleet.azure.com/weight": "3",
            "networking.fleet.azure.com/last-seen-timestamp": "2026-01-01T00:00:00Z",
            "networking.fleet.azure.com/last-seen-generation": "1",
            "networking.fleet.azure.com/traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "k8s.v1.cni.cncf.io/network-status": "[{\"name\":\"team/net\",\"ips\":[\"10.9.0.1\"],\"default\":false}]",
        },
        "finalizers": ["networking.fleet.azure.com/x"],
        "ownerReferences": [{ "apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u" }],
    })
}

/// A value with every field of a schema.
fn example(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let mut fields = Map::new();
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                fields.insert(name.clone(), example(field));
            }
            if schema["additionalProperties"].is_object() {
                fields.insert("east".to_owned(), example(&schema["additionalProperties"]));
            }
            Value::Object(fields)
        }
        Some("array") => {
            let most = schema["maxItems"].as_u64().unwrap_or(2).min(ITEMS as u64);
            (0..most).map(|_| example(&schema["items"])).collect()
        }
        Some("string") if schema["format"] == "date-time" => json!("2026-01-01T00:00:00Z"),
        Some("string") => json!("east"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        _ => json!("80"),
    }
}

fn of_kubernetes() -> Vec<((String, String), Value)> {
    let object = |kind: &str, group: &str, mut rest: Value| {
        rest["metadata"] = metadata("web");
        ((kind.to_owned(), group.to_owned()), rest)
    };
    let port = json!({ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http", "appProtocol": "http", "nodePort": 30000 });
    vec![
        object("Service", "", json!({
            "spec": {
                "type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack", "ports": [port], "selector": { "app": "web" },
                "sessionAffinity": "ClientIP", "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 5 } },
                "internalTrafficPolicy": "Cluster", "trafficDistribution": "PreferClose",
            },
            "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] }, "conditions": [] },
        })),
        object("EndpointSlice", "discovery.k8s.io", json!({
            "addressType": "IPv4",
            "endpoints": [{
                "addresses": ["10.1.0.1"], "conditions": { "ready": true, "serving": true, "terminating": false },
                "hostname": "a", "nodeName": "n", "zone": "z", "hints": { "forZones": [{ "name": "z" }] },
                "targetRef": { "kind": "Pod", "name": "p", "namespace": "team", "uid": "u" },
            }],
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" }],
        })),
        object("Pod", "", json!({
            "spec": {
                "nodeName": "n", "hostname": "h", "subdomain": "s", "hostNetwork": false, "terminationGracePeriodSeconds": 30,
                "containers": [{ "name": "c", "image": "i", "ports": [{ "name": "http", "containerPort": 80, "protocol": "TCP" }],
                    "env": [{ "name": "A", "value": "$(B)" }], "envFrom": [{ "configMapRef": { "name": "m" } }],
                    "resources": { "requests": { "cpu": "1", "memory": "1Gi" } } }],
                "volumes": [{ "name": "v", "secret": { "secretName": "s" } }], "tolerations": [{ "key": "k", "operator": "Exists" }],
            },
            "status": {
                "phase": "Running", "podIP": "10.1.0.1", "podIPs": [{ "ip": "10.1.0.1" }],
                "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
                "containerStatuses": [{ "name": "c", "ready": true, "restartCount": 0, "image": "i", "imageID": "", "state": { "running": {} } }],
            },
        })),
        object("Node", "", json!({
            "spec": { "podCIDR": "10.1.0.0/24", "taints": [{ "key": "k", "effect": "NoSchedule" }] },
            "status": {
                "addresses": [{ "type": "InternalIP", "address": "192.168.0.1" }], "allocatable": { "cpu": "4", "memory": "8Gi" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        })),
        object("Namespace", "", json!({ "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" } })),
        object("Lease", "coordination.k8s.io", json!({ "spec": {
            "holderIdentity": "east", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 1,
        } })),
        object("ConfigMap", "", json!({ "data": { "a": "b" }, "binaryData": { "c": "ZA==" }, "immutable": true })),
        object("Secret", "", json!({ "data": { "a": "Yg==" }, "type": "Opaque" })),
        object("ServiceCIDR", "networking.k8s.io", json!({ "spec": { "cidrs": ["10.96.0.0/12", "fd00::/112"] } })),
        object("ServiceExport", "multicluster.x-k8s.io", json!({
            "spec": { "exportedLabels": { "a": "b" }, "exportedAnnotations": { "c": "d" } }, "status": { "conditions": [] },
        })),
        object("ServiceImport", "multicluster.x-k8s.io", json!({
            "spec": { "type": "ClusterSetIP", "ips": ["10.96.0.9"], "ipFamilies": ["IPv4"], "ports": [{ "name": "web", "port": 80, "protocol": "TCP" }],
                "sessionAffinity": "None", "trafficDistribution": "PreferClose", "internalTrafficPolicy": "Cluster" },
            "status": { "clusters": [{ "cluster": "east" }], "conditions": [] },
        })),
        object("ClusterProperty", "about.k8s.io", json!({ "spec": { "value": "east" } })),
        object("MemberDecision", "traffic.networking.fleet.azure.com", json!({ "document": { "status": { "serial": 1 }, "refused": null } })),
    ]
}
