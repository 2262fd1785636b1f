//! Another implementation is at work.

use std::time::Duration;

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, condition, web};

#[test]
fn a_service_that_another_implementation_imports_is_left_to_it() {
    let mut world = World::exported();
    world.import(false);
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle();
    assert_eq!(world.writes(), []);
    let plan = world.plan();
    assert_eq!(plan.events.len(), 1);
    assert_eq!(plan.events[0].reason, "ServiceImportNotOurs");
    assert!(world.slices().is_empty());

    world.own.delete(kinds::MCS_SERVICE_IMPORT, &web()).unwrap();
    world.import(true);
    world.settle();
    assert_eq!(world.writes().len(), 1, "ours: the change is exported");
}

/// A user who deletes the ServiceExport withdraws the Service, although another implementation imports it.
#[test]
fn an_export_ends_although_another_implementation_imports_it() {
    let mut world = World::exported();
    world.import(false);
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert_eq!(world.offered(), None);
}

#[test]
fn a_status_that_another_client_writes_is_no_war() {
    let mut world = World::exported();
    let message = "service is ready, says another controller";
    let set = |object: &mut Value| {
        object["status"]["conditions"][1] = condition("Ready", "True", "Exported", message);
    };
    world.own.edit(kinds::MCS_SERVICE_EXPORT, &web(), set).unwrap();
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "{plan:#?}");
    assert_eq!(plan.debounced[0].delay, Duration::from_secs(30));
    world.settle_patiently();
    assert_ne!(world.condition("Ready")["message"], message);
}
