//! Objects on the hub that others changed.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, on_hub, shop, slice};

/// Sets a field of the spec of the one copy; `path` is a JSON pointer.
fn spoil_copy(world: &mut World, path: &str, value: &Value) {
    let name = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
    let spoil = |copy: &mut Value| *copy["spec"].pointer_mut(path).unwrap() = value.clone();
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, spoil).unwrap();
}

#[test]
fn a_spoilt_copy_is_repaired_in_place() {
    let reference = "/endpointSliceReference";
    for (path, value) in [
        ("/endpoints", json!([{ "addresses": ["10.9.9.9"] }])),
        ("/ports", json!([])),
        (&format!("{reference}/clusterId"), json!("b")),
        (&format!("{reference}/namespacedName"), json!("other/shop-x1")),
        (&format!("{reference}/name"), json!("other")),
    ] {
        let mut world = World::exported();
        let before = world.copies();
        world.own.advance(60);
        spoil_copy(&mut world, path, &value);
        world.settle();
        let after = world.copies();
        assert_eq!(after.len(), 1, "{path}");
        assert_eq!(after[0]["metadata"]["name"], before[0]["metadata"]["name"], "{path}");
        assert_eq!(after[0]["spec"], before[0]["spec"], "{path}: with the time of its export");
        assert_eq!(world.writes().len(), 1, "{path}");
    }
}

/// A copy whose reference names another slice is deleted and does not block the next one.
#[test]
fn a_copy_that_lost_its_slice_is_replaced() {
    let mut world = World::exported();
    spoil_copy(&mut world, "/endpointSliceReference/uid", &json!("another"));
    world.settle_with_hub();
    let after = world.copies();
    assert_eq!(after.len(), 1);
    let uid = world.uid(kinds::ENDPOINT_SLICE, &slice());
    assert_eq!(after[0]["spec"]["endpointSliceReference"]["uid"], uid);
    assert!(world.plan().is_empty());
}

#[test]
fn a_deleted_copy_is_made_anew_when_it_is_gone() {
    let mut world = World::exported();
    let name = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    assert!(world.plan().is_empty(), "it blocks its successor");
    world.release();
    world.settle();
    assert_eq!(world.copies().len(), 1);
}

#[test]
fn a_spoilt_export_is_repaired_in_place() {
    for (path, value) in [("/ports", json!([])), ("/serviceReference/clusterId", json!("b"))] {
        let mut world = World::exported();
        let before = world.internal().unwrap()["spec"].clone();
        let spoil = |export: &mut Value| *export["spec"].pointer_mut(path).unwrap() = value.clone();
        world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), spoil).unwrap();
        world.settle();
        assert_eq!(world.internal().unwrap()["spec"]["ports"], before["ports"], "{path}");
        let reference = &world.internal().unwrap()["spec"]["serviceReference"];
        assert_eq!(reference["clusterId"], "a", "{path}");
        assert_eq!(reference["uid"], before["serviceReference"]["uid"], "{path}");
        assert_eq!(world.copies().len(), 1, "{path}: slices go on meanwhile");
    }
}

/// Repaired, not exported anew: no sample, and the time stays.
#[test]
fn a_repaired_reference_keeps_the_time_of_export() {
    let mut world = World::exported();
    let since = |world: &World| {
        world.internal().unwrap()["spec"]["serviceReference"]["exportedSince"].clone()
    };
    let before = since(&world);
    world.own.advance(60);
    let spoil = |export: &mut Value| {
        export["spec"]["serviceReference"]["clusterId"] = json!("b");
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), spoil).unwrap();
    world.settle();
    assert_eq!(since(&world), before);
    assert_eq!(world.samples, []);
}

#[test]
fn a_deleted_export_is_made_anew_and_judged_anew() {
    let mut world = World::exported();
    world.hub.delete(kinds::INTERNAL_SERVICE_EXPORT, &on_hub()).unwrap();
    world.settle();
    world.release();
    world.settle();
    assert!(world.is_on_hub());
    assert_eq!(world.copies().len(), 1, "what travels goes on");
    world.judge("False");
    world.settle_patiently();
    assert_eq!(world.condition("Conflict").0, "False");
}

/// A second export of the same Service.
#[test]
fn a_surplus_export_goes() {
    let mut world = World::exported();
    let object = json!({ "spec": world.internal().unwrap()["spec"].clone() });
    let name = ObjectName::new("fleet-member-a", "zz-surplus");
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &name, object).unwrap();
    world.settle();
    assert!(world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &name).is_none());
    assert!(world.is_on_hub());
    assert_eq!(world.copies().len(), 1);
}

#[test]
fn a_finalizer_taken_off_a_live_export_comes_back() {
    let mut world = World::exported();
    let strip = |export: &mut Value| export["metadata"]["finalizers"] = json!([]);
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), strip).unwrap();
    world.settle();
    assert_eq!(world.finalizers().as_array().unwrap().len(), 1);
}

#[test]
fn conditions_changed_by_hand_are_set_right() {
    let mut world = World::exported();
    let spoil = |export: &mut Value| {
        for condition in export["status"]["conditions"].as_array_mut().unwrap() {
            condition["status"] = json!("Unknown");
        }
    };
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), spoil).unwrap();
    world.settle();
    assert_eq!(world.condition("Valid").0, "True");
    assert_eq!(world.condition("Conflict").0, "False");
}
