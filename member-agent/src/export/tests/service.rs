//! Which Services reach the hub, and what of them.

use std::time::Duration;

use fleet_api::{ObjectName, events, finalizers, kinds};
use serde_json::{Value, json};

use super::super::plan;
use super::world::{World, is_terminating, on_hub, pair, service, shop, slice_object};

/// MSE-1: no Service.
#[test]
fn without_a_service_the_export_says_so() {
    let mut world = World::new();
    world.export();
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "ServiceNotFound"));
    assert_eq!(world.told(), ["Warning ServiceNotFound"]);
    assert!(world.hub.take_writes().is_empty());
}

/// MSE-2: the Service exists. Holds without an answer of the hub, half a second later.
#[test]
fn an_export_says_what_and_whose_it_is() {
    let mut world = World::pending();
    assert_eq!(world.finalizers(), json!([finalizers::SERVICE_EXPORT]));
    let internal = world.internal().unwrap();
    let reference = &internal["spec"]["serviceReference"];
    assert_eq!(reference["clusterId"], "a");
    assert_eq!(reference["kind"], "Service");
    assert_eq!(reference["namespacedName"], "team/shop");
    assert_eq!(reference["uid"], world.uid(kinds::SERVICE, &shop()));
    assert!(reference["exportedSince"].is_string());
    assert_eq!(internal["spec"]["ports"][0]["targetPort"], "http");
    assert!(internal["spec"].get("weight").is_none(), "of use to DNS-based balancing only");
    assert_eq!(internal["metadata"]["finalizers"], json!([finalizers::INTERNAL_SERVICE_EXPORT]));

    world.settle_patiently();
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    assert_eq!(world.condition("Conflict"), pair("Unknown", "ServicePendingConflictResolution"));
    assert_eq!(
        world.told(),
        ["Normal ValidServiceExport", "Normal PendingExportConflictResolution"]
    );
}

#[test]
fn the_finalizer_comes_before_the_export() {
    let mut world = World::with_service();
    world.export();
    let plan = world.plan();
    let verbs: Vec<_> = plan.steps.iter().map(|step| step.action.verb()).collect();
    assert_eq!(verbs, ["patch", "create"]);
    assert_eq!(plan.steps[1].after.len(), 1);
    assert_eq!(plan.debounced.len(), 0, "the object's version moves with the finalizer");
}

/// MSE-3: the ServiceExport comes first.
#[test]
fn a_service_that_comes_later_is_exported() {
    let mut world = World::new();
    world.export();
    world.settle();
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    world.settle_patiently();
    assert!(world.is_on_hub());
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
}

/// MSE-5: the ports of the Service change.
#[test]
fn a_change_of_ports_follows() {
    let mut world = World::exported();
    let before = world.internal().unwrap()["spec"]["serviceReference"].clone();
    world.own.advance(60);
    let port = json!([{ "name": "web", "protocol": "TCP", "port": 81, "targetPort": "http" }]);
    world.respec("ports", port);
    world.settle();
    let spec = &world.internal().unwrap()["spec"];
    assert_eq!(spec["ports"][0]["port"], json!(81));
    assert_ne!(spec["serviceReference"]["resourceVersion"], before["resourceVersion"]);
    assert_ne!(spec["serviceReference"]["exportedSince"], before["exportedSince"]);
    assert_eq!(world.copies().len(), 1, "slices go on meanwhile");
    assert_eq!(world.writes().len(), 1);
}

/// The hub compares ports as a set, a Go hub as a list: its user settles a conflict there by
/// bringing them into another order.
#[test]
fn the_order_of_ports_is_exported() {
    let mut world = World::exported();
    let web = json!({ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" });
    let tls = json!({ "name": "tls", "protocol": "TCP", "port": 443, "targetPort": "https" });
    for ports in [json!([web, tls]), json!([tls, web])] {
        world.respec("ports", ports.clone());
        world.settle();
        assert_eq!(world.internal().unwrap()["spec"]["ports"], ports);
    }
}

#[test]
fn other_changes_of_the_service_take_no_write() {
    let mut world = World::exported();
    let set = |service: &mut Value| {
        service["status"] = json!({ "loadBalancer": {} });
        service["metadata"]["labels"] = json!({ "note": "x" });
        service["spec"]["selector"] = json!({ "app": "shop" });
    };
    world.own.edit(kinds::SERVICE, &shop(), set).unwrap();
    assert!(world.plan().is_empty());
}

/// MSE-10: the Service is deleted, at once or held by a foreign finalizer.
#[test]
fn without_its_service_an_export_is_withdrawn() {
    for held in [false, true] {
        let mut world = World::exported();
        if held {
            let hold = |object: &mut Value| {
                object["metadata"]["finalizers"] = json!(["example.com/hold"]);
            };
            world.own.edit(kinds::SERVICE, &shop(), hold).unwrap();
        }
        world.own.delete(kinds::SERVICE, &shop()).unwrap();
        world.settle_with_hub();
        assert!(world.internal().is_none());
        assert!(world.copies().is_empty());
        assert_eq!(world.condition("Valid"), pair("False", "ServiceNotFound"));
        assert!(world.finalizers().is_null());
    }
}

fn ineligible(spec: &Value) {
    let mut world = World::new();
    world.own.create(kinds::SERVICE, &shop(), service(spec)).unwrap();
    world.export();
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "ServiceIneligible"));
    assert_eq!(world.told(), ["Warning ServiceNotEligible"]);
    assert!(world.hub.take_writes().is_empty());
}

