//! The status of an offer, and when it goes.

use fleet_api::offload::LinkState;
use fleet_api::{finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, in_member};

fn status(world: &World, name: &str) -> Value {
    world.hub.get(kinds::OFFLOAD_OFFER, &in_member("west", name)).unwrap()["status"].clone()
}

#[test]
fn an_offer_shows_which_members_are_silent() {
    let mut world = World::new();
    world.offer("offer", &["east", "north"]);
    world.hear("north", None);
    world.settle();
    let offer = world.hub.get(kinds::OFFLOAD_OFFER, &in_member("west", "offer")).unwrap();
    assert_eq!(offer["metadata"]["finalizers"], json!([finalizers::OFFLOAD_OFFER]));
    let origins = status(&world, "offer")["origins"].clone();
    assert_eq!(origins.as_array().unwrap().len(), 1, "of north nothing is known: {origins}");
    assert_eq!(origins[0]["state"], "Connected");
    let since = origins[0]["since"].clone();
    world.hub.advance(100);
    world.settle();
    assert_eq!(status(&world, "offer")["origins"][0]["since"], since, "nothing has changed");
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    assert_eq!(status(&world, "offer")["origins"][0]["state"], "Silent");
    assert_ne!(status(&world, "offer")["origins"][0]["since"], since);
    // A hub agent that has just started does not know yet, and takes nothing back.
    world.hear("east", None);
    world.settle();
    assert_eq!(status(&world, "offer")["origins"][0]["state"], "Silent");
}

/// Its Pods still run there, and count on it.
#[test]
fn an_offer_shows_whether_members_are_silent_that_it_is_not_for_any_more() {
    let mut world = World::accepted();
    world.export("east", "u-1");
    world.settle();
    assert!(world.import("east", "u-1").is_some());
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"] = json!({});
    });
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    let origins = status(&world, "offer")["origins"].clone();
    assert_eq!((&origins[0]["cluster"], &origins[0]["state"]), (&json!("east"), &json!("Silent")));
}

#[test]
fn a_change_is_written_once() {
    let mut world = World::accepted();
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    assert_eq!(world.writes(), ["patch_status OffloadOffer"]);
    world.hear("west", Some(LinkState::Silent));
    world.settle();
    assert_eq!(world.writes(), ["patch_status VirtualNode"]);
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
}

#[test]
fn an_offer_shows_why_it_is_not_in_force() {
    let mut world = World::new();
    let why = |world: &World, name: &str| {
        status(world, name)["withdrawn"].as_str().unwrap_or_default().to_owned()
    };
    world.offer("none", &["south"]);
    world.settle();
    assert_eq!(why(&world, "none"), "it selects no member");
    world.hub.delete(kinds::OFFLOAD_OFFER, &in_member("west", "none")).unwrap();
    world.offer("first", &["east"]);
    world.offer("second", &["east"]);
    world.settle();
    assert_eq!(
        (&*why(&world, "first"), &*why(&world, "second")),
        ("", "the older offer first counts")
    );
    let policy = in_member("west", "member-policy");
    world.edit(kinds::CONFIG_MAP, &policy, |policy| policy["data"]["cidrs"] = json!("10.1.4.0/24"));
    world.settle();
    assert_eq!(why(&world, "first"), "ranges of pods overlap those of east");
    world.edit(kinds::CONFIG_MAP, &policy, |policy| policy["data"]["cidrs"] = json!(""));
    world.settle();
    assert_eq!(why(&world, "first"), "the member policy of west has no ranges of its pods (cidrs)");
}

#[test]
fn no_executor_serves_more_than_it_can() {
    let mut world = World::new();
    let names: Vec<_> = (0..25).map(|at| format!("m{at:02}")).collect();
    for (at, name) in names.iter().enumerate() {
        world.join(name, &format!("10.{}.0.0/16", 100 + at));
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    world.offer("offer", &names);
    world.settle();
    assert_eq!(world.hub.names(kinds::VIRTUAL_NODE).len(), 20);
    let why = status(&world, "offer")["withdrawn"].as_str().unwrap().to_owned();
    assert!(why.starts_with("m20, m21, m22, m23, m24 and others are not served"), "{why}");
    // Members that are served stay so when others come.
    world.join("a", "10.99.0.0/16");
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"]["clusters"].as_array_mut().unwrap().push(json!("a"));
    });
    world.settle();
    assert!(world.node("m19").is_some() && world.node("a").is_none());
    assert_eq!(world.phase("m19"), Some("Offered"));
}

#[test]
fn what_pods_use_is_reported_a_moment_later() {
    let mut world = World::accepted();
    world.export("east", "u1");
    world.export("east", "u2");
    world.settle();
    assert_eq!(status(&world, "offer")["used"]["pods"], 0);
    world.rest();
    let status = status(&world, "offer");
    assert_eq!((&status["used"]["pods"], &status["used"]["cpu"]), (&json!(2), &json!("1")));
    assert_eq!((&status["free"]["pods"], &status["free"]["cpu"]), (&json!(1), &json!("3")));
}

#[test]
fn an_offer_that_is_deleted_goes_when_its_nodes_are_withdrawn() {
    let mut world = World::accepted();
    world.hub.delete(kinds::OFFLOAD_OFFER, &in_member("west", "offer")).unwrap();
    world.settle();
    assert_eq!(world.phase("east"), Some("Withdrawn"));
    assert_eq!(world.hub.names(kinds::OFFLOAD_OFFER).len(), 0);
}

/// No member has given it.
#[test]
fn an_offer_elsewhere_is_left_alone() {
    let mut world = World::new();
    let name = fleet_api::ObjectName::new("shop", "offer");
    world.hub.create(kinds::NAMESPACE, &fleet_api::ObjectName::cluster("shop"), json!({})).unwrap();
    let spec = json!({ "originSelector": { "clusters": ["east"] },
        "capacity": { "cpu": "1", "memory": "1", "pods": 1 }, "terms": { "namespaces": ["*"] } });
    world.hub.create(kinds::OFFLOAD_OFFER, &name, json!({ "spec": spec })).unwrap();
    world.hub.take_writes();
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
}
