//! `--max-endpoints-per-service`: slices beyond it reach no importer, and what importers have stays.

use fleet_api::{ResourceKind, annotations, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, reference};
use crate::service::refused;

const SLICE: ResourceKind = kinds::ENDPOINT_SLICE_EXPORT;

fn endpoints(count: usize) -> Value {
    (0..count).map(|at| json!({ "addresses": [format!("10.1.1.{at}")] })).collect()
}

/// A member exports a slice of shop with so many endpoints.
fn slice(world: &mut World, member: &str, name: &str, count: usize) {
    let object = json!({
        "metadata": { "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT] },
        "spec": {
            "addressType": "IPv4",
            "endpoints": endpoints(count),
            "endpointSliceReference": reference(member, "EndpointSlice", name),
            "ownerServiceReference":
                { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
        },
    });
    let name = in_member(member, &format!("{member}-{name}"));
    world.hub.create(SLICE, &name, object).unwrap();
    world.hub.advance(1);
}

fn resize(world: &mut World, name: &str, count: usize) {
    let set = |slice: &mut Value| slice["spec"]["endpoints"] = endpoints(count);
    world.hub.edit(SLICE, &in_member("a", &format!("a-{name}")), set).unwrap();
}

/// "a" and "c" export shop, "b" imports it.
fn shared(limit: usize) -> World {
    let mut world = World::new();
    world.controller.settings.max_endpoints_per_service = limit;
    world.export("a", 80);
    world.export("c", 80);
    world.request("b");
    world.settle_all();
    world
}

/// Slices that the importer has, by name.
fn copies(world: &World) -> String {
    let copies = world.copies();
    let names = copies.iter().map(|name| name.trim_start_matches("fleet-member-b/"));
    names.collect::<Vec<_>>().join(" ")
}

/// What the member agent of "a" reads about a slice.
fn notice(world: &World, name: &str) -> Option<String> {
    let slice = world.hub.get(SLICE, &in_member("a", name)).unwrap();
    let note = slice["metadata"]["annotations"][annotations::REJECTED].as_str();
    note.map(str::to_owned)
}

#[test]
fn slices_beyond_the_limit_reach_no_importer() {
    let mut world = shared(3);
    for (name, count) in [("s1", 1), ("s2", 2), ("s3", 1)] {
        slice(&mut world, "a", name, count);
    }
    slice(&mut world, "c", "s1", 3);
    world.settle_all();
    assert_eq!(copies(&world), "a-s1 a-s2 c-s1", "another member has a limit of its own");
    let events = world.plan().events;
    let [event] = &events[..] else { panic!("one Event for all slices: {events:?}") };
    assert_eq!((event.reason, &event.name), ("LimitExceeded", &of_shop("a")));
    assert!(event.note.contains("more than 3 endpoints"), "{}", event.note);
    assert!(event.note.contains("--max-endpoints-per-service"), "{}", event.note);
    let counted = refused(&world.controller.settings, &world.snapshot());
    assert_eq!(counted, [("a".to_owned(), SLICE, 1)]);
    assert_eq!(notice(&world, "a-s2"), None);
    let why = notice(&world, "a-s3").unwrap();
    assert!(why.contains("not distributed: the member exports more than 3 endpoints"), "{why}");

    world.delete(SLICE, &in_member("a", "a-s2"));
    world.settle_all();
    world.release_copies();
    world.settle_all();
    assert_eq!(copies(&world), "a-s1 a-s3 c-s1");
    assert_eq!(notice(&world, "a-s3"), None);
    assert!(world.plan().events.is_empty());
    assert!(refused(&world.controller.settings, &world.snapshot()).is_empty());
}

#[test]
fn a_slice_without_endpoints_counts_as_one() {
    let mut world = shared(2);
    for name in ["s1", "s2", "s3"] {
        slice(&mut world, "a", name, 0);
    }
    world.settle_all();
    assert_eq!(copies(&world), "a-s1 a-s2");
}

/// Whatever has been written when the agent restarts, it continues with the same slices.
#[test]
fn the_oldest_slices_are_distributed_at_every_moment() {
    let mut world = World::new();
    world.controller.settings.max_endpoints_per_service = 4;
    world.export("a", 80);
    for (name, count) in [("s4", 2), ("s3", 3), ("s2", 1), ("s1", 1)] {
        slice(&mut world, "a", name, count);
    }
    world.request("b");
    world.request("d");
    world.settle_watched(|world| {
        assert!(!world.copies().iter().any(|copy| copy.ends_with("a-s3")), "it does not fit");
    });
    assert_eq!(world.copies().len(), 6);
}

#[test]
fn what_importers_have_stays_up_to_ten_times_the_limit() {
    let mut world = shared(100);
    for name in ["s1", "s2", "s3"] {
        slice(&mut world, "a", name, 2);
    }
    world.settle_all();
    world.controller.settings.max_endpoints_per_service = 1;
    assert!(world.plan().is_empty(), "an upgrade withdraws nothing");
    slice(&mut world, "a", "s4", 1);
    resize(&mut world, "s1", 6);
    world.settle_all();
    assert_eq!(copies(&world), "a-s1 a-s2 a-s3", "a slice that importers have may change");
    resize(&mut world, "s1", 7);
    world.settle_all();
    world.release_copies();
    world.settle_all();
    assert_eq!(copies(&world), "a-s1 a-s2", "the youngest goes first");
}
