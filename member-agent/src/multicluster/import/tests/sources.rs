//! Whose endpoints are imported.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, events, kinds, labels, names};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

use super::world::{World, derived, web};

/// They never go through the hub.
#[test]
fn own_endpoints_are_part_of_the_import() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    world.settle();
    assert_eq!(world.slices(), ["a 10.9.0.1 http", "b 10.1.0.1 http"]);
    world.rest();
}

#[test]
fn own_endpoints_follow_without_the_hub() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    world.settle();
    world.rest();
    world.heard = false;
    world.rest();
    let slice = ObjectName::new("shop", "web-x1");
    let set = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.9.0.2"] }]);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice, set).unwrap();
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    assert_eq!(world.slices(), ["a 10.9.0.2 http", "b 10.1.0.1 http"]);
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"], "whether it is exported is known here");
}

/// Another hub is in the place of the one that accepted this cluster, and has not done so yet: whose endpoints these are, it need not
/// confirm.
#[test]
fn own_endpoints_stay_while_another_hub_has_not_accepted_the_cluster() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    world.settle();
    world.rest();
    world.hub = ModelServer::new(ClusterId::Hub);
    world.rest();
    assert_eq!(world.slices(), ["a 10.9.0.1 http", "b 10.1.0.1 http"]);
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
}

/// The agent is killed after it has written the slice of its own endpoints and before it lists its cluster, and starts while the hub
/// does not answer.
#[test]
fn own_endpoints_stay_although_the_import_does_not_list_the_cluster_yet() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    let mut plan = world.plan();
    plan.steps.retain(|step| step.kind == kinds::ENDPOINT_SLICE);
    world.execute(&plan);
    world.heard = false;
    world.settle();
    assert_eq!(world.slices(), ["a 10.9.0.1 http", "b 10.1.0.1 http"]);
    // Unless the hub lists others alone, and its word counts.
    world.heard = true;
    world.resolve(&["b"]);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
}

/// With `internalTrafficPolicy: Local` proxies send traffic to endpoints of their own Node alone. A Node of another cluster
/// would mean nothing here.
#[test]
fn own_endpoints_keep_their_node() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1", "10.9.0.2"]);
    let slice = ObjectName::new("shop", "web-x1");
    let set = |slice: &mut Value| slice["endpoints"][1]["nodeName"] = json!("node-1");
    world.own.edit(kinds::ENDPOINT_SLICE, &slice, set).unwrap();
    world.resolve(&["a", "b"]);
    world.settle();
    world.rest();
    let imported = |cluster: &str, slice: &str| {
        let slice = world.own.get(kinds::ENDPOINT_SLICE, &World::here(cluster, slice));
        slice.unwrap()["endpoints"].clone()
    };
    let own = world
        .own
        .objects(kinds::ENDPOINT_SLICE)
        .find(|(_, slice)| slice["metadata"]["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER] == "a");
    let own = &own.unwrap().1["endpoints"];
    assert_eq!((&own[0]["nodeName"], &own[1]["nodeName"]), (&Value::Null, &json!("node-1")));
    assert_eq!(imported("b", "web-1")[0]["nodeName"], Value::Null);
}

/// A Service port that differs from what is in force takes no traffic, as in all other clusters.
#[test]
fn own_ports_that_are_not_in_force_are_left_out() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    world.respec("ports", json!([super::world::port("http", 8000)]));
    world.settle();
    assert_eq!(world.slices(), ["a 10.9.0.1 ", "b 10.1.0.1 http"]);
}

/// A member writes slices in its own namespace on the hub: only what the hub lists counts.
#[test]
fn a_cluster_that_is_not_listed_has_no_endpoints() {
    let mut world = World::imported();
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.rest();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
}

