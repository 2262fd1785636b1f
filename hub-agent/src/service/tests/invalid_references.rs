//! Objects with an invalid reference are rejected, and accepted once they are corrected.

use fleet_api::{ObjectName, ResourceKind, finalizers, kinds};
use fleet_model_server::execute;
use fleet_plan::{Affected, Controller as _, Event};
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, reference};
use crate::service::Key;
use crate::snapshot::HubSnapshot;

fn keys(world: &World) -> Vec<Key> {
    let mut keys = Affected::new();
    world.controller.affected_keys(&HubSnapshot::default(), &world.snapshot(), &mut keys);
    keys.drain().map(|affected| affected.key).collect()
}

/// The export of "c" names cluster "b".
fn impostor() -> (World, Key) {
    let mut world = World::shared();
    world.export("c", 80);
    let mislabel = |export: &mut Value| {
        export["spec"]["serviceReference"] = reference("b", "Service", "shop");
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), mislabel).unwrap();
    let key = Key::InvalidReference(kinds::INTERNAL_SERVICE_EXPORT, of_shop("c"));
    (world, key)
}

#[test]
fn a_member_cannot_export_for_another() {
    let (mut world, key) = impostor();
    assert!(keys(&world).contains(&key));
    world.settle_all();
    assert_eq!(world.clusters(), ["a"]);
    let condition = world.condition("c", "Valid").unwrap();
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("False"), &json!("ReferenceRefused"))
    );
    assert!(condition["message"].as_str().unwrap().contains(r#""team/shop" of cluster "b""#));
    let plan = world.plan_of(&key);
    assert!(plan.steps.is_empty(), "reported once: {plan:#?}");
    let event = &plan.events[0];
    assert_eq!((event.reason, &event.name), ("ReferenceRefused", &of_shop("c")));
}

#[test]
fn a_corrected_reference_is_accepted() {
    let (mut world, _) = impostor();
    world.settle_all();
    let correct = |export: &mut Value| {
        export["spec"]["serviceReference"] = reference("c", "Service", "shop");
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), correct).unwrap();
    world.settle_all();
    assert_eq!(world.clusters(), ["a", "c"]);
    assert_eq!(world.condition("c", "Valid"), None);
    assert_eq!(world.conflict("c"), "False");
}

#[test]
fn an_export_whose_reference_becomes_invalid_leaves_the_service() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    let spoil = |export: &mut Value| {
        export["spec"]["serviceReference"]["namespacedName"] = json!("team/other");
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), spoil).unwrap();
    world.settle_all();
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
    assert_eq!(world.condition("c", "Conflict"), None, "it is no part of the Service");
}

#[test]
fn an_object_with_an_invalid_reference_can_be_deleted() {
    let (mut world, key) = impostor();
    world.settle_all();
    world.delete_export("c");
    let plan = world.plan_of(&key);
    execute(&plan, &mut [&mut world.hub]);
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c")));
    assert_eq!(world.plan_of(&key), fleet_plan::Plan::default());
}

/// An object of every kind that members write, with an invalid reference.
fn invalid_objects() -> Vec<(ResourceKind, ObjectName, Value)> {
    let owner = |namespace: &str| json!({ "namespace": namespace, "name": "shop", "namespacedName": format!("{namespace}/shop") });
    let slice = |member: &str, owner: Value| {
        json!({ "addressType": "IPv4", "endpoints": [{ "addresses": ["10.9.0.1"] }],
            "endpointSliceReference": reference(member, "EndpointSlice", "x"),
            "ownerServiceReference": owner })
    };
    let mut unreadable = reference("c", "ServiceImport", "shop");
    unreadable["namespacedName"] = json!("no slash");
    let long = reference(&"x".repeat(5000), "Service", "shop");
    vec![
        (
            kinds::INTERNAL_SERVICE_IMPORT,
            of_shop("c"),
            json!({ "serviceImportReference": reference("b", "ServiceImport", "shop") }),
        ),
        (
            kinds::INTERNAL_SERVICE_IMPORT,
            of_shop("c"),
            json!({ "serviceImportReference": unreadable }),
        ),
        (kinds::ENDPOINT_SLICE_EXPORT, in_member("a", "x"), slice("b", owner("team"))),
        // A slice of one namespace cannot back a Service of another.
        (kinds::ENDPOINT_SLICE_EXPORT, in_member("a", "x"), slice("a", owner("kube-system"))),
        (
            kinds::INTERNAL_SERVICE_EXPORT,
            of_shop("c"),
            json!({ "ports": port(80), "serviceReference": long }),
        ),
        // A namespace that belongs to no member.
        (
            kinds::INTERNAL_SERVICE_EXPORT,
            ObjectName::new("team", "team-shop"),
            json!({ "ports": port(80), "serviceReference": reference("c", "Service", "shop") }),
        ),
    ]
}

/// Stores an object with the hub's finalizer beside a Service that crosses: it is rejected, the Service is not touched, and
/// the object is released when it is deleted. Returns the Event about it.
pub(super) fn rejected_and_released(kind: ResourceKind, name: &ObjectName, spec: &Value) -> Event {
    let mut world = World::shared();
    let finalizer = match kind.kind {
        "InternalServiceExport" => finalizers::INTERNAL_SERVICE_EXPORT,
        "InternalServiceImport" => finalizers::INTERNAL_SERVICE_IMPORT,
        _ => finalizers::ENDPOINT_SLICE_EXPORT,
    };
    let object = json!({ "metadata": { "finalizers": [finalizer, "their/own"] }, "spec": spec });
    world.hub.create(kind, name, object).unwrap();
    let key = Key::InvalidReference(kind, name.clone());
    assert!(keys(&world).contains(&key), "{name} {spec}");
    world.settle_all();
    let event = world.plan_of(&key).events.pop().unwrap();
    assert_eq!((event.kind, &event.name), (kind, name));
    assert!(event.note.len() < 1024);
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.granted(), ["b"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);

    world.delete(kind, name);
    world.settle_all();
    let left = &world.hub.get(kind, name).unwrap()["metadata"]["finalizers"];
    assert_eq!(left, &json!(["their/own"]), "finalizers of others stay");
    event
}

#[test]
fn every_invalid_reference_is_rejected_reported_and_released() {
    for (kind, name, spec) in invalid_objects() {
        rejected_and_released(kind, &name, &spec);
    }
}

#[test]
fn a_copy_that_names_no_service_and_no_slice_is_deleted() {
    let mut world = World::shared();
    let name = in_member("b", "a-s1");
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap();
    let mut spec = copy["spec"].clone();
    spec["ownerServiceReference"]["namespacedName"] = json!("else/where");
    let orphan = in_member("b", "nobodys");
    world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &orphan, json!({ "spec": spec })).unwrap();
    let plan = world.plan_of(&Key::InvalidReference(kinds::ENDPOINT_SLICE_IMPORT, orphan.clone()));
    assert_eq!(plan.events.len(), 1);
    world.settle_all();
    assert_eq!(world.copies(), [name.to_string()]);
}

#[test]
fn an_object_of_another_party_that_looks_like_a_copy_is_left_alone() {
    let mut world = World::shared();
    let name = ObjectName::new("team", "x");
    let object = json!({ "spec": { "addressType": "IPv4", "endpoints": [],
        "endpointSliceReference": reference("a", "EndpointSlice", "x"),
        "ownerServiceReference": { "namespace": "", "name": "", "namespacedName": "" } } });
    world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, object).unwrap();
    world.settle_all();
    assert!(world.exists(kinds::ENDPOINT_SLICE_IMPORT, &name));
}
