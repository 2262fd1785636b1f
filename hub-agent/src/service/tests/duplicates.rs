//! Of two exports or requests of one member for one Service the oldest counts.

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, reference, shop};
use crate::service::Key;

fn other(member: &str) -> ObjectName {
    in_member(member, "team-shop-2")
}

/// "a" and "c" export shop, "b" imports it; then "c" exports it once more with these ports.
fn exported_twice(ports: &Value) -> World {
    let mut world = World::shared();
    world.export("c", 80);
    world.settle_all();
    let spec = json!({ "ports": ports, "serviceReference": reference("c", "Service", "shop") });
    let meta = json!({ "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] });
    let object = json!({ "metadata": meta, "spec": spec });
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &other("c"), object).unwrap();
    world.settle_all();
    world
}

fn rejection(world: &World, export: &ObjectName) -> Value {
    let export = world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, export).unwrap();
    let conditions = export["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|found| found["type"] == "Valid").unwrap_or_default()
}

#[test]
fn the_oldest_export_of_a_member_counts() {
    for number in [80, 81] {
        let mut world = exported_twice(&port(number));
        assert_eq!(world.clusters(), ["a", "c"], "each member once, or no status is valid");
        let found = rejection(&world, &other("c"));
        assert_eq!((&found["status"], &found["reason"]), (&json!("False"), &json!("Duplicate")));
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(&of_shop("c").to_string()), "{message}");
        assert_eq!(rejection(&world, &of_shop("c")), Value::Null);
        let plan = world.plan();
        assert!(plan.is_empty(), "reported once: {plan:#?}");
        assert_eq!((plan.events[0].reason, &plan.events[0].name), ("Duplicate", &other("c")));
        // No other member waits.
        world.export("d", 80);
        world.settle_all();
        assert_eq!(world.clusters(), ["a", "c", "d"]);
    }
}

#[test]
fn the_next_export_counts_when_the_oldest_is_deleted() {
    let mut world = exported_twice(&port(80));
    world.delete_export("c");
    world.settle_watched(|world| assert_eq!(world.clusters(), ["a", "c"]));
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c")));
    assert_eq!(rejection(&world, &other("c")), Value::Null);

    let mut world = exported_twice(&port(80));
    world.delete(kinds::INTERNAL_SERVICE_EXPORT, &other("c"));
    world.settle_all();
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &other("c")));
    assert_eq!(world.clusters(), ["a", "c"]);
}

/// "b" requests shop twice, with a grant.
fn requested_twice() -> World {
    let mut world = World::shared();
    let reference = reference("b", "ServiceImport", "shop");
    let object = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
        "spec": { "serviceImportReference": reference },
    });
    world.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &other("b"), object).unwrap();
    world.hub.advance(1);
    world
}

#[test]
fn the_oldest_request_of_a_member_counts() {
    let mut world = requested_twice();
    world.settle_all();
    assert_eq!((world.holders(), world.copies().len()), (vec!["b".to_owned()], 1));
    let plan = world.plan_of(&Key::Service(shop()));
    assert!(plan.is_empty());
    assert_eq!((plan.events[0].reason, &plan.events[0].name), ("Duplicate", &other("b")));
    let why = |world: &World, name: &ObjectName| {
        let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, name).unwrap();
        request["metadata"]["annotations"][annotations::REJECTED].clone()
    };
    assert_eq!(why(&world, &other("b")), plan.events[0].note, "its member reads that");
    assert_eq!(why(&world, &of_shop("b")), Value::Null);
    world.delete_request("b");
    world.settle_all();
    assert_eq!(why(&world, &other("b")), Value::Null, "it counts now");

    for deleted in [other("b"), of_shop("b")] {
        let mut world = requested_twice();
        world.settle_all();
        world.delete(kinds::INTERNAL_SERVICE_IMPORT, &deleted);
        world.settle_watched(|world| assert_eq!(world.copies().len(), 1));
        assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &deleted), "it is released");
        assert_eq!(world.holders(), ["b"]);
    }
}

#[test]
fn with_exclusive_imports_one_request_is_granted() {
    let mut world = requested_twice();
    world.controller.settings.exclusive_imports = true;
    world.request("c");
    world.settle_all();
    assert_eq!((world.granted(), world.holders()), (vec!["b".to_owned()], vec!["b".to_owned()]));
}
