//! On which ports.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, addresses, machine};

fn serving(address: &str, ports: Value) -> Value {
    let mut machine = machine(&[address]);
    machine["spec"]["ports"] = ports;
    machine
}

fn numbers(slice: &Value) -> Vec<i64> {
    let ports = slice["ports"].as_array().into_iter().flatten();
    ports.map(|port| port["port"].as_i64().unwrap()).collect()
}

/// EW-9: three protocols by number, in the order of the original.
#[test]
fn ports_by_number_have_to_be_listed_with_their_protocol() {
    let ports = json!([
        { "name": "tcp-example", "protocol": "TCP", "port": 80, "targetPort": 80 },
        { "name": "udp-example", "protocol": "UDP", "port": 161, "targetPort": 161 },
        { "name": "sctp-example", "protocol": "SCTP", "port": 3456, "targetPort": 3456 },
    ]);
    let mut world = World::with(&json!({ "ports": ports }));
    let listed = json!([{ "port": 80 }, { "port": 161, "protocol": "UDP" },
        { "port": 3456, "protocol": "SCTP" }]);
    world.add("vm-1", serving("192.0.2.1", listed.clone()), true);
    let mut both = serving("192.0.2.2", listed);
    both["spec"]["workloadIPs"] = json!([{ "ip": "192.0.2.2" }, { "ip": "2001:db8::2" }]);
    world.add("vm-2", both, true);
    assert_eq!(world.verbs(), ["create"]);
    let slice = world.slice();
    let names: Vec<_> = slice["ports"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["udp-example", "tcp-example", "sctp-example"]);
    assert!(slice["ports"][0]["appProtocol"].is_null());
    assert_eq!(addresses(&slice), ["192.0.2.1", "192.0.2.2"]);
}

/// EW-33: one name, five numbers.
#[test]
fn machines_of_different_numbers_are_in_different_slices() {
    let mut world = World::new();
    for number in 0..300 {
        let ports = json!([{ "name": "http", "port": 8080 + number % 5 }]);
        let address = super::world::address(number);
        world.add(&format!("vm-{number}"), serving(&address, ports), true);
    }
    assert_eq!(world.verbs(), ["create"; 5]);
    assert_eq!(world.sizes(), [60; 5]);
    let mut all: Vec<_> = world.slices().iter().flat_map(numbers).collect();
    all.sort_unstable();
    assert_eq!(all, [8080, 8081, 8082, 8083, 8084]);
}

/// A port that the machine does not serve is left out, the machine stays.
#[test]
fn a_port_that_is_not_served_is_left_out() {
    for (ports, wanted) in [
        (json!([{ "name": "http", "port": 8080 }]), vec![8080]),
        (json!([{ "name": "http", "port": 8080, "protocol": "UDP" }]), vec![]),
        (json!([{ "name": "other", "port": 80 }]), vec![]),
        (json!([]), vec![]),
        (json!([{ "name": "http", "port": 1 }, { "name": "http", "port": 2 }]), vec![1]),
    ] {
        let mut world = World::new();
        world.add("vm", serving("192.0.2.1", ports.clone()), true);
        world.settle();
        assert_eq!(numbers(&world.slice()), wanted, "{ports}");
        assert_eq!(addresses(&world.slice()).len(), 1);
    }
}

/// EW-D1: a port without a name, which the server stores as an empty one, is no reason to write.
#[test]
fn absent_and_empty_names_are_the_same() {
    let port = json!([{ "port": 80, "targetPort": 8080 }]);
    let mut world = World::with(&json!({ "ports": port }));
    world.add("vm", serving("192.0.2.1", json!([{ "port": 8080, "protocol": "" }])), true);
    assert_eq!(world.verbs(), ["create"]);
    let name = world.slice()["metadata"]["name"].as_str().unwrap().to_owned();
    world.edit(kinds::ENDPOINT_SLICE, &name, |slice| slice["ports"][0]["name"] = json!(""));
    assert_eq!(world.verbs(), [""; 0]);
}
