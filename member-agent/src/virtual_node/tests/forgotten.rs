//! What no event shows is not forgotten. Keys are planned here only when a change concerns them, or when they have asked for it.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::world::World;

fn world() -> World {
    let mut world = World::new();
    world.is_lazy = true;
    world.live(5);
    world
}

fn ready(world: &World, pod: &str) -> bool {
    World::condition(world.east.pod(pod).unwrap(), "Ready").0 == "True"
}

/// The hub was away for less than a minute, so that no node has changed.
#[test]
fn a_pod_that_was_made_while_the_hub_was_away_runs_when_it_is_back() {
    let mut world = world();
    world.east.cut = true;
    world.live(3);
    world.create_pod("web", &json!({}));
    world.live(10);
    assert!(world.exports().is_empty());
    world.east.cut = false;
    world.live(15);
    assert!(ready(&world, "web"));
}

/// It was removed while no process ran: only a process that starts can notice that.
#[test]
fn a_pod_that_was_removed_unseen_is_stopped() {
    let mut world = world();
    world.create_pod("web", &json!({}));
    world.live(15);
    assert!(ready(&world, "web"));
    let name = ObjectName::new("shop", "web");
    world.east.own.edit(kinds::POD, &name, |pod| pod["spec"]["nodeName"] = "".into()).unwrap();
    world.east.own.delete_pod(&name, Some(0)).unwrap();
    let clock = world.clock.clone();
    world.east.restart(&clock);
    world.live(90);
    assert!(world.remote().is_empty() && world.exports().is_empty());
}

/// The executor was cut off when its import went.
#[test]
fn a_remote_pod_without_an_import_is_stopped() {
    let mut world = world();
    world.create_pod("web", &json!({}));
    world.live(15);
    world.west.cut = true;
    world.live(5);
    world.west.cut = false;
    for name in world.hub.names(kinds::POD_IMPORT) {
        world
            .hub
            .edit(kinds::POD_IMPORT, &name, |it| it["metadata"]["finalizers"] = json!([]))
            .unwrap();
        world.hub.delete(kinds::POD_IMPORT, &name).unwrap();
    }
    for name in world.hub.names(kinds::POD_EXPORT) {
        world
            .hub
            .edit(kinds::POD_EXPORT, &name, |it| it["metadata"]["finalizers"] = json!([]))
            .unwrap();
        world.hub.delete(kinds::POD_EXPORT, &name).unwrap();
    }
    world.east.cut = true;
    world.live(90);
    assert!(world.remote().is_empty());
}

/// Silence grows without an event.
#[test]
fn pods_that_stop_after_a_while_are_stopped() {
    let mut world = World::new();
    world.offer(&json!({ "terms": { "disconnect": { "mode": "StopAfter", "seconds": 120 } } }));
    world.settle();
    world.is_lazy = true;
    world.create_pod("web", &json!({}));
    world.live(80);
    world.west.cut = true;
    world.live(115);
    assert_eq!(world.remote().len(), 1);
    world.live(25);
    assert!(world.remote().is_empty());
    world.west.cut = false;
    world.live(20);
    assert_eq!(world.east.pod("web").unwrap()["status"]["reason"], "RemoteDeleted");
}

#[test]
fn pods_of_an_origin_that_is_gone_for_good_are_stopped() {
    let mut world = World::new();
    world.offer(&json!({ "originTtlSeconds": 600 }));
    world.settle();
    world.is_lazy = true;
    world.create_pod("web", &json!({}));
    world.live(15);
    world.east.cut = true;
    for _ in 0..150 {
        world.pass(5);
        world.round();
    }
    assert!(world.remote().is_empty());
}
