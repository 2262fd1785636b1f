//! Where Linkerd's own controller is at work.

use fleet_api::{ObjectName, events, kinds, labels};
use serde_json::json;

use super::super::LEASE;
use super::world::{World, machine, named};

fn lease(world: &mut World, holder: &str) {
    let name = ObjectName::new("linkerd", LEASE);
    let spec = json!({ "holderIdentity": holder, "leaseDurationSeconds": 30 });
    let held = world.own.get(kinds::LEASE, &name).is_some();
    if held {
        world.own.edit(kinds::LEASE, &name, |lease| lease["spec"] = spec).unwrap();
    } else {
        world.own.create(kinds::LEASE, &name, json!({ "spec": spec })).unwrap();
    }
}

fn linkerds_slice(world: &mut World) {
    let slice = json!({
        "metadata": { "labels": { "kubernetes.io/service-name": "shop",
            "endpointslice.kubernetes.io/managed-by": labels::MANAGED_BY_LINKERD } },
        "addressType": "IPv4", "endpoints": [], "ports": [],
    });
    world.own.create(kinds::ENDPOINT_SLICE, &named("linkerd-external-shop-1"), slice).unwrap();
}

fn told(world: &World) -> bool {
    world.events.iter().any(|event| event.reason == events::LEFT_TO_LINKERD)
}

#[test]
fn nothing_is_made_while_its_lease_is_held() {
    let mut world = World::new();
    world.add("vm", machine(&["192.0.2.1"]), true);
    lease(&mut world, "linkerd-destination-1");
    assert_eq!(world.verbs(), [""; 0]);
    assert!(told(&world));
    let touched = world.touched(|world| lease(world, ""));
    assert!(touched.contains(&"shop".to_owned()), "everything is looked at again");
    assert_eq!(world.verbs(), ["create"]);
}

#[test]
fn nothing_is_said_of_services_without_workloads() {
    let mut world = World::new();
    lease(&mut world, "linkerd-destination-1");
    world.settle();
    assert!(!told(&world));
}

/// Linkerd comes later: ours are kept right until its slices are there, and go then.
#[test]
fn slices_are_handed_over_without_a_gap() {
    let mut world = World::new();
    world.add("vm", machine(&["192.0.2.1"]), true);
    world.settle();
    lease(&mut world, "linkerd-destination-1");
    world.set_ready("vm", false);
    assert_eq!(world.verbs(), ["update"]);
    let touched = world.touched(linkerds_slice);
    assert_eq!(touched, ["shop"]);
    assert_eq!(world.verbs(), ["delete"]);
}

/// If the Lease cannot be read, or is in another namespace, Linkerd's slices suffice.
#[test]
fn its_slices_are_enough_to_stay_out() {
    let mut world = World::new();
    linkerds_slice(&mut world);
    world.add("vm", machine(&["192.0.2.1"]), true);
    assert_eq!(world.verbs(), [""; 0]);
    assert!(told(&world));
    world.delete(kinds::ENDPOINT_SLICE, "linkerd-external-shop-1");
    assert_eq!(world.verbs(), ["create"]);
}

/// Renewals are no news.
#[test]
fn a_renewed_lease_touches_nobody() {
    let mut world = World::new();
    lease(&mut world, "linkerd-destination-1");
    assert_eq!(world.touched(|world| lease(world, "linkerd-destination-2")), [""; 0]);
}
