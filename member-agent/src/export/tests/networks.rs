//! Services whose endpoints are on a secondary network.

use fleet_api::{ObjectName, annotations, kinds, labels};
use serde_json::{Value, json};

use super::world::{World, shop, slice_object};
use crate::settings::Mode;

/// shop asks for the network flat; it has a slice of the built-in controller and one on that network.
fn flat(mode: Mode) -> World {
    let mut world = World::exported();
    world.settings.endpointslices = mode;
    let ask = |service: &mut Value| {
        service["metadata"]["annotations"] = json!({ annotations::ENDPOINT_NETWORK: "flat" });
        service["spec"]["selector"] = json!({ "app": "shop" });
    };
    world.own.edit(kinds::SERVICE, &shop(), ask).unwrap();
    let on_it =
        json!({ labels::MANAGED_BY: labels::MANAGED_BY_NETWORK, labels::NETWORK_SERVICE: "shop" });
    let mut slice = slice_object("IPv4", &on_it);
    slice["endpoints"] = json!([{ "addresses": ["192.0.2.1"] }]);
    let name = ObjectName::new("team", "network-shop-1");
    world.own.create(kinds::ENDPOINT_SLICE, &name, slice).unwrap();
    world
}

fn exported(world: &World) -> Vec<String> {
    let lists = world.copies().into_iter().map(|copy| copy["spec"]["endpoints"].clone());
    let endpoints = lists.flat_map(|list| list.as_array().cloned().unwrap_or_default());
    endpoints.map(|one| one["addresses"][0].as_str().unwrap().to_owned()).collect()
}

#[test]
fn slices_on_the_network_are_exported_and_no_others() {
    let mut world = flat(Mode::OptIn);
    world.settle_with_hub();
    assert_eq!(exported(&world), ["192.0.2.1"]);
    assert_eq!(world.condition("EndpointsOnNetwork").0, "True");

    let annotate = |service: &mut Value| service["metadata"]["annotations"] = json!({});
    world.own.edit(kinds::SERVICE, &shop(), annotate).unwrap();
    world.settle_with_hub();
    assert_eq!(exported(&world), ["10.1.0.1", "10.1.0.2"]);
    let export = world.own.get(kinds::SERVICE_EXPORT, &shop()).unwrap();
    let conditions = export["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|one| one["type"] != "EndpointsOnNetwork"), "{conditions:?}");
}

#[test]
fn without_the_flag_the_annotation_means_nothing() {
    let mut world = flat(Mode::Off);
    world.settle();
    assert_eq!(exported(&world), ["10.1.0.1", "10.1.0.2"]);
}

#[test]
fn pods_that_are_not_on_the_network_are_told_of() {
    let mut world = flat(Mode::OptIn);
    let labels = json!({ "app": "shop" });
    let pod = json!({ "metadata": { "labels": labels }, "spec": { "containers": [] } });
    let name = ObjectName::new("team", "shop-7");
    world.own.create(kinds::POD, &name, pod).unwrap();
    let status =
        json!({ "phase": "Running", "podIP": "10.1.0.7", "podIPs": [{ "ip": "10.1.0.7" }] });
    world.own.edit(kinds::POD, &name, |pod| pod["status"] = status).unwrap();
    world.settle();
    let (status, reason) = world.condition("EndpointsOnNetwork");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "EndpointsRefused"));
    let told = world.events.iter().find(|event| event.reason == "EndpointsOffNetwork");
    assert!(told.unwrap().note.contains("shop-7 has no network status"), "{told:?}");
}
