//! What is not known is not taken for gone.

use fleet_accumulator::{SourceState, View};
use fleet_api::kinds;
use fleet_model::cidr::Cidrs;
use fleet_model_server::execute;

use super::super::plan;
use super::world::{World, machine, shop};

fn served() -> World {
    let mut world = World::new();
    world.add("vm", machine(&["192.0.2.1"]), true);
    world.settle();
    world
}

/// The kind was never served, is served no more, or cannot be read: slices stay as they are.
#[test]
fn without_the_kind_nothing_is_done() {
    let world = served();
    let since = std::time::Instant::now();
    let forbidden = SourceState::Forbidden { since, verb: "list", message: "no".into() };
    let stale = SourceState::Stale { since, message: "no answer".into() };
    let missing = SourceState::Missing { since };
    for state in [missing, forbidden, stale, SourceState::Resyncing, SourceState::Pending] {
        let mut snapshot = world.snapshot();
        snapshot.external_workloads = View::of([]).in_state(state.clone());
        assert!(plan(&Cidrs::default(), &shop(), &snapshot).is_empty(), "{state}");
    }
}

/// The same of Services.
#[test]
fn without_services_nothing_is_done() {
    let mut snapshot = served().snapshot();
    let state = SourceState::Stale { since: std::time::Instant::now(), message: "gone".into() };
    snapshot.services = View::of([]).in_state(state);
    assert!(plan(&Cidrs::default(), &shop(), &snapshot).is_empty());
}

/// The watch of whole slices is behind that of all slices: nothing is made twice.
#[test]
fn a_slice_that_one_watch_shows_is_not_made_again() {
    let mut snapshot = served().snapshot();
    snapshot.managed_slices = View::of([]);
    assert!(plan(&Cidrs::default(), &shop(), &snapshot).is_empty());
}

/// Both are behind: the name is taken.
#[test]
fn a_plan_on_an_old_view_makes_no_second_slice() {
    let mut world = World::new();
    world.add("vm", machine(&["192.0.2.1"]), true);
    let old = world.plan();
    world.settle();
    assert_eq!(execute(&old, &mut [&mut world.own]).len(), 1);
    assert_eq!(world.slices().len(), 1);
}

/// EW-26: a slice that was deleted behind our back comes again. (Under its old name: names are a
/// list here, and there is no memory of own writes that could be out of date.)
#[test]
fn a_slice_that_somebody_deleted_comes_again() {
    let mut world = World::new();
    world.add("vm", machine(&["192.0.2.1"]), false);
    world.settle();
    let name = world.slice()["metadata"]["name"].as_str().unwrap().to_owned();
    world.delete(kinds::ENDPOINT_SLICE, &name);
    assert_eq!(world.verbs(), ["create"]);
    assert_eq!(world.sizes(), [1]);
}

/// A name that another object has is skipped, for example a slice without this agent's label.
#[test]
fn a_taken_name_is_passed_over() {
    let mut world = served();
    let name = world.slice()["metadata"]["name"].as_str().unwrap().to_owned();
    world.edit(kinds::ENDPOINT_SLICE, &name, |slice| {
        let labels = slice["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove("endpointslice.kubernetes.io/managed-by");
    });
    assert_eq!(world.verbs(), ["create"]);
    assert_ne!(world.slice()["metadata"]["name"], name.as_str());
}
