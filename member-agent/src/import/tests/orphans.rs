//! Imported slices whose copies on the hub disappear without being deleted (S21).

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, events, kinds};
use serde_json::{Value, json};

use super::{World, shop};

/// An import of so many slices.
fn of_many(count: usize) -> World {
    let mut world = World::waiting();
    world.grant(super::granted());
    for number in 0..count {
        let copy = ObjectName::new("fleet-member-b", format!("a-team-shop-{number:02}"));
        world.distribute_as(&copy, &[&format!("10.1.0.{number}")]);
    }
    world.settle();
    assert_eq!(slices(&world), count);
    world
}

fn slices(world: &World) -> usize {
    world.own.names(kinds::ENDPOINT_SLICE).len()
}

/// A user removes this agent's finalizers from copies, and deletes them.
fn lose(world: &mut World, count: usize) -> Vec<(ObjectName, Value)> {
    let names = world.hub.names(kinds::ENDPOINT_SLICE_IMPORT).into_iter().take(count);
    let take_away = |name: ObjectName| {
        let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap().clone();
        let bare = |copy: &mut Value| copy["metadata"]["finalizers"] = json!([]);
        world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, bare).unwrap();
        world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap();
        (name, copy)
    };
    names.map(take_away).collect()
}

/// S21: above 20 and above 30 % they are kept, with an Event, and nothing is left to do when
/// the copies return.
#[test]
fn many_orphans_are_kept_until_their_copies_return() {
    let mut world = of_many(30);
    let lost = lose(&mut world, 21);
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "{plan:#?}");
    assert!(plan.wake_after.is_some());
    assert_eq!(world.reasons(), [events::IMPORTS_KEPT]);
    for (name, copy) in lost {
        world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, copy).unwrap();
    }
    world.settle();
    assert_eq!((slices(&world), world.reasons().len()), (30, 0));
}

/// A copy that cannot be decoded is restored by the hub agent; until then its endpoints stay.
#[test]
fn endpoints_stay_while_their_copy_cannot_be_decoded() {
    let mut world = World::importing();
    let whole =
        world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &super::copy()).unwrap()["spec"].clone();
    world.change_copy(|copy| {
        copy["spec"]["endpointSliceReference"]["exportedSince"] =
            json!("2026-01-01T00:00:00+99:59");
    });
    assert_eq!(world.plan().steps, []);
    assert_eq!(slices(&world), 1);
    world.change_copy(|copy| copy["spec"] = whole);
    assert_eq!(world.plan().steps, []);

    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &super::copy()).unwrap();
    world.settle();
    assert_eq!(slices(&world), 0);
}

/// S21, from below: up to 20, or up to 30 %, are an accident that is cleaned up.
#[test]
fn few_orphans_go() {
    for (all, lost) in [(20, 20), (30, 20), (80, 24)] {
        let mut world = of_many(all);
        lose(&mut world, lost);
        world.settle();
        assert_eq!(slices(&world), all - lost, "{lost} of {all}");
    }
}

/// Another agent of this member, which sees the copy first, may import it: then the copy is looked for before the slice goes.
/// Without an import nothing is asked of the hub, which may be gone.
#[test]
fn a_slice_goes_when_the_hub_confirms_that_its_copy_is_gone() {
    let verbs = |world: &World| -> Vec<_> {
        let plan = world.plan();
        let steps = plan.steps.iter();
        steps.map(|step| (step.action.verb(), step.cluster, !step.after.is_empty())).collect()
    };
    let mut world = of_many(1);
    lose(&mut world, 1);
    let confirmed = [("get", ClusterId::Hub, false), ("delete", ClusterId::Local, true)];
    assert_eq!(verbs(&world), confirmed);

    world.delete_mcs(&shop());
    let steps = verbs(&world);
    assert!(steps.contains(&("delete", ClusterId::Local, false)), "{steps:?}");
}

/// A hub that has lost everything grants nothing: clients keep the Service whose slices are kept, and
/// it goes when an operator has confirmed the loss.
#[test]
fn the_derived_service_stays_with_its_orphans() {
    let mut world = of_many(30);
    lose(&mut world, 30);
    world.grant(json!({}));
    world.settle();
    assert_eq!((slices(&world), world.derived().is_some()), (30, true));
    for name in world.own.names(kinds::ENDPOINT_SLICE).drain(..10) {
        world.own.delete(kinds::ENDPOINT_SLICE, &name).unwrap();
    }
    world.settle();
    assert_eq!((slices(&world), world.derived().is_some()), (0, false));
}

/// An operator confirms by deleting slices; then there are few.
#[test]
fn what_an_operator_deletes_stays_away() {
    let mut world = of_many(30);
    lose(&mut world, 25);
    for name in world.own.names(kinds::ENDPOINT_SLICE).drain(..5) {
        world.own.delete(kinds::ENDPOINT_SLICE, &name).unwrap();
    }
    world.settle();
    assert_eq!(slices(&world), 5);
}

/// Who does not import any more keeps nothing.
#[test]
fn orphans_go_with_the_mcs() {
    let mut world = of_many(30);
    lose(&mut world, 30);
    world.delete_mcs(&shop());
    world.settle();
    assert_eq!(slices(&world), 0);
}
