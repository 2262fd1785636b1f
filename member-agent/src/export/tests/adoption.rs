//! What a Go agent has exported before us.

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use super::world::{World, on_hub, shop, slice};

/// MSE-18: when a Service was first seen is kept on its export, not on the ServiceExport. The
/// annotations that a Go agent left there, right or wrong, are neither read nor removed.
#[test]
fn last_seen_annotations_of_a_go_agent_stay() {
    for (version, time) in [
        ("101", "2025-12-31T00:00:00Z"),
        ("1", "2025-12-31T00:00:00+02:00"),
        ("x", "soon"),
        ("101", "2099-01-01T00:00:00Z"),
    ] {
        let left = json!({
            annotations::LAST_SEEN_RESOURCE_VERSION: version,
            annotations::LAST_SEEN_TIMESTAMP: time,
        });
        let mut world = World::exported();
        let set = |export: &mut Value| export["metadata"]["annotations"] = left.clone();
        world.own.edit(kinds::SERVICE_EXPORT, &shop(), set).unwrap();
        assert!(world.plan().is_empty());
        world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
        world.settle();
        let now = world.own.now().to_string();
        assert_eq!(world.internal().unwrap()["spec"]["serviceReference"]["exportedSince"], now);
        let export = world.own.get(kinds::SERVICE_EXPORT, &shop()).unwrap();
        assert_eq!(export["metadata"]["annotations"], left);
    }
}

#[test]
fn an_export_made_by_a_go_agent_is_adopted_as_it_is() {
    let mut world = World::with_service();
    let reference = |kind: &str, name: &str, uid: &Value| {
        json!({ "clusterId": "a", "kind": kind, "namespace": "team", "name": name,
            "namespacedName": format!("team/{name}"), "resourceVersion": "5", "generation": 1,
            "uid": uid, "exportedSince": "2025-12-31T00:00:00Z" })
    };
    let internal = json!({ "spec": {
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" }],
        "serviceReference": reference("Service", "shop", &world.uid(kinds::SERVICE, &shop())),
    }});
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), internal).unwrap();
    world.judge("False");
    let uid = world.uid(kinds::ENDPOINT_SLICE, &slice());
    let exported = json!({ "spec": {
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"] }],
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" }],
        "endpointSliceReference": reference("EndpointSlice", "shop-x1", &uid),
        "ownerServiceReference":
            { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
    }});
    let name = ObjectName::new("fleet-member-a", "a-team-shop-x1-1a2b3");
    world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &name, exported).unwrap();
    world.export();
    world.settle();
    assert_eq!(world.hub.take_writes(), []);
}
