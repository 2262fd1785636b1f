//! The Services that a change affects.

use fleet_accumulator::SourceState;
use fleet_api::{ObjectName, kinds};
use fleet_plan::Affected;
use serde_json::{Value, json};

use super::super::keys;
use super::world::{World, machine, named, service};

const VM: &str = "192.0.2.1";

fn world() -> World {
    let mut world = World::new();
    world.add("vm", machine(&[VM]), true);
    world
}

/// Whether a change of the spec is one.
fn changed(change: fn(&mut Value)) -> bool {
    let touched = world()
        .touched(|world| world.edit(kinds::EXTERNAL_WORKLOAD, "vm", |vm| change(&mut vm["spec"])));
    assert!(touched.is_empty() || touched == ["shop"], "{touched:?}");
    !touched.is_empty()
}

fn push(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}

/// EW-13: identical objects.
#[test]
fn the_same_again_is_no_change() {
    assert!(!changed(|_| {}));
}

/// EW-14: a second address.
#[test]
fn another_address_is_a_change() {
    assert!(changed(|spec| push(&mut spec["workloadIPs"], json!({ "ip": "2001:db8::1" }))));
}

/// EW-15: one address less.
#[test]
fn an_address_less_is_a_change() {
    assert!(changed(|spec| spec["workloadIPs"] = json!([])));
}

/// EW-16: an address replaced.
#[test]
fn a_replaced_address_is_a_change() {
    assert!(changed(|spec| spec["workloadIPs"][0]["ip"] = json!("192.0.2.2")));
}

/// EW-17: a port added.
#[test]
fn another_port_is_a_change() {
    assert!(changed(|spec| push(&mut spec["ports"], json!({ "port": 9090 }))));
}

/// EW-18: a port removed.
#[test]
fn a_port_less_is_a_change() {
    assert!(changed(|spec| spec["ports"] = json!([])));
}

/// EW-19: the number of a port.
#[test]
fn another_number_is_a_change() {
    assert!(changed(|spec| spec["ports"][0]["port"] = json!(8081)));
}

/// EW-20: the name of a port.
#[test]
fn another_name_is_a_change() {
    assert!(changed(|spec| spec["ports"][0]["name"] = json!("web")));
}

/// EW-21: the name of a port goes.
#[test]
fn a_name_less_is_a_change() {
    assert!(changed(|spec| spec["ports"][0]["name"] = json!(null)));
}

/// EW-D11: ports of one number differ by their protocol.
#[test]
fn another_protocol_is_a_change() {
    assert!(changed(|spec| spec["ports"][0]["protocol"] = json!("UDP")));
}

/// EW-22: what the API server sends again, or what is no matter of endpoints.
#[test]
fn a_change_elsewhere_touches_nobody() {
    assert!(!changed(|spec| spec["meshTLS"]["identity"] = json!("another")));
    let note = |vm: &mut Value| vm["metadata"]["annotations"] = json!({ "note": "x" });
    let touched = world().touched(|world| world.edit(kinds::EXTERNAL_WORKLOAD, "vm", note));
    assert_eq!(touched, [""; 0]);
}

fn selecting(world: &mut World, name: &str, selector: &Value) {
    let service = service(&json!({ "selector": selector }));
    world.own.create(kinds::SERVICE, &named(name), service).unwrap();
}

/// EW-23: a machine moves from one Service to another and changes.
#[test]
fn a_machine_that_moves_touches_both_services() {
    let mut world = world();
    selecting(&mut world, "svc-2", &json!({ "app": "second" }));
    let touched = world.touched(|world| {
        world.edit(kinds::EXTERNAL_WORKLOAD, "vm", |vm| {
            vm["metadata"]["labels"]["app"] = json!("second");
            vm["spec"]["ports"][0]["port"] = json!(8081);
        });
    });
    assert_eq!(touched, ["shop", "svc-2"]);
}

/// EW-24: a machine that stays and changes.
#[test]
fn a_machine_that_changes_touches_the_service_that_selects_it() {
    let mut world = world();
    selecting(&mut world, "svc-2", &json!({ "app": "second" }));
    let touched = world.touched(|world| {
        world.edit(kinds::EXTERNAL_WORKLOAD, "vm", |vm| vm["spec"]["ports"][0]["port"] = json!(1));
    });
    assert_eq!(touched, ["shop"]);
}

