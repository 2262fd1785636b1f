//! Objects as the original's agents write them, read and written back without a difference.

use crate::membership::{ClusterState, InternalMemberCluster};
use crate::{ObjectName, conditions, v1alpha1, v1beta1};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads an object and checks that nothing is lost or added when it is written again.
fn round_trip<K: DeserializeOwned + Serialize>(object: &Value) -> K {
    let read = K::deserialize(object).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *object);
    read
}

fn object(version: &str, kind: &str, body: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("networking.fleet.azure.com/{version}"),
        "kind": kind,
        "metadata": {"name": "shop", "namespace": "team"},
    });
    let Value::Object(body) = body else { panic!("a body is an object") };
    object.as_object_mut().unwrap().extend(body);
    object
}

fn reference(kind: &str, name: &str) -> Value {
    json!({
        "clusterId": "east",
        "apiVersion": "v1",
        "kind": kind,
        "namespace": "team",
        "name": name,
        "resourceVersion": "4711",
        "generation": 3,
        "uid": "0b6f5a8e-7c51-4f0e-9d55-3f6f1a2b3c4d",
        "namespacedName": format!("team/{name}"),
        "exportedSince": "2026-05-06T07:08:09Z",
    })
}

fn condition(type_: &str, reason: &str) -> Value {
    json!({
        "type": type_,
        "status": "True",
        "reason": reason,
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-05-06T07:08:09Z",
    })
}

fn resolved() -> Value {
    json!({
        "type": "ClusterSetIP",
        "ports": [{"name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080}],
        "clusters": [{"cluster": "east"}],
    })
}

#[test]
fn service_export_in_both_versions() {
    let valid = condition(conditions::VALID, conditions::reasons::SERVICE_IS_VALID);
    let status = json!({"status": {"conditions": [valid]}});
    let export: v1beta1::ServiceExport =
        round_trip(&object("v1beta1", "ServiceExport", status.clone()));
    assert_eq!(export.status.unwrap().conditions[0].type_, conditions::VALID);
    round_trip::<v1alpha1::ServiceExport>(&object("v1alpha1", "ServiceExport", status));
    round_trip::<v1beta1::ServiceExport>(&object("v1beta1", "ServiceExport", json!({})));
}

#[test]
fn service_import() {
    let import: v1alpha1::ServiceImport =
        round_trip(&object("v1alpha1", "ServiceImport", json!({"status": resolved()})));
    assert!(import.status.unwrap().is_resolved());
    let import: v1alpha1::ServiceImport =
        round_trip(&object("v1alpha1", "ServiceImport", json!({"status": {}})));
    assert!(import.status.unwrap().is_empty());
}

#[test]
fn multi_cluster_service() {
    let mcs: v1alpha1::MultiClusterService = round_trip(&object(
        "v1alpha1",
        "MultiClusterService",
        json!({
            "spec": {"serviceImport": {"name": "shop"}},
            "status": {
                "loadBalancer": {"ingress": [{"ip": "203.0.113.7", "ipMode": "VIP"}]},
                "conditions": [
                    condition(conditions::VALID, conditions::reasons::FOUND_SERVICE_IMPORT)
                ],
            },
        }),
    ));
    assert_eq!(mcs.spec.service_import.unwrap().name, "shop");

    let mcs: v1alpha1::MultiClusterService = round_trip(&object(
        "v1alpha1",
        "MultiClusterService",
        json!({"spec": {}, "status": {"loadBalancer": {}}}),
    ));
    assert_eq!(mcs.spec.service_import, None);
}

#[test]
fn internal_service_export() {
    let export: v1alpha1::InternalServiceExport = round_trip(&object(
        "v1alpha1",
        "InternalServiceExport",
        json!({
            "spec": {
                "ports": [{"protocol": "UDP", "port": 53, "targetPort": "dns", "appProtocol": "dns"}],
                "serviceReference": reference("Service", "shop"),
                "type": "LoadBalancer",
                "isDNSLabelConfigured": true,
                "isInternalLoadBalancer": true,
                "publicIPResourceID": "/some/resource",
                "weight": 0,
            },
            "status": {
                "conditions": [
                    condition(conditions::CONFLICT, conditions::reasons::CONFLICT_FOUND)
                ],
            },
        }),
    ));
    let service = export.spec.service_reference.object();
    assert_eq!(service, Some(ObjectName::new("team", "shop")));
}

#[test]
fn internal_service_import() {
    let import: v1alpha1::InternalServiceImport = round_trip(&object(
        "v1alpha1",
        "InternalServiceImport",
        json!({
            "spec": {"serviceImportReference": reference("ServiceImport", "shop")},
            "status": resolved(),
        }),
    ));
    assert!(import.status.unwrap().is_resolved());
}

#[test]
fn endpoint_slices_of_both_directions() {
    let spec = json!({
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2", "10.0.0.3"]}],
        "ports": [{"name": "", "protocol": "TCP", "port": 8080}, {"name": "any"}],
        "endpointSliceReference": reference("EndpointSlice", "shop-x7k2p"),
        "ownerServiceReference": {
            "namespace": "team", "name": "shop", "namespacedName": "team/shop",
        },
    });
    let body = json!({"spec": spec});
    let export: v1alpha1::EndpointSliceExport =
        round_trip(&object("v1alpha1", "EndpointSliceExport", body.clone()));
    let import: v1alpha1::EndpointSliceImport =
        round_trip(&object("v1alpha1", "EndpointSliceImport", body));
    assert_eq!(export.spec.0, import.spec.0);
    let owner = &export.spec.0.owner_service_reference;
    assert_eq!(owner.object(), Some(ObjectName::new("team", "shop")));
}

/// Not the original's: what our definitions add to both kinds.
#[test]
fn draining_endpoints_and_ipv6() {
    let spec = json!({
        "addressType": "IPv6",
        "endpoints": [],
        "drainingEndpoints": [{"addresses": ["2001:db8::1"]}],
        "endpointSliceReference": reference("EndpointSlice", "shop-x7k2p"),
        "ownerServiceReference": {
            "namespace": "team", "name": "shop", "namespacedName": "team/shop",
        },
    });
    let export: v1alpha1::EndpointSliceExport =
        round_trip(&object("v1alpha1", "EndpointSliceExport", json!({"spec": spec})));
    assert_eq!(export.spec.0.draining_endpoints.len(), 1);
}

#[test]
fn internal_member_cluster() {
    let mut object = object(
        "-",
        "InternalMemberCluster",
        json!({
            "spec": {"state": "Join", "heartbeatPeriodSeconds": 15},
            "status": {
                "agentStatus": [{
                    "type": "MultiClusterServiceAgent",
                    "conditions": [
                        condition(conditions::JOINED, conditions::reasons::AGENT_JOINED)
                    ],
                    "lastReceivedHeartbeat": "2026-05-06T07:08:09Z",
                }],
                "properties": {"node-count": {"value": "3"}},
            },
        }),
    );
    object["apiVersion"] = json!("cluster.kubernetes-fleet.io/v1beta1");
    let member: InternalMemberCluster = round_trip(&object);
    assert_eq!(member.spec.state, ClusterState::Join);
}