/// A member chooses the names of what it exports, and takes that of another member's slice.
#[test]
fn a_name_that_another_cluster_took_costs_nobody_endpoints() {
    let mut world = World::new();
    world.resolve(&["b", "c"]);
    let stolen = ObjectName::new("fleet-member-b", "c-shop-web-1");
    world.export_as(&stolen, "b", "web-9", &["10.1.0.1"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    let mut slices = world.slices();
    slices.sort_unstable();
    assert_eq!(slices, ["b 10.1.0.1 http", "c 10.2.0.1 http"]);
    world.rest();
}

/// All members read on the hub what the names of a slice are made of, and can give their own slices all of them.
#[test]
fn names_that_another_cluster_took_cost_no_endpoints() {
    let mut world = World::new();
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    let of_c = World::on_hub("c", "web-1");
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let on_hub = uid(world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &of_c).unwrap());
    world.export_own(&["10.9.0.1"]);
    let own = ObjectName::new("shop", "web-x1");
    let here = uid(world.own.get(kinds::ENDPOINT_SLICE, &own).unwrap());
    let of_own = names::slice_export_candidates("a", "shop", "web-x1", &here);
    let taken = names::slice_import_candidates(&of_c, &on_hub).into_iter().chain(of_own);
    let mut expected = vec!["a 10.9.0.1 http".to_owned(), "c 10.2.0.1 http".to_owned()];
    for (at, name) in taken.enumerate() {
        let (slice, address) = (format!("web-{at}"), format!("10.1.0.{}", at + 1));
        world.export_as(&ObjectName::new("fleet-member-b", name), "b", &slice, &[&address]);
        expected.push(format!("b {address} http"));
    }
    world.resolve(&["b"]);
    world.settle();
    world.resolve(&["a", "b", "c"]);
    world.settle();
    let mut slices = world.slices();
    slices.sort_unstable();
    expected.sort_unstable();
    assert_eq!(slices, expected);
    world.rest();
}

/// A member can store thousands of slices on the hub.
#[test]
fn of_too_many_slices_those_that_serve_stay() {
    let mut world = World::new();
    world.resolve(&["b", "c"]);
    world.export_slice("b", "web-z", &["10.1.0.1"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    for number in 0..1005 {
        world.export_slice("b", &format!("web-{number:04}"), &["10.1.0.2"]);
    }
    world.settle();
    let of = |cluster: &str| {
        let slices = world.slices();
        slices.iter().filter(|slice| slice.starts_with(cluster)).count()
    };
    assert_eq!((of("b "), of("c ")), (1000, 1));
    assert!(world.slices().contains(&"b 10.1.0.1 http".to_owned()), "it was there before");
    assert!(world.told().contains(&events::ENDPOINTS_REFUSED));
    assert!(world.plan().is_empty());
}

/// A slice of a user has the name.
#[test]
fn a_slice_of_somebody_else_is_left_alone() {
    let mut world = World::new();
    let users = json!({ "addressType": "IPv4", "endpoints": [], "ports": [] });
    world.add(kinds::ENDPOINT_SLICE, &World::here("b", "web-1"), users);
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    let users = world.own.get(kinds::ENDPOINT_SLICE, &World::here("b", "web-1")).unwrap();
    assert!(users["metadata"]["labels"].is_null());
    world.rest();
}

#[test]
fn addresses_that_lead_into_this_cluster_are_refused() {
    let mut world = World::new();
    world.resolve(&["b"]);
    let addresses = ["10.1.0.1", "127.0.0.1", "10.96.0.1", "169.254.169.254"];
    world.export_slice("b", "web-1", &addresses);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    assert!(world.told().contains(&events::ENDPOINTS_REFUSED));
}

#[test]
fn endpoints_keep_host_name_and_zone_but_no_node() {
    let mut world = World::imported();
    let name = World::here("b", "web-1");
    let endpoint = |world: &World| {
        world.own.get(kinds::ENDPOINT_SLICE, &name).unwrap()["endpoints"][0].clone()
    };
    let expected = json!({ "addresses": ["10.1.0.1"], "hostname": "web-0", "zone": "z1" });
    assert_eq!(endpoint(&world), expected);
    world.settings.multicluster.zones = false;
    world.settle();
    let expected = json!({ "addresses": ["10.1.0.1"], "hostname": "web-0" });
    assert_eq!(endpoint(&world), expected);
    let set = |object: &mut Value| object["spec"]["endpoints"][0]["hostname"] = json!("Not.Valid");
    let on_hub = World::on_hub("b", "web-1");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &on_hub, set).unwrap();
    world.settle();
    assert_eq!(endpoint(&world), json!({ "addresses": ["10.1.0.1"] }));
}

/// Proxies find the slices by the derived Service, never by the user's.
#[test]
fn slices_carry_the_marks_of_the_api() {
    let world = World::imported();
    let slice = world.own.get(kinds::ENDPOINT_SLICE, &World::here("b", "web-1")).unwrap();
    let expected = json!({
        (labels::MULTICLUSTER_SERVICE_NAME): "web",
        (labels::MULTICLUSTER_SOURCE_CLUSTER): "b",
        (labels::MANAGED_BY): labels::MANAGED_BY_MULTICLUSTER,
        (labels::SERVICE_NAME): derived().name.to_string(),
    });
    assert_eq!(slice["metadata"]["labels"], expected);
    let owner = &slice["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], world.import().unwrap()["metadata"]["uid"]);
    assert!(owner["blockOwnerDeletion"].is_null() && owner["controller"].is_null());
}
