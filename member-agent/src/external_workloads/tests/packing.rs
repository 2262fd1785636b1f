//! Slices of many machines.

use fleet_api::{kinds, labels};
use serde_json::{Value, json};

use super::world::{World, address, named, shop};

const WHOLE: [usize; 3] = [100, 100, 50];

fn full() -> World {
    let mut world = World::new();
    world.add_many(0..250);
    world.settle();
    assert_eq!(world.sizes(), WHOLE);
    world
}

/// A slice with these machines whose fields are wrong but for their identity.
fn outdated(world: &mut World, name: &str, numbers: std::ops::Range<usize>) {
    let uid = world.own.get(kinds::SERVICE, &shop()).unwrap()["metadata"]["uid"].clone();
    let endpoint = |number: usize| {
        json!({
            "addresses": [address(number)],
            "conditions": { "ready": false, "serving": false, "terminating": true },
            "targetRef": { "kind": "ExternalWorkload", "namespace": "team",
                "name": format!("vm-{number:03}"), "uid": "another" },
        })
    };
    let slice = json!({
        "metadata": {
            "labels": { "kubernetes.io/service-name": "shop",
                "endpointslice.kubernetes.io/managed-by": labels::MANAGED_BY_EXTERNAL_WORKLOADS },
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Service", "name": "shop", "uid": uid,
                "controller": true, "blockOwnerDeletion": true }],
        },
        "addressType": "IPv4",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
        "endpoints": numbers.map(endpoint).collect::<Vec<_>>(),
    });
    world.own.create(kinds::ENDPOINT_SLICE, &named(name), slice).unwrap();
}

/// Moves everything to another port.
fn move_port(world: &mut World, count: usize) {
    for number in 0..count {
        let name = format!("vm-{number:03}");
        world
            .edit(kinds::EXTERNAL_WORKLOAD, &name, |vm| vm["spec"]["ports"][0]["port"] = json!(81));
    }
}

/// EW-34: 250 machines and no slices.
#[test]
fn machines_are_packed_by_the_hundred() {
    let mut world = World::new();
    world.add_many(0..250);
    assert_eq!(world.verbs(), ["create"; 3]);
    assert_eq!(world.sizes(), WHOLE);
}

/// EW-35: two slices whose endpoints have all changed are filled up before a new one is made.
#[test]
fn slices_that_are_written_anyway_are_filled() {
    let mut world = World::new();
    world.add_many(0..250);
    outdated(&mut world, "one", 0..62);
    outdated(&mut world, "two", 62..123);
    assert_eq!(world.verbs(), ["create", "update", "update"]);
    assert_eq!(world.sizes(), WHOLE);
}

/// EW-36: another port everywhere rewrites the slices in place.
#[test]
fn another_port_takes_as_many_writes_as_there_are_slices() {
    let mut world = full();
    move_port(&mut world, 250);
    assert_eq!(world.verbs(), ["update"; 3]);
    assert_eq!(world.sizes(), WHOLE);
    assert!(world.slices().iter().all(|slice| slice["ports"][0]["port"] == 81));
}

/// EW-37: a label of the Service is on all slices; EW-D3: and goes with it.
#[test]
fn labels_of_the_service_are_on_its_slices() {
    let mut world = full();
    let tier = |world: &World| -> Vec<Value> {
        world.slices().iter().map(|slice| slice["metadata"]["labels"]["tier"].clone()).collect()
    };
    world.edit(kinds::SERVICE, "shop", |shop| {
        shop["metadata"]["labels"] = json!({ "tier": "front" });
    });
    assert_eq!(world.verbs(), ["update"; 3]);
    assert_eq!((world.sizes(), tier(&world)), (WHOLE.to_vec(), vec![json!("front"); 3]));
    world.edit(kinds::SERVICE, "shop", |shop| shop["metadata"]["labels"] = json!({}));
    assert_eq!(world.verbs(), ["update"; 3]);
    assert_eq!(tier(&world), [Value::Null, Value::Null, Value::Null]);
}

/// EW-38: reserved labels of the Service are ignored.
#[test]
fn reserved_labels_are_not_taken_over() {
    let mut world = full();
    world.edit(kinds::SERVICE, "shop", |shop| {
        shop["metadata"]["labels"] = json!({
            "kubernetes.io/service-name": "other",
            "endpointslice.kubernetes.io/managed-by": "other",
            "service.kubernetes.io/headless": "other",
        });
    });
    assert_eq!(world.verbs(), [""; 0]);
    let labels = &world.slices()[0]["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/service-name"], "shop");
    assert!(labels["service.kubernetes.io/headless"].is_null());
}

/// EW-39: many small slices become few when all is written anyway.
#[test]
fn small_slices_are_merged_with_another_port() {
    let mut world = World::new();
    world.add_many(0..300);
    for number in 0..10 {
        outdated(&mut world, &format!("slice-{number}"), number * 30..(number + 1) * 30);
    }
    world.settle();
    assert_eq!(world.sizes(), [30; 10]);
    move_port(&mut world, 300);
    let verbs = world.verbs();
    let count = |verb| verbs.iter().filter(|seen| **seen == verb).count();
    assert_eq!((count("update"), count("delete"), verbs.len()), (3, 7, 10));
    assert_eq!(world.sizes(), [100; 3]);
}
