//! Which slices travel, and what of them.

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use super::world::{World, backing, shop, slice, slice_object};

/// An exported Service whose one slice is as given.
fn with_slice(address_type: &str, labels: &Value) -> World {
    let mut world = World::exported();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.settle_with_hub();
    world.own.create(kinds::ENDPOINT_SLICE, &slice(), slice_object(address_type, labels)).unwrap();
    world.settle();
    world
}

fn relabel(world: &mut World, labels: &Value) {
    let set = |slice: &mut Value| slice["metadata"]["labels"] = labels.clone();
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
    world.settle();
}

/// MES-1: a slice whose addresses do not travel. With a hub that takes IPv6 these are names only.
#[test]
fn names_do_not_travel() {
    assert!(with_slice("FQDN", &backing()).copies().is_empty());
}

/// MES-2: a slice without the label, with an empty one, and of another Service.
#[test]
fn only_slices_of_the_service_travel() {
    for labels in [
        json!({}),
        json!({ "kubernetes.io/service-name": "" }),
        json!({ "kubernetes.io/service-name": "other" }),
    ] {
        assert!(with_slice("IPv4", &labels).copies().is_empty(), "{labels}");
    }
}

/// MES-3: a slice of a Service that is not exported.
#[test]
fn without_an_export_no_slice_travels() {
    let mut world = World::with_service();
    world.settle();
    assert_eq!(world.writes(), []);
}

/// MES-4: the ServiceExport is invalid.
#[test]
fn a_slice_of_an_invalid_export_does_not_travel() {
    let mut world = World::with_service();
    world.respec("clusterIP", json!("None"));
    world.export();
    world.settle();
    assert!(world.copies().is_empty());
}

/// MES-5: the ServiceExport conflicts.
#[test]
fn a_slice_of_a_conflicting_export_does_not_travel() {
    let mut world = World::pending();
    world.judge("True");
    world.settle();
    assert!(world.copies().is_empty());
}

/// MES-6: an exported slice loses its label, or gets another Service's.
#[test]
fn a_slice_that_leaves_the_service_is_withdrawn() {
    for labels in [json!({}), json!({ "kubernetes.io/service-name": "other" })] {
        let mut world = World::exported();
        relabel(&mut world, &labels);
        assert!(world.copies().is_empty(), "{labels}");
        // It may come back.
        world.release();
        relabel(&mut world, &backing());
        assert_eq!(world.copies().len(), 1);
    }
}

/// MES-8: the ServiceExport of an exported slice becomes invalid.
#[test]
fn a_slice_of_an_export_that_becomes_invalid_is_withdrawn() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE, &shop()).unwrap();
    world.settle();
    assert!(world.copies().is_empty());
}

/// MES-9: the ServiceExport of an exported slice conflicts.
#[test]
fn a_slice_of_an_export_that_conflicts_is_withdrawn_first() {
    let mut world = World::exported();
    world.judge("True");
    let plan = world.plan();
    assert!(plan.steps[0].urgent);
    world.settle();
    assert!(world.copies().is_empty());
}

/// MES-10: an exported slice is deleted, and held by a foreign finalizer.
#[test]
fn a_slice_held_by_a_foreign_finalizer_leaves_when_deleted() {
    let mut world = World::exported();
    let hold = |slice: &mut Value| slice["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), hold).unwrap();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.settle();
    assert!(world.copies().is_empty());
}

/// MES-11: the ServiceExport is being deleted: exported slices are withdrawn, others stay here.
#[test]
fn a_terminating_export_sends_no_slice() {
    let mut world = World::exported();
    let hold = |export: &mut Value| {
        export["metadata"]["finalizers"].as_array_mut().unwrap().push(json!("example.com/hold"));
    };
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), hold).unwrap();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.add_slice(&ObjectName::new("team", "shop-x2"), &backing());
    world.settle();
    assert!(world.copies().is_empty());
}

