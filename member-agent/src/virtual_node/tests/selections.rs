//! What an origin watches follows its Pods, and what the administrators of both clusters allow.

use std::collections::BTreeSet;

use fleet_accumulator::Selection;
use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::world::World;
use crate::Identity;
use crate::selections::{Selections, may_differ};

fn watched(world: &World) -> Selections {
    Selections::of(&Identity::new("east"), &world.east.snapshot())
}

fn named(name: &str) -> BTreeSet<Selection> {
    BTreeSet::from([Selection::named(&ObjectName::new("shop", name))])
}

#[test]
fn what_pods_refer_to_is_watched() {
    let mut world = World::new();
    let before = world.east.snapshot();
    assert_eq!(watched(&world).pods, BTreeSet::from([Selection::of_node("fleet-west")]));
    assert!(watched(&world).config_maps.is_empty());
    let env = json!([
        { "configMapRef": { "name": "settings" } },
        { "secretRef": { "name": "token" } },
    ]);
    let containers = json!([{ "name": "web", "image": "web:1", "envFrom": env }]);
    world.create_pod("web", &json!({ "containers": containers }));
    let after = world.east.snapshot();
    assert!(may_differ(&before, &after) && !may_differ(&after, &after));
    assert_eq!(watched(&world).config_maps, named("settings"));
}

#[test]
fn a_secret_is_read_only_where_both_administrators_list_it() {
    let mut world = World::new();
    let env = json!([{ "secretRef": { "name": "token" } }]);
    let containers = json!([{ "name": "web", "image": "web:1", "envFrom": env }]);
    world.create_pod("web", &json!({ "containers": containers }));
    world.settle();
    assert!(watched(&world).secrets.is_empty());
    world.offer(&json!({ "terms": { "secrets": ["shop/token"] } }));
    world.settle();
    assert!(watched(&world).secrets.is_empty(), "the origin does not list it");
    world.east.consent(json!({ "accept.west": r#"{"secrets": ["shop/token"]}"# }));
    world.settle();
    assert_eq!(watched(&world).secrets, named("token"));
}

/// Otherwise it would wait for ever for a config map that is never read, without a word.
#[test]
fn a_pod_that_does_not_cross_says_why_whatever_it_refers_to() {
    let mut world = World::new();
    let env = json!([{ "configMapRef": { "name": "settings" } }]);
    let containers = json!([{ "name": "web", "image": "web:1", "envFrom": env }]);
    world.create_pod_in("other", "web", &json!({ "containers": containers }));
    world.settle();
    let pod = ObjectName::new("other", "web");
    let reason =
        |world: &World| world.east.own.get(kinds::POD, &pod).unwrap()["status"]["reason"].clone();
    assert_eq!(reason(&world), "NamespaceNotOffered");
}

/// It would start without what it could have had, and stay so.
#[test]
fn nothing_crosses_without_what_was_not_read() {
    let mut world = World::new();
    let name = ObjectName::new("shop", "settings");
    let data = json!({ "data": { "a": "1" } });
    world.east.own.create(kinds::CONFIG_MAP, &name, data).unwrap();
    world.east.unread = Some(Selection::named(&name));
    let env = json!([{ "configMapRef": { "name": "settings", "optional": true } }]);
    let containers = json!([{ "name": "web", "image": "web:1", "envFrom": env }]);
    world.create_pod("web", &json!({ "containers": containers }));
    world.settle();
    let reason = |world: &World| world.east.pod("web").unwrap()["status"]["reason"].clone();
    assert_eq!((world.exports().len(), reason(&world)), (0, json!(null)), "it is about to be read");
    world.pass(60);
    world.settle();
    assert_eq!((world.exports().len(), reason(&world)), (0, json!("WaitingForConfig")));
    world.east.unread = None;
    world.pass(60);
    world.settle();
    assert_eq!(world.exports()[0].0.configs.len(), 1);

    // One that has crossed is followed all the same, and changes in nothing.
    world.east.unread = Some(Selection::named(&name));
    let hash = world.exports()[0].0.spec_hash.clone();
    world.east.own.delete(kinds::CONFIG_MAP, &name).unwrap();
    world.pass(60);
    world.settle();
    assert_eq!(world.exports()[0].0.spec_hash, hash);
    assert_eq!(world.east.pod("web").unwrap()["status"]["phase"], "Running");
}

/// On a hub that was built anew no Pod has crossed yet; those that run come first all the same.
#[test]
fn pods_that_run_are_read_before_others_and_ended_ones_are_not() {
    let mut world = World::new();
    let refers = |name: &str| {
        let env = json!([{ "configMapRef": { "name": name } }]);
        json!({ "containers": [{ "name": "web", "image": "web:1", "envFrom": env }] })
    };
    let set = |world: &mut World, phase: &str| {
        let status = json!({ "phase": phase, "startTime": "2026-01-01T00:00:00Z" });
        let name = ObjectName::new("shop", "web");
        world.east.own.edit(kinds::POD, &name, |pod| pod["status"] = status.clone()).unwrap();
    };
    world.create_pod("web", &refers("settings"));
    let new = world.east.snapshot();
    set(&mut world, "Running");
    world.west.consent(json!({}));
    world.settle();
    let runs = world.east.snapshot();
    assert!(may_differ(&new, &runs));
    assert_eq!(watched(&world).config_maps, named("settings"), "no offer is for it any more");
    set(&mut world, "Succeeded");
    assert!(may_differ(&runs, &world.east.snapshot()));
    assert!(watched(&world).config_maps.is_empty());
}

/// Users can bind as many Pods to a virtual node as they like, each of which could have eight watches.
#[test]
fn many_pods_have_a_bounded_number_of_watches() {
    let mut world = World::new();
    let refers = |at: usize| {
        let env: Vec<_> =
            (0..8).map(|of| json!({ "configMapRef": { "name": format!("c{at}-{of}") } })).collect();
        json!({ "containers": [{ "name": "web", "image": "web:1", "envFrom": env }] })
    };
    world.create_pod_in("other", "web", &refers(0));
    assert!(watched(&world).config_maps.is_empty(), "no executor takes Pods of this namespace");
    for at in 0..200 {
        world.create_pod(&format!("web-{at}"), &refers(at));
    }
    let found = watched(&world).config_maps.len();
    assert!((1000..1008).contains(&found), "{found}");
}

/// Each of them would be a watch, and the Pod does not cross.
#[test]
fn a_pod_that_refers_to_more_than_crosses_has_nothing_watched_and_says_why() {
    let mut world = World::new();
    let env = |count: usize| -> Vec<_> {
        (0..count).map(|at| json!({ "configMapRef": { "name": format!("c{at}") } })).collect()
    };
    for (name, count) in [("most", 8), ("more", 12)] {
        let containers = json!([{ "name": "web", "image": "web:1", "envFrom": env(count) }]);
        world.create_pod(name, &json!({ "containers": containers }));
    }
    assert_eq!(watched(&world).config_maps.len(), 8);
    world.settle();
    let reason = |name: &str| world.east.pod(name).unwrap()["status"]["reason"].clone();
    assert_eq!([reason("most"), reason("more")], ["WaitingForConfig", "LimitExceeded"]);
}
