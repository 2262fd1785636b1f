//! Members that request an import hold the claim, any number of them at once.

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, of_shop, shop};

#[test]
fn several_importers_hold_the_claim_at_once() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    let claim = json!({ "fleet-member-b": "b", "fleet-member-c": "c" });
    assert_eq!(world.claim(), json!({ "MemberClusters": claim }));
    assert_eq!(world.granted(), ["b", "c"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-c/a-s1"]);
}

#[test]
fn an_importer_that_leaves_loses_only_its_own_copies() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    world.delete_request("b");
    world.settle();
    assert_eq!(world.claim(), json!({ "MemberClusters": { "fleet-member-c": "c" } }));
    assert_eq!(world.copies(), ["fleet-member-c/a-s1"]);
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
}

#[test]
fn claim_and_finalizer_are_removed_with_the_last_importer() {
    let mut world = World::shared();
    world.delete_request("b");
    world.settle_watched(|world| {
        let gone = !world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"));
        assert!(!gone || world.claim().is_null(), "the request goes after the claim");
    });
    assert_eq!(world.import().unwrap()["metadata"]["finalizers"], Value::Null);
    assert_eq!(world.clusters(), ["a"], "the export stays");
}

/// HISI-11: the annotation is absent, corrupt, without the map, or names another member: it is rewritten from the
/// requests, and the copies stay.
#[test]
fn an_altered_claim_is_rewritten_from_the_requests() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    let right = world.claim();
    for text in [
        "",
        "{",
        "[]",
        "{}",
        "null",
        r#"{"MemberClusters":null}"#,
        r#"{"MemberClusters":[]}"#,
        r#"{"MemberClusters":{"fleet-member-x":"x"}}"#,
        r#"{"MemberClusters":{"fleet-member-b":"x"}}"#,
    ] {
        world.set_claim(text);
        world.settle_watched(|world| assert_eq!(world.copies().len(), 2, "{text}"));
        assert_eq!(world.claim(), right, "{text}");
    }
    let remove = |import: &mut Value| import["metadata"]["annotations"] = json!({});
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), remove).unwrap();
    world.settle_watched(|world| assert_eq!(world.copies().len(), 2));
    assert_eq!(world.claim(), right);
}

/// The status has to be written before the claim: present copies stay meanwhile.
#[test]
fn a_claim_and_ports_that_are_altered_together_withdraw_nothing() {
    let mut world = World::shared();
    world.set_claim("{");
    world.set_ports("a", json!([{ "port": 81 }]));
    world.settle_watched(|world| assert_eq!(world.copies(), ["fleet-member-b/a-s1"]));
    assert_eq!(world.holders(), ["b"]);
    // The copy of a slice that is not exported any more is deleted even then.
    world.set_claim("{");
    world.set_ports("a", json!([{ "port": 82 }]));
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &super::world::in_member("a", "a-s1"));
    let deletes = |step: &fleet_plan::Step| {
        step.kind == kinds::ENDPOINT_SLICE_IMPORT && step.action.verb() == "delete"
    };
    assert!(world.plan().steps.iter().any(deletes));
}

#[test]
fn a_request_that_leaves_while_the_claim_cannot_be_read_waits_for_it() {
    let mut world = World::shared();
    world.set_claim("{");
    world.set_ports("a", json!([{ "port": 81 }]));
    world.delete_request("b");
    world.settle_watched(|world| {
        let gone = !world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"));
        let text =
            &world.import().unwrap()["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY];
        assert!(!gone || text.is_null());
    });
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
}

#[test]
fn a_request_gets_the_hubs_finalizer_before_the_claim() {
    let mut world = World::shared();
    world.request("d");
    let bare = |request: &mut Value| request["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("d"), bare).unwrap();
    world.settle_watched(|world| {
        let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("d")).unwrap();
        let guarded =
            request["metadata"]["finalizers"] == json!([finalizers::INTERNAL_SERVICE_IMPORT]);
        assert!(guarded || !world.holders().contains(&"d".to_owned()));
    });
    assert_eq!(world.granted(), ["b", "d"]);
}

#[test]
fn a_member_whose_namespace_is_deleted_gets_no_new_copy() {
    let mut world = World::shared();
    world.request("d");
    world.delete(kinds::NAMESPACE, &ObjectName::cluster("fleet-member-d"));
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}
