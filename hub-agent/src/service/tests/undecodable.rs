//! Objects that cannot be decoded are rejected, reported and released like those with an invalid reference, and no other
//! member waits for them.

use fleet_api::{ObjectName, ResourceKind, kinds};
use serde_json::{Value, json};

use super::invalid_references::rejected_and_released;
use super::world::{World, in_member, of_shop, port, reference, shop};

/// A time that API servers accept and that no program can read.
const NO_TIME: &str = "2026-01-01T00:00:00+99:59";

fn unreadable(member: &str, kind: &str, name: &str) -> Value {
    let mut reference = reference(member, kind, name);
    reference["exportedSince"] = json!(NO_TIME);
    reference
}

/// An object of every kind that members write.
fn objects() -> [(ResourceKind, ObjectName, Value); 3] {
    let owner = json!({ "namespace": "team", "name": "shop", "namespacedName": "team/shop" });
    [
        (
            kinds::INTERNAL_SERVICE_EXPORT,
            of_shop("c"),
            json!({ "ports": port(80), "serviceReference": unreadable("c", "Service", "shop") }),
        ),
        (
            kinds::INTERNAL_SERVICE_IMPORT,
            of_shop("c"),
            json!({ "serviceImportReference": unreadable("c", "ServiceImport", "shop") }),
        ),
        (
            kinds::ENDPOINT_SLICE_EXPORT,
            in_member("a", "a-s2"),
            json!({ "addressType": "IPv4", "endpoints": [{ "addresses": ["10.9.0.1"] }],
                "endpointSliceReference": unreadable("a", "EndpointSlice", "s2"),
                "ownerServiceReference": owner }),
        ),
    ]
}

#[test]
fn every_kind_is_rejected_reported_and_released() {
    for (kind, name, spec) in objects() {
        let event = rejected_and_released(kind, &name, &spec);
        assert_eq!(event.reason, "ReferenceRefused");
        assert!(event.note.contains("it cannot be decoded: spec: "), "{}", event.note);
    }
}

#[test]
fn an_export_tells_its_member_in_a_condition() {
    let mut world = World::shared();
    let (kind, name, spec) = objects()[0].clone();
    world.hub.create(kind, &name, json!({ "spec": spec })).unwrap();
    world.settle_all();
    let condition = world.condition("c", "Valid").unwrap();
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("False"), &json!("ReferenceRefused"))
    );
    let readable = |export: &mut Value| {
        export["spec"]["serviceReference"] = reference("c", "Service", "shop");
    };
    world.hub.edit(kind, &name, readable).unwrap();
    world.settle_all();
    assert_eq!(world.condition("c", "Valid"), None);
    assert_eq!(world.clusters(), ["a", "c"]);
}

/// The hub agent would otherwise write to the last version that it could read, and be refused.
#[test]
fn an_export_that_becomes_unreadable_leaves_the_service() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    let spoil = |export: &mut Value| {
        export["spec"]["serviceReference"]["exportedSince"] = json!(NO_TIME);
        export["metadata"]["finalizers"] = json!([]);
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), spoil).unwrap();
    world.settle_all();
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

/// Conditions and statuses that do not decode are written anew.
#[test]
fn an_unreadable_status_is_replaced() {
    let mut world = World::shared();
    let condition = json!({ "type": "Valid", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": NO_TIME });
    let spoil = |object: &mut Value| object["status"]["conditions"] = json!([condition]);
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a"), spoil).unwrap();
    let spoil = |object: &mut Value| object["status"]["clusters"] = json!("none");
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"), spoil).unwrap();
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), spoil).unwrap();
    world.settle_all();
    assert_eq!(world.conflict("a"), "False");
    assert_eq!((world.clusters(), world.granted()), (vec!["a"], vec!["b".to_owned()]));
}

#[test]
fn an_unreadable_copy_is_restored_and_holds_no_slice() {
    let mut world = World::shared();
    let name = in_member("b", "a-s1");
    let before = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap()["spec"].clone();
    let spoil = |copy: &mut Value| {
        copy["spec"]["endpointSliceReference"]["exportedSince"] = json!(NO_TIME);
    };
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, spoil).unwrap();
    world.settle_all();
    let restored = &world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap()["spec"];
    assert_eq!(*restored, before);

    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, spoil).unwrap();
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"));
    world.settle_all();
    assert!(!world.exists(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")));
    assert!(world.copies().is_empty());
}
