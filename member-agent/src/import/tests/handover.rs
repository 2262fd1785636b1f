//! From one import to the next.

use fleet_api::{ObjectName, kinds, labels};
use serde_json::json;

use super::{World, granted, shop};

/// MCS-11: of two MultiClusterServices for one import the second takes over when the first is deleted.
#[test]
fn the_second_mcs_takes_over() {
    let mut world = World::importing();
    let second = ObjectName::new("team", "second");
    world.create_mcs(&second, "shop");
    world.rest();
    world.delete_mcs(&shop());
    world.rest();
    assert!(world.mcs(&shop()).is_none());
    world.let_go();
    world.rest();
    world.grant(granted());
    world.rest();
    assert_eq!(world.valid(&second).0, "True");
    let slice = world.slice().unwrap();
    assert_eq!(slice["metadata"]["labels"][labels::SERVICE_NAME], "team-second");
    assert_eq!(world.own.names(kinds::SERVICE).len(), 1);
}

/// MCS-13: a MultiClusterService that comes before the export becomes valid with it.
#[test]
fn an_mcs_may_come_first() {
    let mut world = World::waiting();
    assert_eq!(world.valid(&shop()).0, "Unknown");
    world.own.advance(3600);
    world.grant(granted());
    world.distribute(&["10.1.0.1"]);
    world.settle();
    assert_eq!(world.valid(&shop()).0, "True");
    assert!(world.slice().is_some());
}

/// MCS-14: deleted and made again at once, the import works again; the ServiceImport of the first
/// one is withdrawn before.
#[test]
fn an_mcs_made_again_imports_again() {
    let mut world = World::importing();
    world.delete_mcs(&shop());
    world.settle();
    world.create_mcs(&shop(), "shop");
    world.rest();
    world.let_go();
    world.rest();
    world.grant(granted());
    world.settle();
    assert_eq!(world.valid(&shop()).0, "True");
    let owner = &world.import().unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], world.mcs(&shop()).unwrap()["metadata"]["uid"]);
    assert!(world.slice().is_some());
}

/// A MultiClusterService of the same name as one that is gone, whose ServiceImport is still there.
#[test]
fn the_import_of_an_earlier_mcs_of_the_name_is_withdrawn_first() {
    let mut world = World::new();
    let object = json!({ "metadata": { "ownerReferences": [{
        "apiVersion": "networking.fleet.azure.com/v1alpha1", "kind": "MultiClusterService",
        "name": "shop", "uid": "of-an-earlier-one", "controller": true,
    }]}});
    world.own.create(kinds::SERVICE_IMPORT, &shop(), object).unwrap();
    world.create_mcs(&shop(), "shop");
    let message = format!("{:?}", world.plan().debounced[0].step.action);
    assert!(message.contains("is being withdrawn"), "{message}");
    world.rest();
    let owner = &world.import().unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], world.mcs(&shop()).unwrap()["metadata"]["uid"]);
}

/// Re-pointed and back before anything else happened: the import is the same again.
#[test]
fn an_mcs_may_change_its_mind() {
    let mut world = World::importing();
    let desk = ObjectName::new("team", "desk");
    world.point(&shop(), "desk");
    world.settle_for(std::slice::from_ref(&desk));
    world.point(&shop(), "shop");
    world.rest_for(&[shop(), desk.clone()]);
    world.let_go();
    world.rest_for(&[shop(), desk]);
    if world.valid(&shop()).0 == "Unknown" {
        world.grant(granted());
        world.settle();
    }
    assert_eq!(world.valid(&shop()).0, "True");
    assert_eq!(world.own.names(kinds::SERVICE_IMPORT), [shop()]);
}
