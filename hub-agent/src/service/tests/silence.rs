//! Ports of a member that is silent by verdict yield to those of the oldest one that is not, and nothing moves without certainty.

use fleet_accumulator::View;
use fleet_api::traffic::SilenceState::{Heard, Silent};
use fleet_model::objects::traffic::FleetDecision;
use fleet_plan::{Plan, affected_keys};
use serde_json::{Value, json};

use super::world::{World, port, shop};
use crate::Settings;
use crate::service::Key;
use crate::snapshot::HubSnapshot;
use crate::tests::verdicts::{doubts, found, judge, returns};

/// "a" exports the Service first, then "c" and "d" with other ports. "b" imports it.
fn contested() -> World {
    let mut world = World::shared();
    world.controller.settings = Settings { traffic: true, ..Settings::default() };
    world.export("c", 81);
    world.slice("c", "s2", "10.3.0.1");
    world.export("d", 82);
    found(&mut world.hub, "a", Heard);
    world.settle();
    assert_eq!(ports(&world), port(80));
    world
}

fn ports(world: &World) -> Value {
    world.import().unwrap()["status"]["ports"].clone()
}

fn reasons(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|event| event.reason).collect()
}

#[test]
fn ports_of_a_silent_member_yield_to_the_oldest_other_export() {
    let mut world = contested();
    found(&mut world.hub, "a", Silent);
    assert_eq!(reasons(&world.plan()), ["PortsYielded"]);
    // Importers are granted the Service all the time, and keep what they have until its successor is there.
    world.settle_watched(|world| {
        assert!(!world.clusters().is_empty() && !world.copies().is_empty());
        assert_eq!(world.granted(), ["b"]);
    });
    assert_eq!((ports(&world), world.clusters()), (port(81), vec!["c"]));
    assert_eq!(world.copies(), ["fleet-member-b/c-s2"]);
    assert_eq!(["a", "c", "d"].map(|member| world.conflict(member)), ["True", "False", "True"]);
    let message = world.message("a").to_owned();
    assert!(
        message.contains("those of cluster c") && message.contains("(cluster a is silent)"),
        "{message}"
    );
    assert!(!world.message("d").contains("silent"), "{}", world.message("d"));
    assert!(reasons(&world.plan()).is_empty());
}

#[test]
fn ports_that_have_yielded_stay_while_an_export_has_them() {
    let mut world = contested();
    found(&mut world.hub, "a", Silent);
    world.settle();
    for percent in [75, 25, 0] {
        returns(&mut world.hub, "a", percent);
        world.settle();
        assert_eq!((ports(&world), world.clusters()), (port(81), vec!["c"]), "{percent}");
    }
    assert!(!world.message("a").contains("silent"), "{}", world.message("a"));
    // Age decides again when no export has them any more.
    world.delete_export("c");
    world.settle();
    assert_eq!((ports(&world), world.clusters()), (port(80), vec!["a"]));
}

#[test]
fn nothing_moves_without_certainty() {
    for (doubt, raise) in doubts() {
        let mut world = contested();
        found(&mut world.hub, "a", Silent);
        raise(&mut world.hub, "a");
        world.hub.take_writes();
        world.settle();
        assert_eq!((ports(&world), world.hub.take_writes().len()), (port(80), 0), "{doubt}");

        let mut world = contested();
        found(&mut world.hub, "a", Silent);
        world.settle();
        raise(&mut world.hub, "a");
        world.hub.take_writes();
        world.settle();
        assert_eq!((ports(&world), world.hub.take_writes().len()), (port(81), 0), "{doubt}");
    }
    let mut world = contested();
    returns(&mut world.hub, "a", 75);
    world.settle();
    assert_eq!(ports(&world), port(80), "one that returns yields nothing");
    world.controller.settings.traffic = false;
    found(&mut world.hub, "a", Silent);
    world.settle();
    assert_eq!(ports(&world), port(80), "traffic is not decided about");
}

#[test]
fn ports_that_another_export_has_too_do_not_yield() {
    let mut world = contested();
    world.set_ports("d", port(80));
    world.settle();
    found(&mut world.hub, "a", Silent);
    world.settle();
    assert_eq!((ports(&world), world.clusters()), (port(80), vec!["a", "d"]));
    // Its last holder follows.
    found(&mut world.hub, "d", Silent);
    world.settle();
    assert_eq!((ports(&world), world.clusters()), (port(81), vec!["c"]));
}

#[test]
fn nothing_yields_where_all_are_silent() {
    let mut world = contested();
    for member in ["a", "c", "d"] {
        found(&mut world.hub, member, Silent);
    }
    world.settle();
    assert_eq!(ports(&world), port(80));
    found(&mut world.hub, "d", Heard);
    world.settle();
    assert_eq!((ports(&world), world.clusters()), (port(82), vec!["d"]));
}

#[test]
fn an_export_whose_age_counts_comes_first_where_none_is_in_force() {
    let mut world = contested();
    found(&mut world.hub, "a", Silent);
    world.settle();
    found(&mut world.hub, "c", Silent);
    world.settle();
    assert_eq!(world.clusters(), ["d"]);
    world.delete_export("d");
    world.settle();
    assert_eq!((ports(&world), world.clusters()), (port(80), vec!["a"]), "all others are silent");
}

#[test]
fn verdicts_affect_the_services_of_their_member() {
    let mut world = contested();
    let before = world.snapshot();
    found(&mut world.hub, "a", Silent);
    let keys =
        |world: &World, old: &HubSnapshot| affected_keys(&world.controller, old, &world.snapshot());
    let shop = [Key::Service(shop())].into();
    assert_eq!(keys(&world, &before), shop);
    // What concerns no verdict concerns no Service.
    let before = world.snapshot();
    world
        .hub
        .edit(fleet_api::kinds::MEMBER_TRAFFIC, &fleet_api::ObjectName::cluster("a"), |it| {
            it["status"]["serial"] = json!(5);
        })
        .unwrap();
    assert!(keys(&world, &before).is_empty());
    // Certainty that comes or goes affects those that are silent, and verdicts that are listed all members.
    let before = world.snapshot();
    judge(&mut world.hub, &FleetDecision::default());
    assert_eq!(keys(&world, &before), shop);
    let unlisted = HubSnapshot { member_traffics: View::default(), ..world.snapshot() };
    assert_eq!(keys(&world, &unlisted), shop);
}
