//! The Node of an executor.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::world::World;

#[test]
fn an_accepted_executor_is_a_node_that_is_ready() {
    let world = World::new();
    let node = world.node().unwrap();
    assert_eq!(World::condition(node, "Ready"), ("True", "ExecutorReady"));
    assert_eq!(node["spec"]["taints"][0]["key"], "offload.networking.fleet.azure.com/virtual");
    assert_eq!(node["spec"]["taints"].as_array().unwrap().len(), 1);
    assert_eq!(node["status"]["allocatable"]["pods"], "20");
    let name = ObjectName::new("fleet-member-east", "west");
    let registered = world.hub.get(kinds::VIRTUAL_NODE, &name).unwrap();
    assert_eq!(registered["status"]["node"]["uid"], node["metadata"]["uid"]);
}

#[test]
fn without_consent_there_is_none() {
    let mut world = World::new();
    world.east.consent(json!({}));
    world.settle();
    assert!(world.node().is_none(), "and without Pods it goes again");
}

#[test]
fn a_node_that_another_client_deletes_is_made_again() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    let before = world.node().unwrap()["metadata"]["uid"].clone();
    let remote = world.remote()[0]["metadata"]["uid"].clone();
    world.east.own.delete(kinds::NODE, &ObjectName::cluster("fleet-west")).unwrap();
    world.settle();
    let node = world.node().unwrap();
    assert_ne!(node["metadata"]["uid"], before);
    assert_eq!(World::condition(node, "Ready").0, "True");
    assert!(world.reports("NodeRecreated"));
    assert_eq!(world.remote()[0]["metadata"]["uid"], remote, "its Pods stay");
}

#[test]
fn taints_and_labels_of_others_stay() {
    let mut world = World::new();
    let node = ObjectName::cluster("fleet-west");
    let change = |node: &mut serde_json::Value| {
        node["metadata"]["labels"]["example.com/mine"] = "1".into();
        node["metadata"]["labels"]["type"] = "other".into();
        node["spec"]["unschedulable"] = true.into();
        node["spec"]["taints"] = json!([{ "key": "example.com/mine", "effect": "NoSchedule" }]);
    };
    world.east.own.edit(kinds::NODE, &node, change).unwrap();
    world.settle();
    let node = world.node().unwrap();
    assert_eq!(node["metadata"]["labels"]["example.com/mine"], "1");
    assert_eq!(node["metadata"]["labels"]["type"], "virtual-node");
    assert_eq!(node["spec"]["unschedulable"], true, "an administrator has cordoned it");
    let keys: Vec<_> =
        node["spec"]["taints"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(keys, ["example.com/mine", "offload.networking.fleet.azure.com/virtual"]);
}

#[test]
fn a_node_names_the_hop_that_does_not_work() {
    let mut world = World::new();
    world.west.cut = true;
    world.settle();
    assert_eq!(World::condition(world.node().unwrap(), "Ready"), ("False", "ExecutorUnreachable"));
    world.west.cut = false;
    world.settle();
    assert_eq!(World::condition(world.node().unwrap(), "Ready").0, "True");
    world.east.cut = true;
    world.pass(59);
    world.round();
    assert_eq!(World::condition(world.node().unwrap(), "Ready").0, "True");
    world.pass(2);
    world.round();
    assert_eq!(World::condition(world.node().unwrap(), "Ready"), ("False", "HubUnreachable"));
    assert!(world.reports("HubUnreachable") && world.reports("ExecutorUnreachable"));
}

/// Kubernetes marks a node whose Lease ended as unknown: that is no reason to write again and again.
#[test]
fn a_node_that_is_not_reached_is_left_as_kubernetes_marks_it() {
    let mut world = World::new();
    world.west.cut = true;
    world.settle();
    let node = ObjectName::cluster("fleet-west");
    let unknown =
        |node: &mut serde_json::Value| node["status"]["conditions"][0]["status"] = "Unknown".into();
    world.east.own.edit(kinds::NODE, &node, unknown).unwrap();
    world.settle();
    assert_eq!(World::condition(world.node().unwrap(), "Ready").0, "Unknown");
    world.west.cut = false;
    world.settle();
    assert_eq!(World::condition(world.node().unwrap(), "Ready").0, "True");
}

#[test]
fn a_withdrawn_offer_evicts_pods_and_then_the_node_goes() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    world.west.consent(json!({}));
    world.settle();
    let node = world.node().unwrap();
    assert_eq!(World::condition(node, "Ready"), ("False", "OfferWithdrawn"));
    let effects: Vec<_> =
        node["spec"]["taints"].as_array().unwrap().iter().map(|one| &one["effect"]).collect();
    assert!(effects.contains(&&json!("NoExecute")), "{effects:?}");
    // Kubernetes deletes Pods that do not tolerate that.
    world.east.own.delete_pod(&ObjectName::new("shop", "web"), None).unwrap();
    for _ in 0..4 {
        world.pass(15);
        world.settle();
    }
    assert!(world.east.pod("web").is_none() && world.remote().is_empty());
    assert!(world.node().is_none());
}

#[test]
fn a_consent_that_cannot_be_read_takes_nothing_back() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    world.east.consent(json!({ "accept.west": "yes" }));
    world.west.consent(json!({ "offer": "much" }));
    world.settle();
    assert_eq!(World::condition(world.node().unwrap(), "Ready").0, "True");
    assert_eq!(world.remote().len(), 1);
    assert!(world.reports("Blocked"));
    let taints = world.node().unwrap()["spec"]["taints"].to_string();
    assert!(taints.contains("/capacity"), "nothing new is taken: {taints}");
}
