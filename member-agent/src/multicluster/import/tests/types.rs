//! Types, families and ports of imports.

use fleet_api::{ObjectName, kinds, labels};
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

/// A further ServiceCIDR adds addresses, but no family: the API server would refuse a Service that asks for it.
#[test]
fn a_cluster_has_the_families_of_its_api_server() {
    let mut world = World::new();
    let more = json!({ "spec": { "cidrs": ["fd01::/108"] } });
    world.add(kinds::SERVICE_CIDR, &ObjectName::cluster("more"), more);
    world.resolve(&["b"]);
    world.respec("ipFamilies", json!(["IPv4", "IPv6"]));
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(
        (&service["ipFamilies"], &service["ipFamilyPolicy"]),
        (&json!(["IPv4"]), &json!("SingleStack"))
    );
    assert_eq!(world.ready(), "True Ready");
    world.rest();
}

/// A user deletes the API server's own Service, which it makes again; and a range of the other family comes first.
#[test]
fn another_order_of_families_replaces_no_service() {
    let mut world = World::with_families(&["IPv6", "IPv4"]);
    world.resolve(&["b"]);
    world.respec("ipFamilies", json!(["IPv4", "IPv6"]));
    world.settle();
    world.rest();
    world.own.delete(kinds::SERVICE, &ObjectName::new("default", "kubernetes")).unwrap();
    world.rest();
    let set = |range: &mut Value| range["spec"]["cidrs"].as_array_mut().unwrap().reverse();
    world.own.edit(kinds::SERVICE_CIDR, &ObjectName::cluster("kubernetes"), set).unwrap();
    world.rest();
    assert_eq!(world.import().unwrap()["spec"]["ipFamilies"], json!(["IPv6", "IPv4"]));
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
    world.settle();
    world.rest();
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(service["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"], 60);
    assert_eq!(service["internalTrafficPolicy"], "Local");
    world.respec("sessionAffinity", json!("None"));
    world.settle();
    world.rest();
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(service["sessionAffinity"], "None");
    assert_eq!(service["sessionAffinityConfig"], Value::Null);
}

/// An API server refuses what it does not know: a value of the future stays on the import.
#[test]
fn traffic_distribution_is_carried_where_api_servers_know_it() {
    let mut world = World::imported();
    for (value, on_service) in [
        ("PreferClose", json!("PreferClose")),
        ("PreferSameZone", json!("PreferSameZone")),
        ("PreferSameNode", json!("PreferSameNode")),
        ("PreferSameRack", Value::Null),
    ] {
        world.respec("trafficDistribution", json!(value));
        world.settle();
        world.rest();
        let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
        assert_eq!(service["trafficDistribution"], on_service);
        assert_eq!(world.import().unwrap()["spec"]["trafficDistribution"], value);
    }
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

/// Another exporter adds a port to a Service whose only port has no name: traffic to that goes on.
#[test]
fn an_unnamed_port_keeps_its_name_when_another_one_comes() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("ports", json!([port("", 80)]));
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    let set = |object: &mut Value| object["spec"]["ports"][0]["name"] = json!("");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &World::on_hub("b", "web-1"), set).unwrap();
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 tcp-80"]);
    world.rest();
    world.respec("ports", json!([port("", 80), port("admin", 81)]));
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 tcp-80"]);
    let service = &world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"];
    assert_eq!(service["ports"][0]["name"], "tcp-80");
    world.respec("type", json!("Headless"));
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 "], "DNS names no such port");
}

/// Ports of an exporter that are not in force as it has them, and ports that the hub agent has not resolved.
#[test]
fn withheld_ports_take_no_traffic() {
    let mut world = World::imported();
    world.respec("exporters", json!([{ "cluster": "b", "withheld": ["http"] }]));
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 "]);
    world.rest();
}
