//! The status of a ServiceExport, and when it is written.

use std::time::Duration;

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, web};

fn conflict(reason: &str, message: &str) -> Value {
    json!({ "reason": reason, "message": message })
}

#[test]
fn each_condition_has_the_generation_it_is_about() {
    let mut world = World::exported();
    let relabel = |object: &mut Value| object["spec"]["exportedLabels"] = json!({ "team": "a" });
    world.own.edit(kinds::MCS_SERVICE_EXPORT, &web(), relabel).unwrap();
    world.settle();
    let generation =
        world.own.get(kinds::MCS_SERVICE_EXPORT, &web()).unwrap()["metadata"]["generation"].clone();
    for type_ in ["Valid", "Ready", "Conflict"] {
        assert_eq!(world.condition(type_)["observedGeneration"], generation, "{type_}");
    }
}

#[test]
fn waiting_is_told_only_after_a_while() {
    let mut world = World::asked();
    world.settle();
    let plan = world.plan();
    assert!(plan.steps.is_empty());
    let [later] = plan.debounced.as_slice() else { panic!("{plan:#?}") };
    assert_eq!(later.delay, Duration::from_millis(500));
    world.settle_patiently();
    assert_eq!(world.conditions(), ["True Valid", "False Pending", "-"]);
}

#[test]
fn conflicts_are_told_in_the_order_of_the_hub() {
    let mut world = World::exported();
    world.resolve(&json!([
        conflict("TypeConflict", "the type is ClusterSetIP, as in a; 1 of 2 clusters differ: b"),
        conflict("LabelsConflict", "the labels are those of a; 1 of 2 clusters differ: b"),
    ]));
    world.settle();
    let told = world.condition("Conflict");
    assert_eq!(told["status"], "True");
    assert_eq!(told["reason"], "TypeConflict,LabelsConflict");
    let message = told["message"].as_str().unwrap();
    assert!(
        message.starts_with("the type is") && message.contains("; the labels are"),
        "{message}"
    );
    assert_eq!(world.told(), ["ServiceExportConflictFound"]);
    world.resolve(&json!([]));
    world.settle();
    assert_eq!(world.conditions()[2], "False NoConflicts");
}

/// A thousand clusters that join one by one change nothing but a number.
#[test]
fn numbers_in_a_message_wait_for_ten_seconds() {
    let mut world = World::exported();
    let differ = |count: u32| {
        json!([conflict(
            "PortConflict",
            &format!("the ports are those of a; {count} clusters differ")
        )])
    };
    world.resolve(&differ(1));
    world.settle();
    world.resolve(&differ(2));
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "{plan:#?}");
    assert_eq!(plan.debounced[0].delay, Duration::from_secs(10));
    world
        .resolve(&json!([conflict("PortConflict", "the ports are those of b; 2 clusters differ")]));
    assert_eq!(world.plan().steps.len(), 1, "another winner is news");
}

/// Conditions of types that are not ours belong to others.
#[test]
fn conditions_of_others_stay() {
    let mut world = World::exported();
    let foreign = super::world::condition("example.com/Seen", "True", "Seen", "by somebody");
    let add = |object: &mut Value| {
        object["status"]["conditions"].as_array_mut().unwrap().push(foreign.clone());
    };
    world.own.edit(kinds::MCS_SERVICE_EXPORT, &web(), add).unwrap();
    world.hub.delete(kinds::EXPORTED_SERVICE, &super::world::on_hub()).unwrap();
    world.settle_patiently();
    assert_eq!(world.condition("example.com/Seen"), foreign);
}

#[test]
fn the_time_of_a_condition_moves_with_its_status() {
    let mut world = World::exported();
    let before = world.condition("Ready")["lastTransitionTime"].clone();
    world.own.advance(60);
    world.settings.denied_namespaces = "shop".parse().unwrap();
    world.settle();
    assert_eq!(world.condition("Ready")["lastTransitionTime"], before, "only the message changed");
    world.own.delete(kinds::SERVICE, &web()).unwrap();
    world.settle();
    assert_ne!(world.condition("Ready")["lastTransitionTime"], before);
}

#[test]
fn nothing_is_written_into_a_namespace_that_is_being_deleted() {
    let mut world = World::exported();
    let name = fleet_api::ObjectName::cluster("shop");
    let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["kubernetes"]);
    world.own.edit(kinds::NAMESPACE, &name, hold).unwrap();
    world.own.delete(kinds::NAMESPACE, &name).unwrap();
    world.own.delete(kinds::SERVICE, &web()).unwrap();
    world.rest();
    world.settle();
    assert_eq!(world.own.take_writes(), []);
    assert_eq!(world.offered(), None);
    assert!(world.events.is_empty());
}
