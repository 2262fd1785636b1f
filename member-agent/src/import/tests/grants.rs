//! What the hub grants is checked: an older hub agent has no bounds.

use fleet_api::{events, kinds};
use serde_json::{Value, json};

use super::{World, granted, shop};

/// A grant with so many ports.
fn with_ports(count: usize) -> Value {
    let port = |number| json!({ "name": format!("p{number}"), "protocol": "TCP", "port": number });
    let mut status = granted();
    status["ports"] = (1..=count).map(port).collect();
    status
}

#[test]
fn a_grant_beyond_a_bound_is_not_imported() {
    let mut world = World::waiting();
    world.grant(with_ports(1001));
    world.distribute(&["10.1.0.1"]);
    assert_eq!(world.reasons(), [events::LIMIT_EXCEEDED]);
    world.rest();
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    let bound = "status.ports has 1001 entries, but at most 1000 are accepted";
    assert!(message.contains(bound) && message.contains("team/shop"), "{message}");
    assert!(world.derived().is_none() && world.slice().is_none());
    assert_eq!(world.import().unwrap()["status"]["ports"], Value::Null, "it is not copied");

    world.grant(with_ports(150));
    world.settle();
    assert_eq!(world.valid(&shop()).0, "True", "a hub agent leaves 150 ports in force");
    assert_eq!(world.derived().unwrap()["spec"]["ports"].as_array().map(Vec::len), Some(150));
}

#[test]
fn what_is_imported_stays_as_it_is_and_can_be_withdrawn() {
    let mut world = World::importing();
    world.grant(with_ports(14_000));
    world.rest();
    let (status, message) = world.valid(&shop());
    assert!(status == "Unknown" && message.contains("stays as it is"), "{message}");
    assert_eq!(world.derived().unwrap()["spec"]["ports"].as_array().map(Vec::len), Some(1));
    world.change_copy(|copy| copy["spec"]["endpoints"][0]["addresses"] = json!(["10.1.0.2"]));
    world.settle();
    assert_eq!(world.slice().unwrap()["endpoints"][0]["addresses"], json!(["10.1.0.2"]));

    world.grant(granted());
    world.settle();
    assert_eq!(world.valid(&shop()).0, "True");
    world.grant(with_ports(14_000));
    world.delete_mcs(&shop());
    for _ in 0..3 {
        world.settle();
        world.let_go();
    }
    assert!(world.mcs(&shop()).is_none() && world.derived().is_none());
    assert!(world.own.names(kinds::SERVICE_IMPORT).is_empty());
}
