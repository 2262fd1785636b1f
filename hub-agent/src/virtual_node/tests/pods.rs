//! Exports become imports, and what is reported goes back.

use fleet_api::{finalizers, kinds};
use serde_json::json;

use super::world::{World, in_member, spec};
use crate::virtual_node::{Key, VirtualNodeController};

#[test]
fn an_export_becomes_an_import_and_its_status_goes_back() {
    let mut world = World::accepted();
    world.export("east", "u1");
    world.settle();
    let import = world.import("east", "u1").unwrap().clone();
    assert_eq!(import["metadata"]["finalizers"], json!([finalizers::POD_IMPORT]));
    assert_eq!(import["spec"]["export"]["origin"]["uid"], "u1");
    assert!(world.status("east", "u1").is_null());
    world.run("east", "u1");
    world.settle();
    let status = world.status("east", "u1");
    assert_eq!(
        (&status["accepted"], &status["remote"]["phase"]),
        (&json!(true), &json!("Running"))
    );
    let expected = ["create PodImport", "patch_status PodExport"];
    assert_eq!(world.writes(), expected);
}

#[test]
fn an_export_without_an_accepted_node_is_refused_until_there_is_one() {
    let mut world = World::new();
    world.offer("offer", &["east"]);
    world.settle();
    world.export("east", "u1");
    world.settle();
    assert_eq!(world.status("east", "u1")["rejected"]["reason"], "NotOffered");
    world.accept("east", true);
    world.settle();
    assert!(world.import("east", "u1").is_some());
    world.run("east", "u1");
    world.settle();
    assert!(world.status("east", "u1")["rejected"].is_null());
}

/// A member uses neither the name nor the namespace of another one.
#[test]
fn no_member_speaks_for_another() {
    let mut world = World::accepted();
    let forged = spec("east", "u1");
    world.export_spec("north", &forged);
    world.settle();
    assert_eq!(world.status("north", "u1")["rejected"]["reason"], "NotOffered");
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"]["clusters"] = json!(["east", "north"]);
    });
    world.settle();
    world.accept("north", true);
    world.settle();
    assert_eq!(world.status("north", "u1")["rejected"]["field"], "origin.cluster");
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 0);
}

#[test]
fn two_members_can_have_one_uid() {
    let mut world = World::accepted();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"]["clusters"] = json!(["east", "north"]);
    });
    world.settle();
    world.accept("north", true);
    world.export("east", "u1");
    world.export("north", "u1");
    world.settle();
    assert!(world.import("east", "u1").is_some() && world.import("north", "u1").is_some());
    world.stop("east", "u1", 5);
    world.rest();
    assert!(world.import("east", "u1").is_none() && world.import("north", "u1").is_some());
    assert!(world.import("north", "u1").unwrap()["spec"]["stop"].is_null());
}

#[test]
fn the_end_goes_step_by_step() {
    let mut world = World::accepted();
    world.export("east", "u1");
    world.settle();
    world.run("east", "u1");
    world.settle();
    world.stop("east", "u1", 7);
    world.settle();
    assert_eq!(world.import("east", "u1").unwrap()["spec"]["stop"]["graceSeconds"], 7);
    assert_eq!(world.status("east", "u1")["released"], false);
    world.hub.take_writes();
    world.rest();
    assert_eq!(
        world.hub.names(kinds::POD_IMPORT).len() + world.hub.names(kinds::POD_EXPORT).len(),
        0
    );
    let writes = world.writes();
    let place = |write: &str| writes.iter().position(|other| other == write);
    assert!(place("delete PodImport") < place("patch PodExport"), "{writes:?}");
}

#[test]
fn an_export_that_was_refused_goes_at_once() {
    let mut world = World::new();
    world.export("east", "u1");
    world.settle();
    world.stop("east", "u1", 30);
    world.settle();
    assert_eq!(world.hub.names(kinds::POD_EXPORT).len(), 0);
}

#[test]
fn no_more_pods_than_are_offered_and_the_next_comes_when_one_goes() {
    let mut world = World::accepted();
    for uid in ["u1", "u2", "u3", "u4"] {
        world.export("east", uid);
        world.settle();
    }
    let rejected = world.status("east", "u4")["rejected"].clone();
    assert_eq!(
        (&rejected["reason"], &rejected["field"]),
        (&json!("QuotaExceeded"), &json!("capacity.pods"))
    );
    world.stop("east", "u1", 0);
    world.rest();
    assert!(world.import("east", "u4").is_some());
    assert!(world.status("east", "u4")["rejected"].is_null());
}

