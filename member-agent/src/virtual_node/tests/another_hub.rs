//! A hub that was made anew, or restored.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::hub::answer;
use super::world::{EAST, WEST, World};

fn world() -> World {
    let mut world = World::new();
    world.is_lazy = true;
    world.create_pod("web", &json!({}));
    world.live(120);
    assert_eq!(world.remote().len(), 1);
    world
}

/// The hub has lost these objects, without a deletion.
fn lose(world: &mut World) {
    for kind in [kinds::POD_EXPORT, kinds::POD_IMPORT] {
        for name in world.hub.names(kind) {
            world.hub.edit(kind, &name, |it| it["metadata"]["finalizers"] = json!([])).unwrap();
            // One that was being deleted has gone with its finalizer.
            world.hub.delete(kind, &name).ok();
        }
    }
}

/// The executor cannot stop it at the moment: that the new hub knows nothing of it confirms nothing.
#[test]
fn a_pod_that_ends_is_not_removed_because_the_hub_was_lost() {
    let mut world = world();
    world.west.cut = true;
    world.east.own.delete_pod(&ObjectName::new("shop", "web"), Some(1)).unwrap();
    world.live(5);
    lose(&mut world);
    answer(&mut world.hub, [EAST, WEST], "other/0");
    world.live(50);
    assert!(world.exports().is_empty() && world.east.pod("web").is_some(), "it is not known yet");
    world.live(200);
    assert!(world.east.pod("web").is_some() && world.remote().len() == 1);
    assert!(world.exports()[0].0.resumed, "the executor is asked once more");
    world.west.cut = false;
    world.live(60);
    assert!(world.remote().is_empty() && world.east.pod("web").is_none());
    assert!(world.exports().is_empty() && world.imports().is_empty());
}

/// All of the hub's data is gone, and the executor cannot offer anything at the moment.
#[test]
fn a_virtual_node_that_the_hub_lacks_loses_no_pod() {
    let mut world = world();
    world.west.cut = true;
    lose(&mut world);
    for kind in [kinds::VIRTUAL_NODE, kinds::OFFLOAD_OFFER] {
        for name in world.hub.names(kind) {
            world.hub.edit(kind, &name, |it| it["metadata"]["finalizers"] = json!([])).unwrap();
            world.hub.delete(kind, &name).ok();
        }
    }
    answer(&mut world.hub, [EAST, WEST], "other/0");
    world.live(5);
    let node = world.node().unwrap();
    assert_eq!(World::condition(node, "Ready"), ("False", "NotAccepted"));
    let taints = node["spec"]["taints"].to_string();
    assert!(!taints.contains("NoExecute"), "{taints}");
    world.west.cut = false;
    world.live(120);
    assert_eq!(World::condition(world.node().unwrap(), "Ready").0, "True");
    assert_eq!(world.remote().len(), 1);
}

/// Versions of a restored hub can pass the one that a watch goes on from: then no list shows that it was restored.
#[test]
fn what_is_seen_of_an_earlier_hub_stops_no_pod() {
    let mut world = world();
    lose(&mut world);
    world.west.lists = false;
    answer(&mut world.hub, [EAST, WEST], "hub/1");
    // The origin does not write it again.
    world.east.cut = true;
    world.live(300);
    assert_eq!(world.remote().len(), 1);
    assert!(world.remote()[0]["metadata"]["deletionTimestamp"].is_null());
    world.west.lists = true;
    world.live(45);
    assert_eq!(world.remote().len(), 1);
    world.live(120);
    assert!(world.remote().is_empty(), "the present hub has been listed for a minute");
}

#[test]
fn a_pod_goes_on_when_all_of_the_hub_is_written_again() {
    let mut world = world();
    let uid = world.remote()[0]["metadata"]["uid"].clone();
    lose(&mut world);
    answer(&mut world.hub, [EAST, WEST], "other/0");
    world.live(150);
    assert_eq!(world.remote()[0]["metadata"]["uid"], uid);
    assert_eq!(World::condition(world.east.pod("web").unwrap(), "Ready").0, "True");
    assert_eq!((world.exports().len(), world.imports().len()), (1, 1));
}
