//! Types, families and ports of imports.

use fleet_api::{kinds, labels};
use serde_json::{Value, json};

use super::world::{World, derived, port};

#[test]
fn an_import_becomes_headless_and_back() {
    let mut world = World::imported();
    world.respec("type", json!("Headless"));
    let plan = world.plan();
    let order: Vec<_> =
        plan.steps.iter().map(|it| format!("{} {}", it.action.verb(), it.kind.kind)).collect();
    assert_eq!(order, ["update ServiceImport", "update EndpointSlice", "delete Service"]);
    assert!(plan.steps[1].after.iter().any(|id| id.index() == 0));
    assert!(plan.steps[2].after.iter().any(|id| id.index() == 1));
    world.settle();
    assert!(world.ips().is_null() && world.own.get(kinds::SERVICE, &derived()).is_none());
    let name = World::here("b", "web-1");
    let label = |world: &World, key: &str| {
        world.own.get(kinds::ENDPOINT_SLICE, &name).unwrap()["metadata"]["labels"][key].clone()
    };
    assert_eq!(label(&world, labels::HEADLESS), "");
    assert_eq!(label(&world, labels::SERVICE_NAME), Value::Null);
    world.rest();

    world.respec("type", json!("ClusterSetIP"));
    world.settle();
    assert_eq!(label(&world, labels::HEADLESS), Value::Null);
    assert_eq!(label(&world, labels::SERVICE_NAME), "derived-isrlchlhrq");
    assert_eq!(world.ips().as_array().unwrap().len(), 1);
    let writes = world.writes();
    assert_eq!(writes[..2], ["create Service", "update EndpointSlice"]);
    world.rest();
}

#[test]
fn both_families_are_imported_where_this_cluster_has_them() {
    let mut world = World::with_families(&["IPv6", "IPv4"]);
    world.resolve(&["b"]);
    world.respec("ipFamilies", json!(["IPv4", "IPv6"]));
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.export_slice("b", "web-2", &["fd01::1"]);
    world.settle();
    assert_eq!(world.import().unwrap()["spec"]["ipFamilies"], json!(["IPv6", "IPv4"]));
    assert_eq!(world.ips().as_array().unwrap().len(), 2);
    assert_eq!(world.slices(), ["b 10.1.0.1 http", "b fd01::1 http"]);
    world.rest();
    world.respec("ipFamilies", json!(["IPv6"]));
    world.settle();
    assert_eq!(world.import().unwrap()["spec"]["ipFamilies"], json!(["IPv6"]));
    assert_eq!(world.slices(), ["b fd01::1 http"]);
    world.rest();
}

/// The first family of a Service is for life.
#[test]
fn another_first_family_takes_another_service() {
    let mut world = World::with_families(&["IPv4", "IPv6"]);
    world.resolve(&["b"]);
    world.export_slice("b", "web-2", &["fd01::1"]);
    world.settle();
    world.rest();
    world.respec("ipFamilies", json!(["IPv6"]));
    world.settle();
    assert_eq!(world.import().unwrap()["spec"]["ipFamilies"], json!(["IPv6"]));
    assert_eq!(world.slices(), ["b fd01::1 http"]);
    world.rest();
}

#[test]
fn an_import_without_a_common_family_says_so() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("ipFamilies", json!(["IPv6"]));
    world.export_slice("b", "web-2", &["fd01::1"]);
    world.settle();
    assert_eq!(world.ready(), "False IPFamilyNotSupported");
    assert!(world.own.get(kinds::SERVICE, &derived()).is_none() && world.slices().is_empty());
    world.rest();
    world.respec("ipFamilies", json!(["IPv4"]));
    world.settle();
    assert_eq!(world.ready(), "True Ready");
    world.respec("ipFamilies", json!(["IPv6"]));
    world.settle();
    assert_eq!((world.ready().as_str(), world.ips()), ("False IPFamilyNotSupported", Value::Null));
    world.rest();
}

#[test]
fn affinity_and_policies_are_carried() {
    let mut world = World::imported();
    world.respec("sessionAffinity", json!("ClientIP"));
    world.respec("affinityTimeoutSeconds", json!(60));
    world.respec("internalTrafficPolicy", json!("Local"));
    world.respec("trafficDistribution", json!("PreferSameNode"));
    world.settle();
    world.rest();
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(service["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 60);
    assert_eq!(service["internalTrafficPolicy"], "Local");
    assert_eq!(service["trafficDistribution"], Value::Null, "older API servers refuse it");
    assert_eq!(world.import().unwrap()["spec"]["trafficDistribution"], "PreferSameNode");
    world.respec("trafficDistribution", json!("PreferSameZone"));
    world.respec("sessionAffinity", json!("None"));
    world.settle();
    world.rest();
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(service["trafficDistribution"], "PreferClose");
}

#[test]
fn an_unnamed_port_among_several_has_a_name_where_it_needs_one() {
    let mut world = World::imported();
    world.respec("ports", json!([port("http", 80), port("", 53)]));
    let set = |object: &mut Value| {
        let unnamed = json!({ "name": "", "protocol": "TCP", "port": 5353 });
        object["spec"]["ports"].as_array_mut().unwrap().push(unnamed);
    };
    let slice = World::on_hub("b", "web-1");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice, set).unwrap();
    world.settle();
    world.rest();
    assert_eq!(world.slices(), ["b 10.1.0.1 http,tcp-53"]);
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(service["ports"][1]["name"], "tcp-53");
    assert_eq!(world.import().unwrap()["spec"]["ports"][1]["name"], Value::Null);
}

/// Ports of an exporter that are not in force as it has them, and ports that nobody has resolved.
#[test]
fn withheld_ports_take_no_traffic() {
    let mut world = World::imported();
    world.respec("exporters", json!([{ "cluster": "b", "withheld": ["http"] }]));
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 "]);
    world.rest();
}
