//! Objects that other parties alter or delete on the hub are restored, if possible without a gap.

use fleet_api::{ObjectName, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, shop};

#[test]
fn a_tampered_copy_is_restored_and_a_deleted_one_replaced() {
    let mut world = World::shared();
    let name = in_member("b", "a-s1");
    let tamper = |copy: &mut Value| copy["spec"]["endpoints"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, tamper).unwrap();
    world.settle();
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap();
    assert_eq!(copy["spec"]["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));

    world.delete(kinds::ENDPOINT_SLICE_IMPORT, &name);
    assert!(world.plan().is_empty(), "a terminating copy blocks its successor");
    world.release_copies();
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

#[test]
fn altered_statuses_are_restored() {
    let mut world = World::shared();
    let right = world.import().unwrap()["status"].clone();
    for wrong in [
        json!({}),
        json!({ "type": "Headless", "ports": port(80), "clusters": [{ "cluster": "a" }] }),
        json!({ "ips": ["10.0.0.1"], "type": "ClusterSetIP", "ports": port(80), "clusters": [{ "cluster": "a" }] }),
        json!({ "type": "ClusterSetIP", "ports": port(6666), "clusters": [{ "cluster": "x" }] }),
    ] {
        for (kind, name) in
            [(kinds::SERVICE_IMPORT, shop()), (kinds::INTERNAL_SERVICE_IMPORT, of_shop("b"))]
        {
            let tamper = |object: &mut Value| object["status"] = wrong.clone();
            world.hub.edit(kind, &name, tamper).unwrap();
            world.settle_watched(|world| assert_eq!(world.copies(), ["fleet-member-b/a-s1"]));
            assert_eq!(world.hub.get(kind, &name).unwrap()["status"], right);
        }
    }
    let tamper = |export: &mut Value| export["status"] = json!({});
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a"), tamper).unwrap();
    world.settle();
    assert_eq!(world.conflict("a"), "False");
}

/// A user deletes the ServiceImport on the hub: importers keep grants and copies while it is created again.
#[test]
fn a_deleted_import_comes_back_without_a_gap() {
    for exclusive in [false, true] {
        let mut world = World::shared();
        world.controller.settings.exclusive_imports = exclusive;
        world.request("c");
        world.settle();
        world.release_copies();
        let before = world.import().unwrap()["metadata"]["uid"].clone();
        let (holders, copies) = (world.holders(), world.copies());
        world.delete(kinds::SERVICE_IMPORT, &shop());
        world.settle_watched(|world| {
            assert_eq!(world.granted(), holders);
            assert_eq!(world.copies(), copies);
        });
        assert_ne!(world.import().unwrap()["metadata"]["uid"], before);
        assert_eq!(world.holders(), holders);
    }
}

#[test]
fn an_import_held_by_another_finalizer_is_withdrawn() {
    let mut world = World::shared();
    let hold = |import: &mut Value| {
        import["metadata"]["finalizers"] = json!(["their/own", finalizers::SERVICE_IMPORT]);
    };
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), hold).unwrap();
    world.delete(kinds::SERVICE_IMPORT, &shop());
    world.settle();
    assert!(world.copies().is_empty() && world.granted().is_empty());
    assert_eq!(world.import().unwrap()["metadata"]["finalizers"], json!(["their/own"]));
    let release = |import: &mut Value| import["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), release).unwrap();
    world.release_copies();
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

/// The user's namespace is deleted on the hub: the Service is withdrawn, its exports report why, and everything is
/// restored with the namespace.
#[test]
fn a_deleted_namespace_withdraws_the_service_until_it_exists_again() {
    let team = ObjectName::cluster("team");
    for import_outlives in [true, false] {
        let mut world = World::shared();
        world.delete(kinds::NAMESPACE, &team);
        if import_outlives {
            world.settle();
            assert_eq!(world.granted(), ["b"], "nothing is deleted as long as the import is there");
        }
        world.delete(kinds::SERVICE_IMPORT, &shop());
        world.settle();
        assert!(world.import().is_none());
        assert!(world.copies().is_empty() && world.granted().is_empty());
        let later = world.plan().debounced;
        assert_eq!(later.len(), 1, "{later:#?}");
        world.hub.execute(&later[0].step).unwrap();
        assert_eq!(world.conflict("a"), "Unknown");
        assert!(world.message("a").contains("namespace team"));
        assert!(world.plan().is_empty());

        world.hub.create(kinds::NAMESPACE, &team, json!({})).unwrap();
        world.release_copies();
        world.settle();
        assert_eq!(world.granted(), ["b"]);
        assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
        assert_eq!(world.conflict("a"), "False");
    }
}

/// A member's namespace is deleted: the hub releases the objects in it, other importers lose its endpoints.
#[test]
fn the_namespace_of_an_exporter_is_deleted() {
    let mut world = World::shared();
    world.delete(kinds::NAMESPACE, &ObjectName::cluster("fleet-member-a"));
    world.delete_export("a");
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"));
    world.settle();
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT).is_empty());
    assert!(world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).is_empty());
    assert!(world.copies().is_empty() && world.import().is_none());
}

#[test]
fn removed_finalizers_are_added_again() {
    let mut world = World::shared();
    let objects = [
        (kinds::INTERNAL_SERVICE_EXPORT, of_shop("a")),
        (kinds::ENDPOINT_SLICE_EXPORT, in_member("a", "a-s1")),
        (kinds::SERVICE_IMPORT, shop()),
    ];
    for (kind, name) in objects {
        let before = world.hub.get(kind, &name).unwrap()["metadata"]["finalizers"].clone();
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        world.hub.edit(kind, &name, strip).unwrap();
        world.settle();
        let after = &world.hub.get(kind, &name).unwrap()["metadata"]["finalizers"];
        assert_eq!(after, &before, "{}", kind.kind);
    }
}

/// F32: a user removes the finalizer of a request that holds the claim.
#[test]
fn a_request_gets_its_finalizer_back() {
    let mut world = World::shared();
    let name = of_shop("b");
    let tamper = |request: &mut Value| request["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &name, tamper).unwrap();
    world.settle_watched(|world| assert_eq!(world.copies(), ["fleet-member-b/a-s1"]));
    let again = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &name).unwrap();
    assert_eq!(again["metadata"]["finalizers"], json!([finalizers::INTERNAL_SERVICE_IMPORT]));
}