/// MSE-11: a headless Service.
#[test]
fn a_headless_service_is_ineligible() {
    ineligible(&json!({ "clusterIP": "None" }));
}

/// MSE-12: an `ExternalName`.
#[test]
fn an_external_name_is_ineligible() {
    ineligible(&json!({ "type": "ExternalName" }));
}

/// MSE-13: an exported Service becomes an `ExternalName`.
#[test]
fn a_service_that_becomes_ineligible_is_withdrawn() {
    let mut world = World::exported();
    world.respec("type", json!("ExternalName"));
    world.settle_with_hub();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
    assert_eq!(world.condition("Valid"), pair("False", "ServiceIneligible"));
    assert!(world.finalizers().is_null());
}

/// MSE-14: an ineligible Service becomes a `ClusterIP`.
#[test]
fn a_service_that_becomes_eligible_is_exported() {
    let mut world = World::with_service();
    world.respec("clusterIP", json!("None"));
    world.export();
    world.settle();
    world.respec("clusterIP", json!("10.0.0.1"));
    world.settle();
    assert!(world.is_on_hub());
    world.judge("False");
    world.settle();
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    assert_eq!(world.copies().len(), 1);
}

/// MSE-15: what an earlier Service of the name left on the hub goes first.
#[test]
fn a_recreated_service_waits_for_its_predecessor() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE, &shop()).unwrap();
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    world.settle();
    assert!(is_terminating(world.internal().unwrap()));
    world.release();
    world.settle();
    let uid = world.uid(kinds::SERVICE, &shop());
    assert_eq!(world.internal().unwrap()["spec"]["serviceReference"]["uid"], uid);
}

/// A hub that went back in its history has the export of an earlier Service, whose endpoints importers use: it becomes that of the
/// present one. Without it importers would have none until the next is accepted.
#[test]
fn on_a_restored_hub_the_export_of_an_earlier_service_is_kept() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE, &shop()).unwrap();
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    let mut snapshot = world.snapshot();
    snapshot.internal_exports = snapshot.internal_exports.settling(true);
    let plan = plan(&world.settings, &shop(), &snapshot, world.own.now());
    assert!(plan.steps.iter().all(|step| step.action.verb() != "delete"), "{plan:#?}");
    let later: Vec<_> = plan.debounced.iter().map(|later| later.delay).collect();
    assert_eq!(later, [Duration::from_mins(5)], "that it was accepted is remembered until then");
    world.execute(&plan);
    world.settle();
    let uid = world.uid(kinds::SERVICE, &shop());
    assert!(world.is_on_hub());
    assert_eq!(world.internal().unwrap()["spec"]["serviceReference"]["uid"], uid);
    assert_eq!(world.copies().len(), 1);
}

/// Types that are exportable (docs/design/contract.md#exportable), with or without a selector.
#[test]
fn every_service_with_an_address_is_exportable() {
    for spec in [
        json!({ "type": "NodePort" }),
        json!({ "type": "LoadBalancer", "selector": { "app": "shop" } }),
        json!({ "clusterIP": "fd00::1", "ipFamilies": ["IPv6"] }),
    ] {
        let mut world = World::new();
        world.own.create(kinds::SERVICE, &shop(), service(&spec)).unwrap();
        world.export();
        world.settle();
        assert!(world.is_on_hub(), "{spec}");
    }
}

/// docs/design/contract.md#exportable, last row: it would send imported slices round in circles.
#[test]
fn nothing_leaves_from_the_system_namespace() {
    let mut world = World::new();
    let derived = ObjectName::new("fleet-system", "team-shop");
    let labels = json!({ "kubernetes.io/service-name": "team-shop" });
    let endpoints = ObjectName::new("fleet-system", "b-team-shop-x1");
    world.own.create(kinds::SERVICE, &derived, service(&json!({}))).unwrap();
    let foreign = slice_object("IPv4", &labels);
    world.own.create(kinds::ENDPOINT_SLICE, &endpoints, foreign).unwrap();
    let held = json!({ "metadata": { "finalizers": [finalizers::SERVICE_EXPORT] } });
    world.own.create(kinds::SERVICE_EXPORT, &derived, held).unwrap();

    world.settle_service(&derived);
    let export = world.own.get(kinds::SERVICE_EXPORT, &derived).unwrap();
    let valid = &export["status"]["conditions"][0];
    assert_eq!(valid["status"], "False");
    assert_eq!(valid["reason"], "ServiceIneligible");
    assert!(valid["message"].as_str().unwrap().contains("its namespace"), "{valid}");
    assert!(export["metadata"]["finalizers"].is_null(), "nothing to undo");
    assert_eq!(world.events[0].reason, events::SERVICE_NOT_ELIGIBLE);
    assert!(world.hub.take_writes().is_empty());
}

/// An export that was made before its namespace became the agents' own.
#[test]
fn what_left_the_system_namespace_is_withdrawn() {
    let mut world = World::exported();
    world.settings.identity.system_namespace = "team".to_owned();
    world.settle_with_hub();
    assert!(world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &on_hub()).is_none());
    assert!(world.copies().is_empty());
    assert_eq!(world.condition("Conflict").0, "Unknown");
}
