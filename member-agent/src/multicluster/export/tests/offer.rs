//! What is on the hub of a Service.

use fleet_api::kinds;
use fleet_model_server::Write;
use serde_json::{Value, json};

use super::world::{World, on_hub, service, web};

fn named(writes: &[Write]) -> Vec<String> {
    writes.iter().map(|write| format!("{} {}", write.verb, write.kind)).collect()
}

/// One write to the hub, and one status once the hub has answered.
#[test]
fn a_service_is_exported_with_two_writes() {
    let mut world = World::asked();
    world.rest();
    world.settle();
    assert_eq!(named(&world.writes()), ["create ExportedService"], "a waiting status is late");
    world.resolve(&json!([]));
    world.rest();
    world.settle();
    assert_eq!(named(&world.writes()), ["patch_status ServiceExport.multicluster.x-k8s.io"]);
    assert_eq!(world.conditions(), ["True Valid", "True Exported", "False NoConflicts"]);
    assert!(world.plan().is_empty() && world.slices().is_empty());
}

#[test]
fn an_export_offers_what_the_service_has() {
    let mut world = World::new();
    let spec = json!({
        "sessionAffinity": "ClientIP", "internalTrafficPolicy": "Local",
        "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 10 } },
        "trafficDistribution": "PreferClose", "ipFamilies": ["IPv6", "IPv4"], "type": "NodePort",
        "ports": [
            { "name": "http", "protocol": "TCP", "port": 80, "appProtocol": "http", "nodePort": 30000 },
            { "name": "dns", "protocol": "UDP", "port": 53 },
        ],
    });
    world.add(kinds::SERVICE, &web(), service(&spec));
    world.export();
    world.settle();
    let uid = |kind| world.own.get(kind, &web()).unwrap()["metadata"]["uid"].clone();
    let created =
        |kind| world.own.get(kind, &web()).unwrap()["metadata"]["creationTimestamp"].clone();
    let expected = json!({
        "service": { "namespace": "shop", "name": "web" },
        "serviceUid": uid(kinds::SERVICE),
        "export": {
            "uid": uid(kinds::MCS_SERVICE_EXPORT), "created": created(kinds::MCS_SERVICE_EXPORT),
        },
        "type": "ClusterSetIP",
        "ports": [
            { "name": "http", "protocol": "TCP", "port": 80, "appProtocol": "http" },
            { "name": "dns", "protocol": "UDP", "port": 53 },
        ],
        "sessionAffinity": "ClientIP", "affinityTimeoutSeconds": 10,
        "internalTrafficPolicy": "Local", "trafficDistribution": "PreferClose",
        "ipFamilies": ["IPv6", "IPv4"],
    });
    assert_eq!(world.offered(), Some(&expected));
}

#[test]
fn headless_services_and_those_without_selector_are_exported() {
    let mut world = World::new();
    let spec = json!({ "clusterIP": "None", "sessionAffinity": "ClientIP" });
    world.add(kinds::SERVICE, &web(), service(&spec));
    world.export();
    world.settle();
    let offered = world.offered().unwrap();
    assert_eq!(
        (&offered["type"], &offered["sessionAffinity"]),
        (&json!("Headless"), &json!("None"))
    );
    assert!(offered.get("affinityTimeoutSeconds").is_none());
}

#[test]
fn a_changed_service_is_one_write() {
    let mut world = World::exported();
    world.respec("selector", json!({ "app": "other" }));
    assert!(world.plan().is_empty(), "nothing else is exported");
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    world.settle();
    assert_eq!(named(&world.writes()), ["update ExportedService"]);
    assert_eq!(world.offered().unwrap()["ports"], json!([{ "protocol": "TCP", "port": 81 }]));
}

#[test]
fn nothing_is_left_of_an_export_that_is_deleted() {
    for delete in [kinds::MCS_SERVICE_EXPORT, kinds::SERVICE] {
        let mut world = World::exported();
        world.own.delete(delete, &web()).unwrap();
        world.settle();
        assert_eq!(world.offered(), None, "{delete:?}");
        world.resolve(&json!([]));
        world.settle_patiently();
    }
}

/// Deleted and made anew while the agent did not look: the same object, with the new uid and age.
#[test]
fn a_new_export_replaces_the_old_one_in_place() {
    let mut world = World::exported();
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.own.advance(60);
    world.export();
    world.settle();
    assert_eq!(
        named(&world.writes()),
        ["patch_status ServiceExport.multicluster.x-k8s.io", "update ExportedService"]
    );
    let export = world.own.get(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    let offered = &world.offered().unwrap()["export"];
    assert_eq!(offered["uid"], export["metadata"]["uid"]);
    assert_eq!(offered["created"], export["metadata"]["creationTimestamp"]);
}

#[test]
fn an_export_that_is_being_deleted_blocks_its_successor() {
    let mut world = World::exported();
    let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.hub.edit(kinds::EXPORTED_SERVICE, &on_hub(), hold).unwrap();
    world.hub.delete(kinds::EXPORTED_SERVICE, &on_hub()).unwrap();
    world.rest();
    world.settle();
    assert!(named(&world.writes()).iter().all(|write| !write.ends_with("ExportedService")));
    let release = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::EXPORTED_SERVICE, &on_hub(), release).unwrap();
    world.settle();
    assert!(world.offered().is_some());
}

#[test]
fn only_the_oldest_of_several_exports_of_a_service_stays() {
    let mut world = World::exported();
    let spec = world.offered().unwrap().clone();
    world.hub.advance(60);
    let second = fleet_api::ObjectName::new("fleet-member-a", "second");
    world.hub.create(kinds::EXPORTED_SERVICE, &second, json!({ "spec": spec })).unwrap();
    world.settle();
    assert_eq!(world.hub.names(kinds::EXPORTED_SERVICE), [on_hub()]);
}

/// Another object of the name, of which the Service is unknown or another one.
#[test]
fn a_taken_name_leads_to_the_next_candidate() {
    let mut world = World::asked();
    let other = json!({ "spec": { "service": { "namespace": "shop-web", "name": "x" },
        "serviceUid": "1", "export": { "uid": "2" }, "type": "ClusterSetIP" } });
    world.hub.create(kinds::EXPORTED_SERVICE, &on_hub(), other).unwrap();
    world.settle();
    let names = world.hub.names(kinds::EXPORTED_SERVICE);
    assert_eq!(names.len(), 2, "{names:?}");
}
