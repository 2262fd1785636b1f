//! Drains.

use serde_json::json;

use super::given::{directing, local_first};

#[test]
fn drained_endpoints_are_last_resort_and_return() {
    let mut world = directing();
    world.drain("b", 1, 100);
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"], "one slice of one member");
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    assert_eq!(world.slots_of("c"), ["10.2.0.1 pool"]);
    world.rest();
    world.drain("b", 2, 0);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}

#[test]
fn a_step_takes_its_part_of_each_source() {
    let mut world = directing();
    world.drain("b", 1, 10);
    world.settle();
    let last = |world: &super::super::world::World| {
        world.slots_of("b").iter().filter(|line| line.ends_with("last")).count()
    };
    assert_eq!(last(&world), 1, "rounded up");
    world.drain("b", 2, 50);
    assert!(world.plan().steps.is_empty(), "the same one");
    world.drain("b", 3, 60);
    world.settle();
    assert_eq!(last(&world), 2);
}

/// In the drained member as well: own endpoints go last.
#[test]
fn a_member_that_is_drained_uses_others() {
    let mut world = local_first();
    world.drain("a", 1, 100);
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 last"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 second", "10.1.0.2 second"]);
}

/// What is drained serves again when all else is gone, with no agent at once, and as ready a second later.
#[test]
fn drained_endpoints_serve_when_no_other_does() {
    let mut world = local_first();
    world.drain("b", 1, 100);
    world.settle();
    world.own_pods(&[], &["10.9.0.1"]);
    world.move_endpoints("c", "web-1", &[]);
    world.settle();
    assert_eq!(world.slots(), ["b 10.1.0.1 last", "b 10.1.0.2 last"]);
    world.pass(1);
    assert_eq!(world.slots(), ["b 10.1.0.1 second", "b 10.1.0.2 second"]);
}

#[test]
fn an_entry_of_a_service_is_stronger_than_that_of_all() {
    let mut world = directing();
    let drain = |service: &str, percent: i64| json!({ "service": service, "percent": percent, "reason": "Draining" });
    world.decide("b", json!({ "serial": 1, "drains": [drain("*", 100), drain("shop/web", 50)] }));
    world.settle();
    let last = world.slots_of("b").iter().filter(|line| line.ends_with("last")).count();
    assert_eq!(last, 1);
    let held = json!({ "serial": 2, "drains": [drain("*", 100)], "heldServices": ["shop/web"] });
    world.decide("b", held);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    world.decide("b", json!({ "serial": 3, "drains": [drain("shop/other", 100)] }));
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}

#[test]
fn a_drain_with_removal_leaves_an_empty_slice() {
    let mut world = directing();
    let drain = json!({ "service": "*", "percent": 100, "removed": true, "reason": "Drained" });
    world.decide("b", json!({ "serial": 1, "drains": [drain] }));
    world.settle();
    assert!(world.slots_of("b").is_empty());
    assert_eq!(world.slices()[1], "b  http", "the slice stays");
    world.rest();
}

/// A hub that was restored from a backup has an older serial, and undrains nothing.
#[test]
fn going_back_in_time_undrains_nothing() {
    let mut world = directing();
    world.drain("b", 7, 100);
    world.settle();
    world.drain("b", 3, 0);
    assert!(world.plan().steps.is_empty());
    world.pass(1);
    let name = fleet_api::ObjectName::cluster("b");
    world.hub.delete(fleet_api::kinds::MEMBER_TRAFFIC, &name).unwrap();
    world.pass(1);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    // The object of a hub that was rebuilt, whatever else is decided about the member.
    for serial in [4, 8, 9] {
        world.drain("b", serial, 0);
        world.pass(1);
        assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    }
    // An administrator decides anew.
    world.instruct("b", json!({ "drains": [{ "service": "*", "percent": 0 }] }));
    world.pass(1);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}

/// DNS has no last resort: names of single Pods must not disappear.
#[test]
fn a_drain_concerns_no_headless_service() {
    let mut world = directing();
    world.respec("type", json!("Headless"));
    world.settle();
    world.drain("b", 1, 100);
    assert!(world.plan().steps.is_empty());
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}

/// Endpoints that come while a member is drained are last resort from the beginning.
#[test]
fn new_endpoints_of_a_drained_member_are_last_resort() {
    let mut world = directing();
    world.drain("b", 1, 100);
    world.settle();
    world.move_endpoints("b", "web-1", &["10.1.0.1", "10.1.0.2", "10.1.0.3"]);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last", "10.1.0.3 last"]);
}
