//! Ports of a member that is silent by verdict come after those of others, and nothing moves without certainty.

use fleet_accumulator::View;
use fleet_api::traffic::SilenceState::{Heard, Silent};
use fleet_plan::{Plan, affected_keys};

use super::world::World;
use crate::multicluster::{Key, MulticlusterController};
use crate::snapshot::HubSnapshot;
use crate::tests::verdicts::{doubts, found, returns};

/// "a" exports the Service with one port, "b" with another one of its name.
fn contested() -> World {
    let mut world = World::new();
    world.settings.traffic = true;
    found(&mut world.hub, "a", Heard);
    world.export("a", 80);
    world.export("b", 81);
    world.settle();
    assert_eq!(in_force(&world), (80, "a"));
    world.hub.take_writes();
    world
}

/// The port in force, and the cluster whose properties are.
fn in_force(world: &World) -> (i64, &str) {
    let spec = &world.resolved().unwrap()["spec"];
    (spec["ports"][0]["port"].as_i64().unwrap(), spec["winner"].as_str().unwrap())
}

fn withheld(world: &World) -> Vec<&str> {
    let exporters = world.resolved().unwrap()["spec"]["exporters"].as_array().unwrap();
    let lacking = exporters.iter().filter(|it| !it["withheld"].is_null());
    lacking.map(|it| it["cluster"].as_str().unwrap()).collect()
}

fn reasons(plans: &[Plan]) -> Vec<&str> {
    plans.iter().flat_map(|plan| &plan.events).map(|event| event.reason).collect()
}

#[test]
fn ports_of_a_silent_member_yield_and_come_back_with_it() {
    let mut world = contested();
    found(&mut world.hub, "a", Silent);
    assert_eq!(reasons(&world.plans(&world.snapshot())), ["PortsYielded"]);
    world.settle();
    assert_eq!((in_force(&world), withheld(&world)), ((81, "b"), vec!["a"]));
    assert_eq!(world.exporters(), ["a", "b"]);
    assert_eq!(world.writes(), ["update ResolvedService"]);
    let conflict = &world.resolved().unwrap()["spec"]["conflicts"][0];
    let message = conflict["message"].as_str().unwrap();
    assert!(message.contains("oldest export of a cluster that is not silent"), "{message}");
    // It comes back once it has returned, and not before.
    for percent in [75, 25] {
        returns(&mut world.hub, "a", percent);
        world.settle();
        assert_eq!(in_force(&world), (81, "b"), "{percent}");
    }
    assert!(world.writes().is_empty());
    returns(&mut world.hub, "a", 0);
    world.settle();
    assert_eq!((in_force(&world), withheld(&world)), ((80, "a"), vec!["b"]));
    assert_eq!(world.writes(), ["update ResolvedService"]);
}

#[test]
fn nothing_moves_without_certainty() {
    for (doubt, raise) in doubts() {
        let mut world = contested();
        found(&mut world.hub, "a", Silent);
        raise(&mut world.hub, "a");
        world.settle();
        assert!(world.writes().is_empty(), "{doubt}");
        assert_eq!(in_force(&world), (80, "a"), "{doubt}");

        let mut world = contested();
        found(&mut world.hub, "a", Silent);
        world.settle();
        world.writes();
        raise(&mut world.hub, "a");
        world.settle();
        assert!(world.writes().is_empty(), "{doubt}");
        assert_eq!(in_force(&world), (81, "b"), "{doubt}");
    }
}

/// A process begins before it has listed verdicts.
#[test]
fn a_process_that_has_not_listed_verdicts_leaves_what_is_in_force() {
    let mut world = contested();
    let empty = |world: &World| {
        let seen = HubSnapshot { member_traffics: View::default(), ..world.snapshot() };
        world.plans(&seen).iter().all(Plan::is_empty)
    };
    assert!(empty(&world));
    found(&mut world.hub, "a", Silent);
    world.settle();
    assert_eq!(in_force(&world), (81, "b"));
    assert!(empty(&world));
}

#[test]
fn nothing_yields_where_all_are_silent() {
    let mut world = contested();
    found(&mut world.hub, "a", Silent);
    world.settle();
    found(&mut world.hub, "b", Silent);
    world.settle();
    assert_eq!(in_force(&world), (81, "b"), "what has yielded stays so");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn verdicts_affect_the_services_of_their_member() {
    let mut world = contested();
    let before = world.snapshot();
    found(&mut world.hub, "a", Silent);
    let controller = MulticlusterController { settings: world.settings.clone() };
    let keys = affected_keys(&controller, &before, &world.snapshot());
    assert_eq!(keys, [Key::Service(fleet_api::ObjectName::new("shop", "web"))].into());
    let before = world.snapshot();
    world.hub.advance(5);
    assert!(affected_keys(&controller, &before, &world.snapshot()).is_empty());
}
