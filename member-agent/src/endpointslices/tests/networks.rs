//! Beside the built-in controller: endpoints on a secondary network.

use fleet_api::{annotations, events, kinds, labels};
use fleet_model_server::execute;
use fleet_plan::{Controller, affected_keys};
use serde_json::json;

use super::super::LeftoverController;
use super::world::{World, pod};
use crate::settings::Mode;
use crate::snapshot::MemberSnapshot;

/// web asks for endpoints on the network flat; web-1 is on it, web-2 is not.
fn flat(mode: Mode) -> World {
    let mut world = World::with_service(mode);
    ask(&mut world, Some("flat"));
    world.add_pod("web-1", "10.1.0.1");
    attach(
        &mut world,
        "web-1",
        r#"[{"name":"cbr0","ips":["10.1.0.1"]},{"name":"team/flat","ips":["192.0.2.1"]}]"#,
    );
    world.add_pod("web-2", "10.1.0.2");
    world
}

fn ask(world: &mut World, network: Option<&str>) {
    world.edit_service(|service| {
        let asked = network.map(|network| (annotations::ENDPOINT_NETWORK, json!(network)));
        service["metadata"]["annotations"] = asked.into_iter().collect();
    });
}

fn attach(world: &mut World, name: &str, status: &str) {
    world.edit_pod(name, |pod| {
        pod["metadata"]["annotations"] = json!({ annotations::NETWORK_STATUS: status });
    });
}

#[test]
fn only_addresses_on_the_network_are_endpoints() {
    let mut world = flat(Mode::OptIn);
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.addresses(), ["192.0.2.1"]);
    let slice_labels = &world.slice()["metadata"]["labels"];
    assert_eq!(slice_labels[labels::MANAGED_BY], labels::MANAGED_BY_NETWORK);
    assert_eq!(slice_labels[labels::NETWORK_SERVICE], "web");
    assert!(slice_labels[labels::SERVICE_NAME].is_null(), "traffic of this cluster goes elsewhere");
    let told: Vec<_> =
        world.events.iter().filter(|event| event.reason == events::ENDPOINTS_OFF_NETWORK).collect();
    assert!(
        told.iter().all(|event| event.note.contains("web-2 has no network status")),
        "{told:?}"
    );
    assert!(!told.is_empty());

    attach(&mut world, "web-2", r#"[{"name":"flat","ips":["192.0.2.2"]}]"#);
    world.events.clear();
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(world.addresses(), ["192.0.2.1", "192.0.2.2"]);
    assert!(world.events.is_empty(), "{:?}", world.events);
    world.restart();
    assert!(world.follow().is_empty());
}

#[test]
fn a_service_that_does_not_ask_gets_nothing() {
    let mut world = World::with_service(Mode::OptIn);
    world.add_pod("web-1", "10.1.0.1");
    assert!(world.follow().is_empty());
}

#[test]
fn what_is_no_longer_asked_for_goes() {
    for after in [None, Some(""), Some("other")] {
        let mut world = flat(Mode::OptIn);
        world.follow();
        ask(&mut world, after);
        assert_eq!(world.follow(), ["delete"]);
    }
}

#[test]
fn a_network_of_another_family_is_served() {
    let mut world = World::with_service(Mode::OptIn);
    ask(&mut world, Some("flat"));
    world.add_pod("web-1", "10.1.0.1");
    attach(&mut world, "web-1", r#"[{"name":"flat","ips":["2001:db8::1"]}]"#);
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.slice()["addressType"], "IPv6");
}

/// Readiness and the end of a pod count as on the cluster's network.
#[test]
fn endpoints_on_a_network_follow_their_pods() {
    let mut world = flat(Mode::OptIn);
    world.follow();
    world.turn_pod("web-1", "False");
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(world.endpoints()[0]["conditions"]["ready"], false);
    world.own.delete(kinds::POD, &pod("web-1")).unwrap();
    assert_eq!(world.follow(), ["delete"]);
}

/// Where all slices are ours, both kinds stand side by side.
#[test]
fn both_kinds_of_slices_stand_side_by_side() {
    let mut world = flat(Mode::All);
    assert_eq!(world.follow(), ["create", "create"]);
    let mut addresses = world.addresses();
    addresses.sort_unstable();
    assert_eq!(addresses, ["10.1.0.1", "10.1.0.2", "192.0.2.1"]);
}

/// An agent that is not to make slices any more takes away what one before it made for networks, and nothing else.
#[test]
fn what_was_made_before_goes_where_none_are_to_be_made() {
    let mut world = flat(Mode::All);
    world.follow();
    let users = json!({
        "metadata": { "labels": { labels::SERVICE_NAME: "web", labels::NETWORK_SERVICE: "web" } },
        "addressType": "IPv4", "endpoints": [],
    });
    world.own.create(kinds::ENDPOINT_SLICE, &pod("web-by-hand"), users).unwrap();
    assert_eq!(world.slices().len(), 3);

    let snapshot = world.snapshot();
    let keys = affected_keys(&LeftoverController, &MemberSnapshot::default(), &snapshot);
    for key in &keys {
        let plan = LeftoverController.plan(key, &snapshot, world.own.now());
        assert_eq!(execute(&plan, &mut [&mut world.own]), []);
        assert!(LeftoverController.plan(key, &world.snapshot(), world.own.now()).is_empty());
    }
    assert_eq!(keys.len(), 1);
    let managers =
        world.slices().into_iter().map(|slice| &slice["metadata"]["labels"][labels::MANAGED_BY]);
    assert!(
        managers.eq([&json!(null), &json!(fleet_endpointslice::MANAGER)]),
        "{:?}",
        world.slices()
    );
}

/// The annotation with the addresses is not the CNI plugin's alone: users who may change Pods write it, too.
#[test]
fn a_pod_outside_of_the_ranges_is_left_out() {
    let mut world = flat(Mode::OptIn);
    attach(&mut world, "web-2", r#"[{"name":"flat","ips":["198.51.100.2"]}]"#);
    world.follow();
    assert_eq!(
        world.addresses(),
        ["192.0.2.1", "198.51.100.2"],
        "without ranges any address serves"
    );
    world.events.clear();

    world.limit_networks("198.51.100.0/24");
    world.follow();
    assert_eq!(world.addresses(), ["198.51.100.2"]);
    let why = "web-1 has the address 192.0.2.1, which is outside of --endpoint-network-cidrs";
    let told = world.events.iter().find(|event| event.reason == events::ENDPOINTS_OFF_NETWORK);
    let note = &told.expect("an Event").note;
    assert!(note.ends_with(why), "{note}");
}