/// EW-25: only labels change: who selects it as before need not look.
#[test]
fn a_label_touches_only_whose_selection_changes() {
    let mut world = world();
    selecting(&mut world, "staging", &json!({ "env": "staging" }));
    selecting(&mut world, "prod", &json!({ "app": "shop", "env": "prod" }));
    let label = |env: &'static str| {
        move |world: &mut World| {
            let set = |vm: &mut Value| vm["metadata"]["labels"]["env"] = json!(env);
            world.edit(kinds::EXTERNAL_WORKLOAD, "vm", set);
        }
    };
    assert_eq!(world.touched(label("staging")), ["staging"]);
    assert_eq!(world.touched(label("prod")), ["prod", "staging"]);
}

/// EW-D2: the zone is a label, but part of the endpoint.
#[test]
fn a_zone_touches_the_service() {
    let zone = |vm: &mut Value| {
        vm["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("rack-1");
    };
    let touched = world().touched(|world| world.edit(kinds::EXTERNAL_WORKLOAD, "vm", zone));
    assert_eq!(touched, ["shop"]);
}

/// Machines that come, also empty ones, and machines that go.
#[test]
fn machines_that_come_and_go_touch_who_selects_them() {
    let mut world = world();
    let touched = world.touched(|world| {
        world.own.create(kinds::EXTERNAL_WORKLOAD, &named("empty"), machine(&[])).unwrap();
    });
    assert_eq!(touched, ["shop"]);
    assert_eq!(world.touched(|world| world.delete(kinds::EXTERNAL_WORKLOAD, "vm")), ["shop"]);
}

/// A change of this agent's slice by others affects the Services that it named and names.
#[test]
fn a_tampered_slice_touches_its_services() {
    let mut world = world();
    world.settle();
    let name = world.slice()["metadata"]["name"].as_str().unwrap().to_owned();
    let label = |key: &'static str, value: &'static str| {
        let name = name.clone();
        move |world: &mut World| {
            let set = |slice: &mut Value| slice["metadata"]["labels"][key] = json!(value);
            world.edit(kinds::ENDPOINT_SLICE, &name, set);
        }
    };
    let touched = world.touched(label("kubernetes.io/service-name", "other"));
    assert_eq!(touched, ["other", "shop"]);
    let touched = world.touched(label("kubernetes.io/service-name", "shop"));
    assert_eq!(touched, ["other", "shop"]);
    let by = "endpointslice.kubernetes.io/managed-by";
    assert_eq!(world.touched(label(by, "somebody")), ["shop"]);
    let foreign = |world: &mut World| {
        let set = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.0.0.1"] }]);
        world.edit(kinds::ENDPOINT_SLICE, "shop-abcde", set);
    };
    assert_eq!(world.touched(foreign), [""; 0], "slices of others are nobody's business");
}

/// Services of kube-system do not count by themselves, but their workloads do.
#[test]
fn kube_system_is_looked_at_for_its_workloads_only() {
    let mut world = world();
    let dns = ObjectName::new("kube-system", "dns");
    let touched = world.touched(|world| {
        world.own.create(kinds::SERVICE, &dns, service(&json!({}))).unwrap();
    });
    assert_eq!(touched, [""; 0]);
    let touched = world.touched(|world| {
        let name = ObjectName::new("kube-system", "vm");
        world.own.create(kinds::EXTERNAL_WORKLOAD, &name, machine(&[VM])).unwrap();
    });
    assert_eq!(touched, ["dns"]);
}

/// A new leader, and a watch that is live again, affect every Service.
#[test]
fn a_watch_that_is_back_touches_everything() {
    let world = world();
    let new = world.snapshot();
    let gone = SourceState::Missing { since: std::time::Instant::now() };
    let mut old = new.clone();
    old.external_workloads = old.external_workloads.in_state(gone);
    let mut affected = Affected::new();
    keys::affected(&old, &new, &mut affected);
    assert!(affected.keys().any(|key| &*key.name == "shop"));
}
