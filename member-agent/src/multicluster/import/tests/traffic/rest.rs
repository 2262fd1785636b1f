//! What is not known changes nothing; what was applied is reported.

use std::time::Duration;

use serde_json::json;

use super::given::{directing, local_first};
use crate::multicluster::import::tests::world::{World, web};
use crate::traffic::Subject;

fn applied(world: &World) -> Option<i64> {
    let subjects = [Subject::standard(&web())];
    world.memory.applied(subjects, &world.snapshot().member_traffics)
}

/// The hub is away, and the agent was started anew: own endpoints follow in the order that the slices have, all others stay.
#[test]
fn without_the_hub_slices_keep_their_order() {
    let mut world = local_first();
    world.drain("b", 1, 100);
    world.settle();
    world.rest();
    let before = world.slots();
    world.heard = false;
    world.memory = crate::traffic_memory::TrafficMemory::new(world.clock.clone());
    assert!(world.plan().steps.is_empty(), "{:#?}", world.plan());
    assert_eq!(world.slots(), before);
    world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]);
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2", "10.9.0.2 first z1+z2"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    world.heard = true;
    assert!(world.plan().steps.is_empty(), "what is in force is as it was");
}

/// The agent was started anew before it knows what is in force: what was out of use stays so, its own endpoints as well.
#[test]
fn what_is_out_of_use_stays_so_until_policies_are_known() {
    let mut world = directing();
    let weight = |cluster: &str| json!({ "cluster": cluster, "weight": 0 });
    world.ask_on_hub(json!({ "weights": [weight("a"), weight("b")] }));
    world.settle();
    world.rest();
    let before = world.slots();
    assert_eq!(before, ["c 10.2.0.1 pool"]);
    world.memory = crate::traffic_memory::TrafficMemory::new(world.clock.clone());
    world.heard = false;
    world.settle();
    assert_eq!(world.slots(), before);
    world.heard = true;
    assert!(world.plan().steps.is_empty(), "what is in force is as it was");
    world.ask_on_hub(json!({}));
    world.settle();
    assert_eq!(world.slots().len(), 4);
}

/// What this cluster asks for is in force whatever the hub has.
#[test]
fn a_policy_of_this_cluster_needs_nothing_on_the_hub() {
    let mut world = directing();
    world.ask(json!({ "preference": "LocalFirst" }));
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"]);
}

#[test]
fn the_serial_is_applied_when_the_slices_show_it() {
    let mut world = directing();
    assert_eq!(applied(&world), None, "the hub has decided nothing");
    world.drain("c", 4, 0);
    world.pass(1);
    world.drain("b", 9, 100);
    let plan = world.plan();
    world.execute(&plan);
    assert_eq!(applied(&world), Some(8), "it was written, and not seen yet");
    world.settle();
    assert_eq!(applied(&world), Some(9));
    world.decide("other", json!({ "serial": 12 }));
    assert_eq!(applied(&world), Some(12), "it exports nothing that is imported here");
    let fresh = crate::traffic_memory::TrafficMemory::new(world.clock.clone());
    let subjects = || [Subject::standard(&web())];
    let members = world.snapshot().member_traffics;
    assert_eq!(fresh.applied(subjects(), &members), None, "nothing was looked at");
}

/// More slices than a burst have just been drained.
fn just_drained() -> World {
    let mut world = directing();
    world.fleet(json!({ "shapeWritesPerSecond": 10 }));
    for slice in 0..150 {
        world.export_slice("b", &format!("s{slice}"), &[&format!("10.3.0.{slice}")]);
    }
    world.settle();
    world.rest();
    world.drain("b", 1, 100);
    world.settle();
    assert_eq!(world.writes().len(), 151, "a Service is written at once");
    world
}

/// More slices than a burst change their place: the rest comes at the pace of the fleet, however often plans are made.
#[test]
fn changes_of_places_are_paced() {
    let mut world = just_drained();
    world.drain("b", 2, 0);
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "its next change waits");
    let wait = plan.wake_after.unwrap();
    assert!(wait > Duration::from_secs(4) && wait < Duration::from_secs(6), "{wait:?}");
    world.settle();
    // An endpoint that goes does not wait.
    world.move_endpoints("b", "s7", &[]);
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    world.pass(6);
    assert_eq!(world.writes().len(), 150);
    world.rest();
}

/// A drain ends before its writes have had their turn: what comes next waits no longer than they would have.
#[test]
fn writes_that_are_not_needed_any_more_delay_no_others() {
    let mut world = just_drained();
    world.drain("b", 2, 0);
    world.settle();
    world.drain("b", 3, 100);
    world.settle();
    assert!(world.writes().is_empty(), "it is as it was before its turn came");
    world.drain("c", 4, 100);
    world.settle();
    assert!(world.writes().is_empty());
    world.pass(7);
    assert_eq!(world.writes().len(), 1);
    world.rest();
}

/// Planning twice at the same time gives the same plan, whatever is remembered.
#[test]
fn plans_are_equal_while_the_clock_stands_still() {
    let mut world = local_first();
    world.own_pods(&[], &["10.9.0.1"]);
    world.silence("b", 1, 100);
    assert_eq!(world.plan(), world.plan());
    world.settle();
    assert_eq!(world.plan(), world.plan());
}

/// A change of one member concerns the imports from it.
#[test]
fn a_drain_concerns_what_the_member_exports() {
    use fleet_plan::affected_keys;
    let mut world = directing();
    let controller =
        crate::multicluster::import::StandardImportController::new(world.settings.clone());
    let keys = |world: &mut World, change: fn(&mut World)| {
        let before = world.snapshot();
        change(world);
        affected_keys(&controller, &before, &world.snapshot()).len()
    };
    assert_eq!(keys(&mut world, |world| world.drain("b", 1, 100)), 1);
    assert_eq!(keys(&mut world, |world| world.drain("other", 2, 100)), 0);
    assert_eq!(keys(&mut world, |world| world.ask(json!({ "preference": "LocalFirst" }))), 1);
    assert_eq!(keys(&mut world, |world| world.defaults(&json!({}))), 1);
    assert_eq!(keys(&mut world, |world| world.node("n7", Some("z7"))), 1);
    assert_eq!(keys(&mut world, |world| world.node("n8", Some("z7"))), 0);
}
