//! One import has one holder: others report which one they wait for.

use fleet_api::{ObjectName, annotations, events, finalizers, kinds};
use serde_json::{Value, json};

use super::{World, granted, request, shop};

fn second() -> ObjectName {
    ObjectName::new("team", "second")
}

/// MCS-6: a second MultiClusterService for an import reports Unknown and names the holder, and has no derived
/// Service; when the import is gone it owns a new one. It is woken by that, not by a timer.
#[test]
fn a_second_mcs_waits_for_the_holder() {
    let mut world = World::importing();
    world.create_mcs(&second(), "shop");
    world.rest();
    let (status, message) = world.valid(&second());
    assert_eq!(status, "Unknown");
    assert!(message.contains("team/shop"), "{message}");
    assert!(world.mcs(&second()).unwrap()["metadata"]["finalizers"].is_null(), "it has nothing");
    assert_eq!(world.own.names(kinds::SERVICE).len(), 1);
    assert_eq!(world.plan().wake_after, None);

    world.delete_mcs(&shop());
    world.rest();
    world.let_go();
    world.rest();
    let owner = &world.import().unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], world.mcs(&second()).unwrap()["metadata"]["uid"]);
    world.grant(granted());
    world.settle();
    assert_eq!(world.valid(&second()).0, "True");
}

/// A ServiceImport with another owner, or without one, is not taken: the MultiClusterService reports the owner.
/// Nothing is asked of the hub, and the import begins when that one goes.
#[test]
fn a_foreign_import_is_not_taken() {
    let deployment = json!([{
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs", "uid": "d",
        "controller": true,
    }]);
    for (owners, told) in [(deployment, "Deployment theirs"), (json!([]), "no MultiClusterService")]
    {
        let mut world = World::new();
        let object = json!({ "metadata": {
            "ownerReferences": owners, "finalizers": [finalizers::SERVICE_IMPORT],
        }});
        world.own.create(kinds::SERVICE_IMPORT, &shop(), object).unwrap();
        let before = world.import().cloned();
        world.create_mcs(&shop(), "shop");
        assert_eq!(world.reasons(), [events::SERVICE_IMPORT_NOT_OURS]);
        world.rest();
        let (status, message) = world.valid(&shop());
        assert_eq!(status, "Unknown");
        assert!(message.contains(told), "{message}");
        assert_eq!(world.import().cloned(), before);
        assert!(world.hub.names(kinds::INTERNAL_SERVICE_IMPORT).is_empty());

        // A Go agent puts its finalizer on any ServiceImport: a user has to remove it.
        world.own.delete(kinds::SERVICE_IMPORT, &shop()).unwrap();
        world.rest();
        let owner = &world.import().unwrap()["metadata"]["ownerReferences"][0];
        assert_eq!(owner["kind"], "MultiClusterService");
        world.grant(granted());
        world.settle();
        assert_eq!(world.valid(&shop()).0, "True");
    }
}

/// F33: an import that loses its owner reference gets it back, and nothing is withdrawn.
/// References of others stay.
#[test]
fn an_import_whose_owner_was_removed_is_owned_again() {
    let note = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "note", "uid": "n" });
    for others in [vec![], vec![note]] {
        let mut world = World::importing();
        let owner = world.import().unwrap()["metadata"]["ownerReferences"][0].clone();
        disown(&mut world, &json!(others));
        world.settle();
        let mut owners = others;
        owners.push(owner);
        assert_eq!(world.import().unwrap()["metadata"]["ownerReferences"], json!(owners));
        assert_eq!(world.valid(&shop()).0, "True");
        assert!(world.hub.take_writes().is_empty());
        assert!(world.derived().is_some() && world.slice().is_some());
    }
}

/// One that nothing proves to be ours, or that another has taken, is withdrawn from the hub, but
/// neither changed nor deleted.
#[test]
fn an_import_whose_owner_was_removed_may_be_anybodys() {
    let taken = json!([{
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs", "uid": "d",
        "controller": true,
    }]);
    for (owners, finalizers) in
        [(json!([]), json!([])), (taken, json!([finalizers::SERVICE_IMPORT]))]
    {
        let mut world = World::importing();
        world.edit(kinds::SERVICE_IMPORT, &shop(), |import| {
            import["metadata"]["finalizers"] = finalizers;
        });
        disown(&mut world, &owners);
        let before = world.import().cloned();
        world.rest();
        assert_eq!(world.import().cloned(), before);
        assert_eq!(world.valid(&shop()).0, "Unknown");
        let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap();
        assert!(!request["metadata"]["deletionTimestamp"].is_null());
    }
}

fn disown(world: &mut World, owners: &Value) {
    world.edit(kinds::SERVICE_IMPORT, &shop(), |import| {
        import["metadata"]["ownerReferences"] = owners.clone();
    });
}

/// MCS-12: another cluster holds the import (a Go hub grants it to one at a time): the MultiClusterService reports
/// that this may be so, and takes over when it is granted.
#[test]
fn an_import_that_another_cluster_holds() {
    let mut world = World::waiting();
    world.distribute(&["10.1.0.1"]);
    world.rest();
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    assert!(message.contains("another cluster imports it exclusively"), "{message}");
    assert!(world.derived().is_none() && world.slice().is_none());

    // A hub agent of this project reports which cluster.
    let tell = |by: Value| {
        move |request: &mut Value| {
            request["metadata"]["annotations"] = json!({ annotations::IMPORT_HELD_BY: by });
        }
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), tell(json!("c"))).unwrap();
    world.rest();
    assert_eq!(world.valid(&shop()).1, "service team/shop is imported exclusively by cluster c");

    world.grant(granted());
    world.settle();
    assert_eq!(world.valid(&shop()).0, "True");
    assert!(world.slice().is_some());
}

/// A member may import what it exports itself: the derived Service and the imported slices lie in
/// another namespace than the Service, so that nothing feeds itself. The Service is not touched.
#[test]
fn a_service_of_the_own_cluster_may_be_imported() {
    let mut world = World::new();
    let service = json!({ "spec": { "type": "ClusterIP", "selector": { "app": "shop" } } });
    world.own.create(kinds::SERVICE, &shop(), service).unwrap();
    world.own.create(kinds::SERVICE_EXPORT, &shop(), json!({})).unwrap();
    let before = world.own.get(kinds::SERVICE, &shop()).cloned();
    world.create_mcs(&shop(), "shop");
    world.settle();
    world.grant(granted());
    world.distribute(&["10.2.0.1"]);
    world.settle();
    assert_eq!(world.valid(&shop()).0, "True");
    assert_eq!(world.own.get(kinds::SERVICE, &shop()).cloned(), before);
    assert!(world.slice().is_some());
}
