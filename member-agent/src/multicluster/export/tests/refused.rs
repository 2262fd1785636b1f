//! Services that are not exported, and why.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, service, web};
use crate::settings::MulticlusterMode;

/// A member whose Service has this spec.
fn asked(spec: &Value) -> World {
    let mut world = World::new();
    world.add(kinds::SERVICE, &web(), service(spec));
    world.export();
    world
}

fn message(world: &World, type_: &str) -> String {
    world.condition(type_)["message"].as_str().unwrap().to_owned()
}

#[test]
fn an_export_without_service_becomes_valid_by_itself() {
    let mut world = World::new();
    world.export();
    world.settle();
    assert_eq!(world.conditions(), ["False NoService", "False Failed", "-"]);
    assert_eq!(world.told(), ["ServiceNotFound"]);
    assert_eq!(world.offered(), None);
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.settle();
    world.resolve(&json!([]));
    world.settle();
    assert_eq!(world.conditions(), ["True Valid", "True Exported", "False NoConflicts"]);
}

#[test]
fn external_names_and_imports_are_never_exported() {
    let external = asked(&json!({ "type": "ExternalName", "externalName": "example.com" }));
    let mut imported = World::new();
    let mut derived = service(&json!({}));
    derived["metadata"]["annotations"]["networking.fleet.azure.com/fleet-service"] =
        json!("shop/api");
    imported.add(kinds::SERVICE, &web(), derived);
    imported.export();
    let mut owned = World::new();
    let mut derived = service(&json!({}));
    derived["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "name": "x",
        "uid": "1",
    }]);
    owned.add(kinds::SERVICE, &web(), derived);
    owned.export();
    for mut world in [external, imported, owned] {
        world.settle();
        assert_eq!(world.conditions(), ["False InvalidServiceType", "False Failed", "-"]);
        assert_eq!(world.offered(), None);
        assert_eq!(world.told(), ["ServiceNotEligible"]);
    }
}

#[test]
fn a_service_that_becomes_an_external_name_is_withdrawn() {
    let mut world = World::exported();
    world.respec("type", json!("ExternalName"));
    world.settle();
    assert_eq!(world.conditions(), ["False InvalidServiceType", "False Failed", "-"]);
    assert_eq!(world.offered(), None);
}

#[test]
fn an_address_is_awaited() {
    let mut world = asked(&json!({ "clusterIP": "" }));
    world.settle_patiently();
    assert_eq!(world.conditions(), ["True Valid", "False Pending", "-"]);
    assert_eq!(world.offered(), None);
    world.respec("clusterIP", json!("10.0.0.1"));
    world.settle();
    assert!(world.offered().is_some());
}

#[test]
fn a_denied_namespace_keeps_what_it_exports_and_exports_nothing_new() {
    let mut world = World::asked();
    world.settings.denied_namespaces = "shop".parse().unwrap();
    world.settle();
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    assert_eq!(world.told(), ["NamespaceDenied"]);
    assert_eq!(world.offered(), None);

    let mut world = World::exported();
    world.settings.denied_namespaces = "shop".parse().unwrap();
    world.settle();
    assert_eq!(world.conditions(), ["True Valid", "True Exported", "False NoConflicts"]);
    let ready = message(&world, "Ready");
    assert!(ready.contains("--denied-namespaces"), "{ready}");
    world.own.delete(kinds::SERVICE, &web()).unwrap();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.settle();
    assert_eq!(world.offered(), None, "another Service is a new export");
}

#[test]
fn more_ports_than_an_import_can_have_are_not_exported() {
    let ports: Vec<_> =
        (1..=101).map(|port| json!({ "name": format!("p{port}"), "port": port })).collect();
    let mut world = asked(&json!({ "ports": ports }));
    world.settle();
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    assert!(message(&world, "Ready").ends_with("101"), "{}", message(&world, "Ready"));
    assert_eq!(world.offered(), None);
}

#[test]
fn the_hubs_refusal_is_told() {
    let mut world = World::asked();
    world.settle();
    world.refuse("the member policy does not list shop/web");
    world.settle();
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    assert!(message(&world, "Ready").contains("member policy"));
    assert_eq!(world.told(), ["ExportRefused"]);
}

#[test]
fn a_cluster_that_the_hub_does_not_accept_exports_nothing() {
    let mut world = World::exported();
    world.answer("False", "member b is the same cluster");
    world.settle();
    assert_eq!(world.offered(), None);
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    assert!(message(&world, "Ready").ends_with("member b is the same cluster"));
    assert_eq!(world.told(), ["ClusterRefused"]);
}

/// Names in DNS would lie.
#[test]
fn a_cluster_with_another_id_exports_nothing_new() {
    let mut world = World::asked();
    world.name_cluster("other");
    world.settle();
    assert_eq!(world.offered(), None);
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    let ready = message(&world, "Ready");
    assert!(ready.contains("other"), "{ready}");

    let mut world = World::asked();
    world.name_cluster("a");
    world.settle();
    assert!(world.offered().is_some(), "its own id");
}

#[test]
fn clean_up_withdraws_and_keeps_what_users_made() {
    let mut world = World::exported();
    world.settings.multicluster.mode = MulticlusterMode::CleanUp;
    world.settle();
    assert_eq!(world.offered(), None);
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    assert!(world.plan().is_empty());
}

#[test]
fn a_member_that_leaves_withdraws_and_keeps_what_users_made() {
    let mut world = World::exported();
    let leaves = json!({ "spec": { "state": "Leave", "heartbeatPeriodSeconds": 60 } });
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &super::world::report(), leaves).unwrap();
    world.settle();
    assert_eq!(world.offered(), None);
    assert_eq!(world.conditions(), ["True Valid", "False Failed", "-"]);
    assert!(world.own.get(kinds::MCS_SERVICE_EXPORT, &web()).is_some());
}
