//! `--denied-namespaces`: no Service there is exported that is not exported already.

use fleet_api::kinds;
use serde_json::json;

use super::world::{World, pair, service, shop};

fn deny(world: &mut World) {
    world.settings.denied_namespaces = "kube-*,team".parse().unwrap();
}

#[test]
fn nothing_new_is_exported() {
    let mut world = World::with_service();
    deny(&mut world);
    world.export();
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "NamespaceDenied"));
    assert_eq!(world.told(), ["Warning NamespaceDenied"]);
    assert!(world.hub.take_writes().is_empty());
    assert!(world.finalizers().is_null());

    world.settings.denied_namespaces = "".parse().unwrap();
    world.settle();
    assert!(world.is_on_hub());
}

#[test]
fn what_is_exported_stays_until_it_is_withdrawn() {
    let mut world = World::exported();
    deny(&mut world);
    world.settle();
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    let message = world.whole_condition("Valid")["message"].clone();
    assert!(message.as_str().unwrap().contains("its namespace is denied"), "{message}");
    assert_eq!(world.writes().len(), 1, "the status");
    world.rest();
    world.respec("ports", json!([{ "protocol": "TCP", "port": 90 }]));
    world.settle();
    assert_eq!(world.internal().unwrap()["spec"]["ports"][0]["port"], json!(90));

    world.own.delete(kinds::SERVICE, &shop()).unwrap();
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    world.settle_with_hub();
    assert!(world.internal().is_none(), "another Service is a new export");
    assert_eq!(world.condition("Valid"), pair("False", "NamespaceDenied"));
}
