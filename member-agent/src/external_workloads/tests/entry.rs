//! Which Services are served at all.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, endpoints, machine, service, shop};

const VM: &str = "192.0.2.1";

fn untouched(spec: &Value) {
    let mut world = World::with(spec);
    world.add("vm", machine(&[VM]), true);
    assert_eq!(world.verbs(), [""; 0], "{spec}");
    assert!(world.slices().is_empty());
}

/// EW-1: a Service without selector.
#[test]
fn a_service_without_selector_is_filled_by_its_user() {
    untouched(&json!({ "selector": null }));
}

/// EW-2: an `ExternalName` Service with selector and ports.
#[test]
fn an_external_name_with_selector_and_ports_gets_nothing() {
    untouched(&json!({ "type": "ExternalName" }));
}

/// EW-3: an `ExternalName` Service with ports only.
#[test]
fn an_external_name_with_ports_gets_nothing() {
    untouched(&json!({ "type": "ExternalName", "selector": null }));
}

/// EW-4: an `ExternalName` Service with selector only.
#[test]
fn an_external_name_with_selector_gets_nothing() {
    untouched(&json!({ "type": "ExternalName", "ports": null }));
}

/// EW-5: an `ExternalName` Service with neither.
#[test]
fn an_external_name_with_nothing_gets_nothing() {
    untouched(&json!({ "type": "ExternalName", "selector": null, "ports": null }));
}

/// EW-6: a Service that is being deleted, without workloads.
#[test]
fn a_service_being_deleted_gets_nothing() {
    let mut world = World::new();
    world.edit(kinds::SERVICE, "shop", |service| {
        service["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    world.delete(kinds::SERVICE, "shop");
    assert_eq!(world.verbs(), [""; 0]);
    world.add("vm", machine(&[VM]), true);
    assert_eq!(world.verbs(), [""; 0], "nor a slice for one that comes then");
}

/// EW-7: three ready workloads: one matches, one has another label, one is elsewhere.
#[test]
fn only_what_the_service_selects_becomes_an_endpoint() {
    let mut world = World::new();
    world.add("vm", machine(&[VM]), true);
    let mut other = machine(&["192.0.2.2"]);
    other["metadata"]["labels"] = json!({ "app": "other" });
    world.add("other", other, true);
    let elsewhere = ObjectName::new("elsewhere", "vm");
    world.own.create(kinds::EXTERNAL_WORKLOAD, &elsewhere, machine(&["192.0.2.3"])).unwrap();

    assert_eq!(world.verbs(), ["create"]);
    let slice = world.slice();
    let [endpoint] = endpoints(&slice) else { panic!("{slice:#}") };
    let vm = world.own.get(kinds::EXTERNAL_WORKLOAD, &super::world::named("vm")).unwrap();
    let target = json!({ "kind": "ExternalWorkload", "namespace": "team", "name": "vm",
        "uid": vm["metadata"]["uid"] });
    assert_eq!(endpoint["targetRef"], target);
    let uid = &world.own.get(kinds::SERVICE, &shop()).unwrap()["metadata"]["uid"];
    let owner = json!([{ "apiVersion": "v1", "kind": "Service", "name": "shop", "uid": uid,
        "controller": true, "blockOwnerDeletion": true }]);
    assert_eq!(slice["metadata"]["ownerReferences"], owner);
    let name = slice["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("external-shop-") && name.len() == "external-shop-".len() + 10);
}

/// EW-8: a slice that is being deleted already, without workloads.
#[test]
fn a_slice_that_is_going_is_left_alone() {
    let mut world = World::new();
    world.add("vm", machine(&[VM]), true);
    world.settle();
    let name = world.slice()["metadata"]["name"].as_str().unwrap().to_owned();
    world.edit(kinds::ENDPOINT_SLICE, &name, |slice| {
        slice["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    world.delete(kinds::ENDPOINT_SLICE, &name);
    world.delete(kinds::EXTERNAL_WORKLOAD, "vm");
    assert_eq!(world.verbs(), [""; 0]);
}

/// S29, where the original leaves slices behind: the Service stops selecting, or is gone before
/// the garbage collector has come.
#[test]
fn what_no_longer_selects_keeps_no_slices() {
    for change in [json!({ "selector": null }), json!({ "type": "ExternalName" })] {
        let mut world = World::new();
        world.add("vm", machine(&[VM]), true);
        world.settle();
        world.edit(kinds::SERVICE, "shop", |shop| *shop = merged(shop, &change));
        assert_eq!(world.verbs(), ["delete"], "{change}");
    }
    let mut world = World::new();
    world.add("vm", machine(&[VM]), true);
    world.settle();
    let name = world.slice()["metadata"]["name"].as_str().unwrap().to_owned();
    world.edit(kinds::ENDPOINT_SLICE, &name, |slice| {
        slice["metadata"]["ownerReferences"] = json!([]);
    });
    world.delete(kinds::SERVICE, "shop");
    assert_eq!(world.verbs(), ["delete"]);
}

fn merged(shop: &Value, change: &Value) -> Value {
    let mut merged = service(change);
    merged["metadata"] = shop["metadata"].clone();
    merged
}

/// S31: a namespace that is being deleted takes no objects.
#[test]
fn nothing_is_created_in_a_namespace_that_goes() {
    let mut world = World::new();
    world.add("vm", machine(&[VM]), true);
    let namespace = ObjectName::cluster("team");
    let hold = |namespace: &mut Value| namespace["metadata"]["finalizers"] = json!(["kubernetes"]);
    world.own.edit(kinds::NAMESPACE, &namespace, hold).unwrap();
    world.own.delete(kinds::NAMESPACE, &namespace).unwrap();
    assert_eq!(world.verbs(), [""; 0]);
}
