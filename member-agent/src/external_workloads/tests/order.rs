//! Which write waits for which.

use fleet_api::kinds;
use fleet_plan::Action;
use serde_json::json;

use super::world::{World, machine};

fn world() -> World {
    let mut world = World::new();
    for (name, ip) in [("vm-1", "192.0.2.1"), ("vm-2", "192.0.2.2"), ("vm-3", "192.0.2.3")] {
        world.add(name, machine(&[ip]), true);
    }
    world.settle();
    world
}

/// An address leaves its slice when it is in the new one, and not before.
#[test]
fn an_address_that_moves_is_never_in_no_slice() {
    let mut world = world();
    world.edit(kinds::EXTERNAL_WORKLOAD, "vm-1", |vm| vm["spec"]["ports"][0]["port"] = json!(81));
    let plan = world.plan();
    let [create, update] = &plan.steps[..] else { panic!("{plan:#?}") };
    assert!(matches!(create.action, Action::Create(_)) && create.after.is_empty());
    assert_eq!(update.after.iter().map(|step| step.index()).collect::<Vec<_>>(), [0]);
    assert!(update.urgent);
}

/// What serves no more goes at once, whatever else is to be written.
#[test]
fn a_machine_that_goes_waits_for_nothing() {
    let mut world = world();
    world.delete(kinds::EXTERNAL_WORKLOAD, "vm-2");
    let mut other = machine(&["192.0.2.4"]);
    other["spec"]["ports"][0]["port"] = json!(81);
    world.add("vm-4", other, true);
    let plan = world.plan();
    let [create, update] = &plan.steps[..] else { panic!("{plan:#?}") };
    assert!(matches!(create.action, Action::Create(_)) && !create.urgent);
    assert!(update.urgent && update.after.is_empty());
}