/// An offer is one for all: who is served first has it.
#[test]
fn members_share_what_is_offered() {
    let mut world = World::accepted();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"]["clusters"] = json!(["east", "north"]);
    });
    world.settle();
    world.accept("north", true);
    for uid in ["u1", "u2", "u3"] {
        world.export("east", uid);
    }
    world.settle();
    world.export("north", "u4");
    world.settle();
    assert_eq!(world.status("north", "u4")["rejected"]["field"], "capacity.pods");
    let before = world.snapshot();
    world.lose(kinds::POD_IMPORT);
    let keys =
        fleet_plan::affected_keys(&VirtualNodeController::default(), &before, &world.snapshot());
    let waiting = Key::Pod { origin: "north".into(), uid: "u4".into() };
    assert!(keys.contains(&waiting), "it is planned when a place is free: {keys:?}");
}

/// As the quota of a namespace counts.
#[test]
fn a_pod_that_has_ended_takes_no_place() {
    let mut world = World::accepted();
    for uid in ["u1", "u2", "u3", "u4"] {
        world.export("east", uid);
        world.settle();
    }
    world.run("east", "u1");
    world.settle();
    let before = world.snapshot();
    world.edit(kinds::POD_IMPORT, &in_member("west", "u1.east"), |import| {
        import["status"]["remote"]["phase"] = json!("Succeeded");
    });
    let keys =
        fleet_plan::affected_keys(&VirtualNodeController::default(), &before, &world.snapshot());
    assert!(keys.contains(&Key::Pod { origin: "east".into(), uid: "u4".into() }), "{keys:?}");
    world.settle();
    assert!(world.import("east", "u4").is_some());
}

/// An origin can state of any Pod that it has run; what the hub keeps for it is bounded all the same.
#[test]
fn no_origin_has_more_imports_than_an_executor_takes() {
    let mut world = World::accepted();
    for at in 0..502 {
        let mut resumed = spec("east", &format!("u{at:03}"));
        resumed.resumed = true;
        world.export_spec("east", &resumed);
    }
    world.settle();
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 502, "all are planned on one state");
    world.export("east", "u999");
    world.settle();
    assert_eq!(world.status("east", "u999")["rejected"]["field"], "capacity.pods");
    // One that has ended uses nothing of the offer, and counts until it is gone.
    world.edit(kinds::POD_IMPORT, &in_member("west", "u000.east"), |import| {
        import["status"] = json!({ "released": true, "remote": { "phase": "Succeeded" } });
        import["metadata"]["finalizers"] = json!([]);
    });
    let before = world.snapshot();
    world.hub.delete(kinds::POD_IMPORT, &in_member("west", "u000.east")).unwrap();
    let keys =
        fleet_plan::affected_keys(&VirtualNodeController::default(), &before, &world.snapshot());
    assert!(keys.contains(&Key::Pod { origin: "east".into(), uid: "u999".into() }), "{keys:?}");
}

#[test]
fn a_changed_export_changes_its_import() {
    let mut world = World::accepted();
    world.export("east", "u1");
    world.settle();
    let mut changed = spec("east", "u1");
    changed.labels.insert("pod.offload.networking.fleet.azure.com/a".to_owned(), "b".to_owned());
    changed.spec_hash = fleet_virtual_node::pod::spec_hash(&changed);
    world.edit(kinds::POD_EXPORT, &in_member("east", "u1"), |export| {
        export["spec"] = json!(changed);
    });
    world.settle();
    let import = world.import("east", "u1").unwrap();
    assert_eq!(import["spec"]["export"]["specHash"], json!(changed.spec_hash));
}

#[test]
fn what_cannot_be_decoded_is_refused_and_can_go() {
    let mut world = World::accepted();
    let object = json!({ "metadata": { "finalizers": [finalizers::POD_EXPORT] },
        "spec": { "origin": "of the future" } });
    world.hub.create(kinds::POD_EXPORT, &in_member("east", "u1"), object).unwrap();
    world.settle();
    let rejected = world.status("east", "u1")["rejected"].clone();
    assert_eq!(rejected["reason"], "InvalidValue");
    assert!(rejected["field"].as_str().unwrap().starts_with("spec: "));
    world.hub.delete(kinds::POD_EXPORT, &in_member("east", "u1")).unwrap();
    world.settle();
    assert_eq!(world.hub.names(kinds::POD_EXPORT).len(), 0);
}

#[test]
fn pods_are_counted_by_how_far_they_are() {
    let mut world = World::accepted();
    world.export("east", "u1");
    world.export("east", "u2");
    world.export("north", "u3");
    world.settle();
    world.run("east", "u1");
    world.settle();
    let count = crate::virtual_node::count(&world.snapshot());
    let of = |origin: &str, executor: &str, state| {
        count.pods.get(&(origin.to_owned(), executor.to_owned(), state)).copied()
    };
    assert_eq!(of("east", "west", "Running"), Some(1));
    assert_eq!(of("east", "west", "Exported"), Some(1));
    assert_eq!(
        of("north", "unknown", "Rejected"),
        Some(1),
        "names that origins make up are no series"
    );
    assert_eq!(count.withheld, 0);
}