fn note(world: &mut World, name: &str) {
    let set = |slice: &mut Value| {
        slice["metadata"]["annotations"] = json!({ annotations::FLEET_UNIQUE_NAME: name });
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
}

/// MES-14: the slice carries an illegal unique name. The name of the copy does not come from there,
/// so nothing is written, and the annotation, which a Go agent may have left, stays.
#[test]
fn an_illegal_unique_name_is_ignored() {
    let mut world = World::exported();
    note(&mut world, "Not A Name");
    assert!(world.plan().is_empty());
}

/// MES-15: the slice carries the name of another slice's copy, which stays intact.
#[test]
fn the_unique_name_of_another_slice_is_ignored() {
    let mut world = World::exported();
    let other = ObjectName::new("team", "shop-x2");
    world.add_slice(&other, &backing());
    world.settle();
    let before = world.copies();
    let uid = world.uid(kinds::ENDPOINT_SLICE, &other);
    let foreign =
        before.iter().find(|copy| copy["spec"]["endpointSliceReference"]["uid"] == uid).unwrap();
    note(&mut world, foreign["metadata"]["name"].as_str().unwrap());
    assert!(world.plan().is_empty());
    assert_eq!(world.copies(), before);
}

/// MES-16: a pending export with several slices is accepted.
#[test]
fn slices_wait_for_the_verdict() {
    let mut world = World::with_service();
    world.add_slice(&ObjectName::new("team", "shop-x2"), &backing());
    world.export();
    world.settle();
    assert!(world.copies().is_empty());
    world.judge("False");
    world.settle();
    assert_eq!(world.copies().len(), 2);
}

fn two_slices() -> World {
    let mut world = World::exported();
    world.add_slice(&ObjectName::new("team", "shop-x2"), &backing());
    world.settle();
    assert_eq!(world.copies().len(), 2);
    world
}

/// MES-17: the ServiceExport of several exported slices becomes invalid.
#[test]
fn all_slices_leave_an_invalid_export() {
    let mut world = two_slices();
    world.respec("clusterIP", json!("None"));
    world.settle();
    assert!(world.copies().is_empty());
}

/// MES-18: the ServiceExport of several exported slices conflicts.
#[test]
fn all_slices_leave_a_conflicting_export() {
    let mut world = two_slices();
    world.judge("True");
    world.settle();
    assert!(world.copies().is_empty());
    assert_eq!(world.condition("Conflict").0, "True");
}

/// MES-20: withdrawn with its copy there, already gone, and belonging to another slice. The first is
/// deleted, the second is no error, the third has lost its reason and goes, too; annotations of a Go
/// agent stay where they are.
#[test]
fn withdrawing_takes_what_is_there() {
    let mut there = World::exported();
    note(&mut there, "left-by-go");
    let mut gone = World::exported();
    let name = gone.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
    let strip = |copy: &mut Value| copy["metadata"]["finalizers"] = json!([]);
    gone.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, strip).unwrap();
    gone.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    let mut foreign = World::exported();
    let unlink = |copy: &mut Value| copy["spec"]["endpointSliceReference"]["uid"] = json!("other");
    foreign.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, unlink).unwrap();
    for world in [&mut there, &mut gone, &mut foreign] {
        world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
        world.settle();
        assert!(world.copies().is_empty());
        assert!(world.own.get(kinds::SERVICE_EXPORT, &shop()).is_none());
    }
    let annotations =
        &there.own.get(kinds::ENDPOINT_SLICE, &slice()).unwrap()["metadata"]["annotations"];
    assert_eq!(annotations[annotations::FLEET_UNIQUE_NAME], "left-by-go");
}

/// MES-22: the gate. A valid, accepted export lets slices through; an invalid, a conflicting, one
/// without a verdict and a terminating one do not.
#[test]
fn slices_pass_with_an_accepted_export_only() {
    let accepted = |world: &mut World| world.judge("False");
    let invalid = |world: &mut World| {
        world.judge("False");
        world.respec("clusterIP", json!("None"));
    };
    let conflicting = |world: &mut World| world.judge("True");
    let silent = |_: &mut World| {};
    let terminating = |world: &mut World| {
        world.judge("False");
        world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    };
    let arrange: [fn(&mut World); 5] = [accepted, invalid, conflicting, silent, terminating];
    let copies = arrange.map(|arrange| {
        let mut world = World::pending();
        arrange(&mut world);
        world.settle();
        world.copies().len()
    });
    assert_eq!(copies, [1, 0, 0, 0, 0]);
}

/// A slice that another agent imported is never exported again, even if a user exports its Service.
#[test]
fn an_imported_slice_does_not_travel() {
    let mut labels = backing();
    labels["endpointslice.kubernetes.io/managed-by"] =
        json!("endpointsliceimport-controller.networking.fleet.azure.com");
    assert!(with_slice("IPv4", &labels).copies().is_empty());
}
