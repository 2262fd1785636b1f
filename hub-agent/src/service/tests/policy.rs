//! Member policies on reading: what a policy no longer lists is withdrawn; a policy that is missing withdraws nothing.

use std::collections::BTreeSet;

use fleet_accumulator::{SourceState, View};
use fleet_api::{ObjectName, annotations, finalizers, kinds};
use fleet_model::objects::MemberPolicy;
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, reference, shop};
use crate::service::Key;

const KIND: fleet_api::ResourceKind = kinds::CONFIG_MAP;

fn name(member: &str) -> ObjectName {
    in_member(member, MemberPolicy::NAME)
}

/// Gives a member a policy with this data.
fn give(world: &mut World, member: &str, data: Value) {
    if world.exists(KIND, &name(member)) {
        world.hub.edit(KIND, &name(member), |policy| policy["data"] = data).unwrap();
    } else {
        world.hub.create(KIND, &name(member), json!({ "data": data })).unwrap();
    }
}

fn lists(exports: &str, imports: &str) -> Value {
    json!({ "cidrs": "10.0.0.0/8", "exports": exports, "imports": imports })
}

/// Lets hub agent and importers work until there is nothing left to do.
fn rest(world: &mut World) {
    for _ in 0..3 {
        world.settle_all();
        world.release_copies();
    }
}

/// The reason with which an export is rejected.
fn rejection(world: &World, member: &str) -> Option<String> {
    let valid = world.condition(member, "Valid")?;
    assert_eq!((&valid["status"], &valid["reason"]), (&json!("False"), &json!("PolicyDenied")));
    Some(valid["message"].as_str().unwrap().to_owned())
}

#[test]
fn an_export_that_is_no_longer_listed_is_withdrawn_and_comes_back() {
    let mut world = World::shared();
    give(&mut world, "a", lists("team/shop", ""));
    assert!(world.plan().steps.is_empty(), "it is listed");
    give(&mut world, "a", lists("team/other, shop/*", "*"));
    rest(&mut world);
    assert!(world.import().is_none() && world.granted().is_empty() && world.copies().is_empty());
    let expected = "rejected: the member policy does not list team/shop among its exports";
    assert_eq!(rejection(&world, "a").as_deref(), Some(expected));
    assert_eq!(world.conflict("a"), "none");
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "withdrawn once: {plan:#?}");
    assert_eq!(plan.events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["PolicyDenied"]);
    let slice = in_member("a", "a-s1");
    assert!(world.exists(kinds::ENDPOINT_SLICE_EXPORT, &slice), "what is the member's stays");

    give(&mut world, "a", lists("team/*", ""));
    rest(&mut world);
    assert_eq!((world.clusters(), rejection(&world, "a")), (vec!["a"], None));
    assert_eq!(world.granted(), ["b"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

#[test]
fn other_exporters_go_on() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    rest(&mut world);
    give(&mut world, "a", lists("", ""));
    world.settle_watched(|world| {
        assert!(world.copies().contains(&"fleet-member-b/c-s2".to_owned()));
        assert_eq!(world.granted(), ["b"]);
    });
    rest(&mut world);
    assert_eq!((world.clusters(), world.copies()), (vec!["c"], vec!["fleet-member-b/c-s2".into()]));
}

#[test]
fn a_new_export_is_rejected_and_released() {
    let mut world = World::new();
    give(&mut world, "a", lists("", "*"));
    world.export("a", 80);
    world.settle_all();
    assert!(rejection(&world, "a").is_some() && world.import().is_none());
    world.delete_export("a");
    world.settle_all();
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
}

/// Both are rejected for the policy: neither may come into force when the other one is deleted.
#[test]
fn of_two_exports_of_a_member_neither_counts() {
    let mut world = World::shared();
    let object = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": { "ports": port(80), "serviceReference": reference("a", "Service", "shop") },
    });
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &in_member("a", "second"), object).unwrap();
    give(&mut world, "a", lists("", ""));
    rest(&mut world);
    let reasons: Vec<_> = world.plan().events.iter().map(|event| event.reason).collect();
    assert_eq!((world.import(), reasons), (None, vec!["PolicyDenied"; 2]));
}

