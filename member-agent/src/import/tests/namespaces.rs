//! Namespaces that are missing, being deleted, or not for imports.

use std::collections::BTreeSet;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, events, kinds};
use fleet_plan::{Action, Affected};
use serde_json::{Value, json};

use super::super::keys;
use super::{World, granted, imported, shop};
use crate::snapshot::MemberSnapshot;

fn namespace(name: &str) -> ObjectName {
    ObjectName::cluster(name)
}

/// A user deletes a namespace, whose content holds it.
fn end(world: &mut World, name: &str) {
    let hold = |namespace: &mut Value| namespace["metadata"]["finalizers"] = json!(["kubernetes"]);
    world.edit(kinds::NAMESPACE, &namespace(name), hold);
    world.own.delete(kinds::NAMESPACE, &namespace(name)).unwrap();
}

/// The keys that what happened since `before` marks.
pub(super) fn marked(world: &World, before: &MemberSnapshot) -> Vec<String> {
    let mut affected = Affected::new();
    keys::affected(&world.settings.identity, before, &world.snapshot(), &mut affected);
    let names: BTreeSet<_> = affected.keys().map(ToString::to_string).collect();
    names.into_iter().collect()
}

fn creations(world: &World) -> Vec<String> {
    let steps = world.plan().steps.into_iter();
    let made = steps.filter(|step| {
        matches!(step.action, Action::Create(_)) && step.cluster == ClusterId::Local
    });
    made.map(|step| format!("{} {}", step.kind.kind, step.name)).collect()
}

/// Without the namespace for it no derived Service is made; the MultiClusterService reports that, and the import
/// begins when the namespace comes, without a restart.
#[test]
fn a_missing_system_namespace_is_told() {
    let mut world = World::new();
    world.own.delete(kinds::NAMESPACE, &namespace("fleet-system")).unwrap();
    world.create_mcs(&shop(), "shop");
    world.settle();
    world.grant(granted());
    world.distribute(&["10.1.0.1"]);
    world.rest();
    assert_eq!(world.reasons(), [events::SYSTEM_NAMESPACE_UNAVAILABLE]);
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    assert!(message.contains("fleet-system") && message.contains("does not exist"), "{message}");

    let before = world.snapshot();
    world.own.create(kinds::NAMESPACE, &namespace("fleet-system"), json!({})).unwrap();
    assert_eq!(marked(&world, &before), ["team/shop"]);
    world.settle();
    assert!(world.derived().is_some() && world.slice().is_some());
    assert_eq!(world.valid(&shop()).0, "True");
}

/// S31: nothing is created in the system namespace while it is being deleted.
#[test]
fn a_terminating_system_namespace_takes_nothing_new() {
    let mut world = World::importing();
    end(&mut world, "fleet-system");
    // Its controller deletes what is in it.
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    assert_eq!(creations(&world), [] as [&str; 0]);
    world.own.delete(kinds::SERVICE, &super::derived()).unwrap();
    assert_eq!(creations(&world), [] as [&str; 0]);
    world.rest();
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    assert!(message.contains("is being deleted"), "{message}");

    // It is gone and made again.
    let free = |namespace: &mut Value| namespace["metadata"]["finalizers"] = json!([]);
    world.edit(kinds::NAMESPACE, &namespace("fleet-system"), free);
    world.rest();
    world.own.create(kinds::NAMESPACE, &namespace("fleet-system"), json!({})).unwrap();
    world.settle();
    assert!(world.derived().is_some() && world.slice().is_some());
    assert_eq!(world.valid(&shop()).0, "True");
}

/// S31: in a user's namespace that is being deleted nothing is created, no Event
/// either, and everything made for it goes.
#[test]
fn a_terminating_user_namespace_is_left() {
    let mut world = World::importing();
    let before = world.snapshot();
    end(&mut world, "team");
    assert_eq!(marked(&world, &before), ["team/shop"]);
    // The ServiceImport is deleted before the MultiClusterService.
    world.own.delete(kinds::SERVICE_IMPORT, &shop()).unwrap();
    for _ in 0..20 {
        let plan = world.plan();
        assert_eq!(plan.events, []);
        assert_eq!(creations(&world), [] as [&str; 0]);
        fleet_model_server::execute(&plan, &mut [&mut world.own, &mut world.hub]);
    }
    assert!(world.derived().is_none() && world.slice().is_none() && world.import().is_none());
    world.delete_mcs(&shop());
    world.settle();
    assert!(world.mcs(&shop()).is_none());
}

/// An import into the namespace of derived Services could feed itself: it is refused.
#[test]
fn an_mcs_in_the_system_namespace_is_refused() {
    let mut world = World::new();
    let loops = ObjectName::new("fleet-system", "team-shop");
    world.create_mcs(&loops, "team-shop");
    let all = [loops.clone()];
    let reasons: Vec<_> = world.plan_for(&loops).events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, [events::IMPORT_REFUSED]);
    world.rest_for(&all);
    let (status, message) = world.valid(&loops);
    assert_eq!(status, "Unknown");
    assert!(message.contains("services cannot be imported into the namespace"), "{message}");
    assert!(world.own.names(kinds::SERVICE_IMPORT).is_empty());
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_IMPORT).is_empty());
    assert!(world.mcs(&loops).unwrap()["metadata"]["finalizers"].is_null());
}

/// Other namespaces do not matter.
#[test]
fn other_namespaces_wake_nobody() {
    let mut world = World::importing();
    let before = world.snapshot();
    world.own.create(kinds::NAMESPACE, &namespace("other"), json!({})).unwrap();
    assert_eq!(marked(&world, &before), [] as [&str; 0]);
}
