//! The order of writes to the hub when endpoints move from slice to slice.

use fleet_api::{ObjectName, kinds};
use fleet_plan::{Action, Step};
use serde_json::{Value, json};

use super::world::{World, backing, slice, slice_object};
use crate::measurement::Plan;

fn successor() -> ObjectName {
    ObjectName::new("team", "shop-x2")
}

fn endpoints(addresses: &[&str]) -> Value {
    addresses.iter().map(|address| json!({ "addresses": [address] })).collect()
}

fn with(addresses: &[&str]) -> Value {
    let mut slice = slice_object("IPv4", &backing());
    slice["endpoints"] = endpoints(addresses);
    slice
}

/// An exported slice with the first addresses has, since the last plan, come to `remaining` of them (`None`: it is
/// deleted), and another slice has `moved`.
fn repacked(remaining: Option<&[&str]>, moved: &[&str]) -> Plan {
    let mut world = World::exported();
    match remaining {
        None => world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap(),
        Some(remaining) => {
            let set = |slice: &mut Value| slice["endpoints"] = endpoints(remaining);
            world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
        }
    }
    world.own.create(kinds::ENDPOINT_SLICE, &successor(), with(moved)).unwrap();
    world.plan()
}

/// The actions that the removal of endpoints waits for.
fn waits_for(plan: &Plan) -> Vec<&Action> {
    let removes =
        |step: &&Step| matches!(step.action, Action::Delete { .. } | Action::Replace { .. });
    let removal = plan.steps.iter().find(removes).unwrap();
    assert!(removal.urgent);
    removal.after.iter().map(|step| &plan.steps[step.index()].action).collect()
}

#[test]
fn a_slice_is_withdrawn_after_the_one_that_took_its_endpoints_is_there() {
    let plan = repacked(None, &["10.1.0.2", "10.1.0.1", "10.1.0.9"]);
    assert!(matches!(waits_for(&plan)[..], [Action::Create(_)]));
}

#[test]
fn an_endpoint_leaves_its_slice_after_it_is_in_the_next_one() {
    let plan = repacked(Some(&["10.1.0.1"]), &["10.1.0.2"]);
    assert!(matches!(waits_for(&plan)[..], [Action::Create(_)]));
}

/// A quota may reject the new copy for as long as the old one is there.
#[test]
fn a_slice_waits_for_a_new_one_for_a_while_only() {
    let mut world = World::exported();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.own.create(kinds::ENDPOINT_SLICE, &successor(), with(&["10.1.0.1", "10.1.0.2"])).unwrap();
    assert!(matches!(waits_for(&world.plan())[..], [Action::Create(_)]));
    world.own.advance(60);
    assert_eq!(waits_for(&world.plan()), [] as [&Action; 0]);
}

/// What no longer serves is removed at once, whatever becomes of the new slice.
#[test]
fn the_removal_of_an_endpoint_that_is_gone_waits_for_nothing() {
    for (remaining, moved) in
        [(None, &["10.1.0.2"][..]), (Some(&["10.1.0.1"][..]), &["10.1.0.9"]), (None, &[])]
    {
        assert_eq!(waits_for(&repacked(remaining, moved)), [] as [&Action; 0], "{moved:?}");
    }
}

/// The new slice may not have a copy: an export that is not accepted any more creates none.
#[test]
fn without_a_new_copy_nothing_waits() {
    let mut world = World::exported();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.own.create(kinds::ENDPOINT_SLICE, &successor(), with(&["10.1.0.1", "10.1.0.2"])).unwrap();
    world.judge("True");
    world.settle();
    assert!(world.copies().is_empty());
}
