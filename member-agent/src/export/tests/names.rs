//! Names on the hub that others want, too.

use fleet_api::names::internal_export_candidates;
use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, backing, service, shop, slice};

fn foreign_export(service: &ObjectName) -> Value {
    let reference = json!({ "clusterId": "a", "kind": "Service",
        "namespace": service.namespace, "name": service.name, "namespacedName": service.to_string(),
        "resourceVersion": "1", "generation": 0, "uid": "u" });
    json!({ "spec": { "ports": [], "serviceReference": reference } })
}

/// S19, docs/original.md row 24: both want the name `a-b-c`; who was first keeps it.
#[test]
fn services_whose_names_collide_are_both_exported() {
    let mut world = World::new();
    let both = [ObjectName::new("a-b", "c"), ObjectName::new("a", "b-c")];
    for name in &both {
        world.own.create(kinds::SERVICE, name, service(&json!({}))).unwrap();
        world.own.create(kinds::SERVICE_EXPORT, name, json!({})).unwrap();
        world.settle_service(name);
    }
    let names = world.hub.names(kinds::INTERNAL_SERVICE_EXPORT);
    assert_eq!(&*names[0].name, "a-b-c");
    assert!(names[1].name.starts_with("a-b-c-"), "{names:?}");
    for name in &both {
        assert!(world.plan_of(name).steps.is_empty(), "neither evicts the other");
    }
    // Each goes alone, and the other one stays under its name.
    world.own.delete(kinds::SERVICE_EXPORT, &both[0]).unwrap();
    world.settle_service(&both[0]);
    world.release();
    assert_eq!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT), names[1..]);
    assert!(world.plan_of(&both[1]).steps.is_empty());
}

#[test]
fn without_a_free_name_the_user_is_told() {
    let mut world = World::with_service();
    let other = ObjectName::new("tea", "m-shop");
    let names: Vec<_> = internal_export_candidates(&shop())
        .map(|name| ObjectName::new("fleet-member-a", name))
        .collect();
    for name in &names {
        world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, name, foreign_export(&other)).unwrap();
    }
    world.export();
    world.settle_patiently();
    let conflict = world.whole_condition("Conflict");
    assert_eq!(conflict["status"], "Unknown");
    assert!(conflict["message"].as_str().unwrap().contains("is taken"), "{conflict}");
    assert!(world.events.iter().any(|event| event.note.contains("is taken")));

    // Recovery needs no restart.
    world.hub.delete(kinds::INTERNAL_SERVICE_EXPORT, &names[0]).unwrap();
    world.settle_patiently();
    assert!(world.is_on_hub());
}

/// The slice goes over to another Service while its copy still has the name.
#[test]
fn a_slice_that_changes_its_service_travels_under_the_next_name() {
    let mut world = World::exported();
    let desk = ObjectName::new("team", "desk");
    world.own.create(kinds::SERVICE, &desk, service(&json!({}))).unwrap();
    world.own.create(kinds::SERVICE_EXPORT, &desk, json!({})).unwrap();
    world.settle_service(&desk);
    let accept = |export: &mut Value| {
        export["status"] = json!({ "conditions": [{ "type": "Conflict", "status": "False",
            "reason": "NoConflictFound", "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    };
    let internal = ObjectName::new("fleet-member-a", "team-desk");
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &internal, accept).unwrap();
    let move_over = |slice: &mut Value| {
        slice["metadata"]["labels"] = json!({ "kubernetes.io/service-name": "desk" });
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), move_over).unwrap();
    for _ in 0..2 {
        world.settle_service(&desk);
        world.settle_with_hub();
    }
    let copies = world.copies();
    assert_eq!(copies.len(), 1);
    assert_eq!(copies[0]["spec"]["ownerServiceReference"]["namespacedName"], "team/desk");
    assert!(world.plan_of(&desk).steps.is_empty(), "it stays under its name");
}

/// S19: another source, another name.
#[test]
fn a_recreated_slice_travels_under_another_name() {
    let mut world = World::exported();
    let before = world.copies()[0]["metadata"]["name"].clone();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.add_slice(&slice(), &backing());
    world.settle();
    let after = world.copies();
    assert_eq!(after.len(), 1);
    assert_ne!(after[0]["metadata"]["name"], before);
}

/// The longest names that an API server takes.
#[test]
fn long_names_are_exported() {
    let mut world = World::new();
    let name = ObjectName::new("n".repeat(63), "s".repeat(63));
    world.own.create(kinds::SERVICE, &name, service(&json!({}))).unwrap();
    world.own.create(kinds::SERVICE_EXPORT, &name, json!({})).unwrap();
    let labels = json!({ "kubernetes.io/service-name": name.name });
    world.add_slice(&ObjectName::new(name.namespace.clone(), "e".repeat(253)), &labels);
    world.settle_service(&name);
    assert_eq!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT)[0].name.len(), 127);
}
