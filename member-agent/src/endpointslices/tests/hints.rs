//! Nodes: zones, and traffic that follows capacity.

use fleet_api::{ObjectName, events, kinds};
use serde_json::{Value, json};

use super::super::Mode;
use super::world::{World, pod};

/// Three pods, one in each of three zones, of a Service whose traffic follows capacity.
fn spread() -> World {
    let mut world = World::with_service(Mode::All);
    world.edit_service(|service| {
        service["metadata"]["annotations"] =
            json!({ "service.kubernetes.io/topology-mode": "Auto" });
    });
    world.add_node("node-b", "b");
    world.add_node("node-c", "c");
    for (name, node, ip) in
        [("1", "node-a", "10.1.0.1"), ("2", "node-b", "10.1.0.2"), ("3", "node-c", "10.1.0.3")]
    {
        world.add_pod(name, ip);
        world.edit_pod(name, |pod| pod["spec"]["nodeName"] = json!(node));
    }
    world
}

fn hints(world: &World) -> Vec<Value> {
    world
        .endpoints()
        .iter()
        .map(|endpoint| endpoint["hints"]["forZones"][0]["name"].clone())
        .collect()
}

/// Pods on an unknown node are skipped, with an Event; they are added when the node is known.
#[test]
fn a_pod_waits_for_its_node() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.edit_pod("web-1", |pod| pod["spec"]["nodeName"] = json!("node-z"));
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.addresses().len(), 0);
    let told =
        world.events.iter().any(|event| event.reason == events::FAILED_TO_UPDATE_ENDPOINT_SLICES);
    assert!(told, "{:?}", world.events);
    world.add_node("node-z", "z");
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(world.endpoints()[0]["zone"], "z");
}

/// Other than with the original, whose endpoints keep an old zone until the Service is looked at for another reason.
#[test]
fn a_node_that_moves_takes_its_endpoints_along() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    let zone =
        |node: &mut Value| node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("b");
    world.own.edit(kinds::NODE, &ObjectName::cluster("node-a"), zone).unwrap();
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(world.endpoints()[0]["zone"], "b");
}

/// A heartbeat of a node is nothing.
#[test]
fn heartbeats_touch_nothing() {
    let mut world = spread();
    world.follow();
    let beat = |node: &mut Value| {
        node["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2026-01-01T00:00:07Z");
    };
    world.own.edit(kinds::NODE, &ObjectName::cluster("node-a"), beat).unwrap();
    let synced = "endpoint_slice_controller_syncs{result=\"success\"}";
    let before = world.metric(synced);
    assert!(world.follow().is_empty());
    assert!((world.metric(synced) - before).abs() < 0.1);
}

/// EPS-101, EPS-102: hints come when all nodes have zones, and go when one is lost.
#[test]
fn hints_follow_the_capacity_of_the_nodes() {
    let mut world = spread();
    world.follow();
    assert_eq!(hints(&world), ["a", "b", "c"]);
    assert!(world.events.iter().any(|event| event.reason == "TopologyAwareHintsEnabled"));
    world.restart();
    world.events.clear();
    assert!(world.follow().is_empty());
    assert!(world.events.is_empty(), "they are not news: {:?}", world.events);

    let unready = |node: &mut Value| node["status"]["conditions"][0]["status"] = json!("False");
    for name in ["node-b", "node-c"] {
        world.own.edit(kinds::NODE, &ObjectName::cluster(name), unready).unwrap();
    }
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(hints(&world), [json!(null), json!(null), json!(null)]);
    assert!(world.events.iter().any(|event| event.reason == "TopologyAwareHintsDisabled"));
}

/// `PreferClose` needs no capacity, and is no hint by capacity that ended.
#[test]
fn traffic_distribution_hints_are_no_ended_ones() {
    let mut world = World::new(Mode::All);
    world.add_service("web", &json!({ "trafficDistribution": "PreferClose" }));
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    assert_eq!(hints(&world), ["a"]);
    world.own.delete(kinds::POD, &pod("web-1")).unwrap();
    world.follow();
    assert!(world.events.is_empty(), "{:?}", world.events);
}

/// EPS-60: the annotation is removed or changed: the hints are removed, with one Event.
#[test]
fn hints_end_with_the_annotation() {
    for annotations in [json!({}), json!({ "service.kubernetes.io/topology-mode": "Disabled" })] {
        let mut world = spread();
        world.follow();
        world.events.clear();
        world.edit_service(|service| service["metadata"]["annotations"] = annotations.clone());
        assert_eq!(world.follow(), ["update"]);
        assert_eq!(hints(&world), [json!(null), json!(null), json!(null)]);
        let told: Vec<_> = world.events.iter().map(|event| event.reason).collect();
        assert_eq!(told, ["TopologyAwareHintsDisabled"]);

        world.events.clear();
        world.edit_service(|service| service["spec"]["trafficDistribution"] = json!("PreferClose"));
        assert_eq!(world.follow(), ["update"]);
        world.edit_service(|service| service["metadata"]["labels"] = json!({ "tier": "x" }));
        assert_eq!(world.follow(), ["update"]);
        assert!(world.events.is_empty(), "{:?}", world.events);
    }
}