#[test]
fn a_grant_that_is_no_longer_listed_is_withdrawn_and_comes_back() {
    let mut world = World::shared();
    world.request("d");
    rest(&mut world);
    assert_eq!(world.holders(), ["b", "d"]);
    give(&mut world, "b", lists("*", "shop/*"));
    world.settle_watched(|world| {
        let held = world.holders().contains(&"b".to_owned());
        assert!(held || !world.granted().contains(&"b".to_owned()), "the claim goes last");
    });
    rest(&mut world);
    assert_eq!((world.granted(), world.holders()), (vec!["d".to_owned()], vec!["d".to_owned()]));
    assert_eq!(world.copies(), ["fleet-member-d/a-s1"]);
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")).unwrap();
    let expected = "rejected: the member policy does not list team/shop among its imports";
    assert_eq!(request["metadata"]["annotations"][annotations::REJECTED], expected);

    give(&mut world, "b", lists("", "*"));
    rest(&mut world);
    assert_eq!(world.granted(), ["b", "d"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-d/a-s1"]);
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")).unwrap();
    assert!(request["metadata"]["annotations"][annotations::REJECTED].is_null());
}

#[test]
fn the_last_importer_leaves_the_service_exported() {
    let mut world = World::shared();
    give(&mut world, "b", lists("", ""));
    rest(&mut world);
    assert_eq!((world.claim(), world.clusters()), (Value::Null, vec!["a"]));
    assert!(world.granted().is_empty() && world.copies().is_empty());
    world.delete_request("b");
    rest(&mut world);
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
}

#[test]
fn an_exclusive_import_goes_to_the_next_and_never_to_two() {
    let mut world = World::exported();
    world.controller.settings.exclusive_imports = true;
    world.request("b");
    world.request("d");
    rest(&mut world);
    assert_eq!(world.granted(), ["b"]);
    give(&mut world, "b", lists("", ""));
    world.settle_watched(|world| assert!(world.granted().len() <= 1));
    rest(&mut world);
    assert_eq!((world.granted(), world.holders()), (vec!["d".to_owned()], vec!["d".to_owned()]));
    give(&mut world, "d", lists("", ""));
    rest(&mut world);
    assert!(world.granted().is_empty() && world.claim().is_null(), "also the last one");
}

#[test]
fn a_policy_that_is_missing_or_unreadable_withdraws_nothing() {
    let mut world = World::shared();
    for data in [
        json!(null),
        json!({ "exports": "", "cidrs": "" }),
        json!({ "imports": "" }),
        lists("a/b; c/d", ""),
        lists("", "team"),
    ] {
        give(&mut world, "a", data.clone());
        give(&mut world, "b", data.clone());
        assert!(world.plan().is_empty(), "{data}");
    }
    for member in ["a", "b"] {
        world.delete(KIND, &name(member));
    }
    assert!(world.plan().is_empty());
}

#[test]
fn a_policy_that_is_deleted_no_longer_forbids() {
    let mut world = World::shared();
    give(&mut world, "a", lists("", ""));
    rest(&mut world);
    world.delete(KIND, &name("a"));
    rest(&mut world);
    assert_eq!((world.clusters(), world.granted()), (vec!["a"], vec!["b".to_owned()]));
}

/// A source that was never listed is empty; one that was keeps its content.
#[test]
fn a_source_that_is_forbidden_withdraws_nothing() {
    let mut world = World::shared();
    give(&mut world, "a", lists("", ""));
    let mut snapshot = world.snapshot();
    let (since, message) = (std::time::Instant::now(), "no".into());
    let forbidden = SourceState::Forbidden { since, verb: "list", message };
    snapshot.member_policies = View::default().in_state(forbidden);
    let settings = &world.controller.settings;
    let plan = crate::service::plan(settings, &shop(), &snapshot, world.hub.now());
    assert!(plan.is_empty(), "{plan:#?}");
}

#[test]
fn nothing_is_withdrawn_where_policies_are_not_enforced() {
    let mut world = World::shared();
    world.controller.settings.enforce_member_policies = false;
    let old = world.snapshot();
    give(&mut world, "a", lists("", ""));
    let keys = affected_keys(&world.controller, &old, &world.snapshot());
    assert!(keys.is_empty() && world.plan().is_empty());
}

/// A policy of thousands of entries, of which one changes, concerns one Service.
#[test]
fn an_edit_concerns_the_services_that_it_is_about() {
    let mut world = World::shared();
    let spec = json!({ "ports": port(80), "serviceReference": reference("a", "Service", "other") });
    let other = in_member("a", "team-other");
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &other, json!({ "spec": spec })).unwrap();
    world.settle_all();
    let changed = |world: &mut World, data: Option<Value>| -> BTreeSet<Key> {
        let old = world.snapshot();
        match data {
            Some(data) => give(world, "a", data),
            None => world.delete(KIND, &name("a")),
        }
        affected_keys(&world.controller, &old, &world.snapshot())
    };
    let service = |name: &str| Key::Service(ObjectName::new("team", name));
    assert_eq!(changed(&mut world, Some(lists("*", "*"))), BTreeSet::new());
    assert_eq!(changed(&mut world, Some(lists("team/shop", ""))), [service("other")].into());
    assert_eq!(changed(&mut world, Some(lists("team/*", ""))), [service("other")].into());
    let both = BTreeSet::from([service("other"), service("shop")]);
    assert_eq!(changed(&mut world, Some(lists("", ""))), both);
    assert_eq!(changed(&mut world, Some(lists("nonsense", ""))), both);
    assert_eq!(changed(&mut world, Some(lists("", ""))), both);
    assert_eq!(changed(&mut world, None), both);
}
