//! Verdicts.

use std::time::Instant;

use serde_json::json;

use super::given::{directing, local_first};
use crate::traffic_memory::TrafficMemory;

#[test]
fn endpoints_of_a_silent_member_are_last_resort_and_return_in_steps() {
    let mut world = directing();
    world.silence("b", 1, 100);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    assert_eq!(world.slots_of("c"), ["10.2.0.1 pool"]);
    for (serial, percent, last) in [(2, 75, 2), (3, 50, 1), (4, 25, 1), (5, 0, 0)] {
        world.silence("b", serial, percent);
        world.settle();
        let found = world.slots_of("b").iter().filter(|line| line.ends_with("last")).count();
        assert_eq!(found, last, "{percent} percent");
    }
    world.rest();
}

/// A wrong verdict about all exporters costs nothing.
#[test]
fn a_service_whose_exporters_are_all_silent_is_served_as_before() {
    let mut world = directing();
    world.fleet(json!({ "maxSilentPercent": 50 }));
    for (member, serial) in [("b", 1), ("c", 2)] {
        let silence = json!({
            "state": "Silent", "percent": 100, "serial": serial, "confirmed": true,
        });
        world.decide(member, json!({ "serial": serial, "silence": silence }));
        world.instruct(member, json!({ "silence": "Confirmed" }));
    }
    world.own_pods(&[], &["10.9.0.1"]);
    world.settle();
    world.pass(1);
    let pool = ["b 10.1.0.1 pool", "b 10.1.0.2 pool", "c 10.2.0.1 pool"];
    assert_eq!(world.slots(), pool);
}

/// A cluster reaches its own endpoints, whatever the hub receives of it.
#[test]
fn no_cluster_takes_itself_for_silent() {
    let mut world = local_first();
    world.silence("a", 1, 100);
    assert!(world.plan().steps.is_empty());
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"]);
}

/// A hub agent that finds all silent demotes one member: the oldest verdict.
#[test]
fn no_more_verdicts_are_applied_than_the_hub_agent_may_pass() {
    let mut world = directing();
    world.silence("c", 1, 100);
    world.silence("b", 2, 100);
    for other in 3..8 {
        world.silence(&format!("other-{other}"), other, 100);
    }
    world.settle();
    assert_eq!(world.slots_of("c"), ["10.2.0.1 last"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}

#[test]
fn the_owner_of_a_service_decides_what_silence_means() {
    let mut world = directing();
    world.ask(json!({ "onSilence": { "action": "Keep" } }));
    world.silence("b", 1, 100);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    world.ask(json!({
        "onSilence": { "action": "Remove", "holdSeconds": 20, "removeAfterSeconds": 300 },
    }));
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    assert!(world.plan().wake_after.is_some_and(|after| after.as_secs() == 20));
    world.pass(20);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    world.pass(299);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    world.pass(1);
    assert!(world.slots_of("b").is_empty());
    world.silence("b", 2, 75);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"], "it returns");
}

/// An upgrade does not put endpoints of a dead cluster in use again.
#[test]
fn what_was_removed_stays_so_with_the_next_leader() {
    let mut world = directing();
    world.ask(json!({ "onSilence": { "action": "Remove", "removeAfterSeconds": 300 } }));
    world.silence("b", 1, 100);
    world.settle();
    world.pass(300);
    assert!(world.slots_of("b").is_empty());
    let noted = world.memory.hand_on();
    world.memory = TrafficMemory::new(world.clock.clone());
    world.memory.take_over(noted);
    world.memory.begin(Instant::now());
    world.pass(1);
    assert!(world.slots_of("b").is_empty());
    world.memory = TrafficMemory::new(world.clock.clone());
    world.pass(1);
    assert!(!world.slots_of("b").is_empty(), "without the note its time begins anew");
}

#[test]
fn the_fleet_can_forbid_removal() {
    let mut world = directing();
    world.fleet(json!({ "allowRemove": false }));
    world.ask(json!({ "onSilence": { "action": "Remove", "removeAfterSeconds": 300 } }));
    world.silence("b", 1, 100);
    world.pass(400);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
}

/// DNS has all endpoints of a headless Service, so that only an explicit removal means anything.
#[test]
fn endpoints_of_headless_services_leave_with_an_explicit_removal_alone() {
    let mut world = directing();
    world.respec("type", json!("Headless"));
    world.settle();
    world.silence("b", 1, 100);
    world.pass(1000);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    world.ask(json!({ "onSilence": { "action": "Remove", "removeAfterSeconds": 300 } }));
    world.pass(1);
    assert!(world.slots_of("b").is_empty());
    world.silence("b", 2, 75);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}
