//! With `--exclusive-imports` one member at a time imports a Service, as with the original.
//!
//! The original removes its finalizer from a request that waits; here it stays until the request is deleted
//! (docs/design/rules.md#finalizers). The original lets any waiting member take over; here it is the oldest.

use fleet_api::{annotations, finalizers, kinds};
use fleet_model_server::execute;
use serde_json::{Value, json};

use super::world::{World, of_shop, port, shop};

fn exclusive(mut world: World) -> World {
    world.controller.settings.exclusive_imports = true;
    world
}

/// "a" exports; "b" imports, "c" and "d" wait.
fn waiting() -> World {
    let mut world = exclusive(World::shared());
    world.request("c");
    world.request("d");
    world.settle();
    assert_eq!(world.granted(), ["b"]);
    world
}

/// After every write there is at most one holder, and no grant but that of the holder or of a member that leaves.
fn settle(world: &mut World) {
    world.settle_watched(|world| {
        if world.import().is_none() {
            return;
        }
        let holders = world.holders();
        let granted = world.granted();
        assert!(holders.len() <= 1, "{holders:?}");
        assert!(granted.len() <= 1, "{granted:?}");
        assert!(granted.is_empty() || holders.is_empty() || granted == holders, "{granted:?}");
    });
}

fn held_by(world: &World, member: &str) -> Option<String> {
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &of_shop(member)).unwrap();
    let text = &request["metadata"]["annotations"][annotations::IMPORT_HELD_BY];
    text.as_str().map(str::to_owned)
}

/// HISI-1: no member exports the Service; the request stays empty.
#[test]
fn a_request_for_a_service_that_nobody_exports_stays_empty() {
    let mut world = exclusive(World::new());
    world.request("b");
    settle(&mut world);
    assert!(world.granted().is_empty());
}

/// HISI-2: the import of a granted request does not exist any more; the status is cleared. Its
/// finalizer stays until the request is deleted, and is then removed at once.
#[test]
fn a_grant_is_cleared_with_the_import() {
    let mut world = exclusive(World::shared());
    world.delete_export("a");
    settle(&mut world);
    assert_eq!(world.status_of_request("b"), &json!({}));
    world.delete_request("b");
    settle(&mut world);
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
}

/// HISI-3: this member has the claim already; the status of its request is set. When the request is deleted,
/// annotation and finalizer are removed.
#[test]
fn a_holder_without_status_is_granted_and_released() {
    let mut world = exclusive(World::shared());
    let clear = |request: &mut Value| request["status"] = json!({});
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"), clear).unwrap();
    settle(&mut world);
    assert_eq!(world.status_of_request("b"), &world.import().unwrap()["status"]);
    world.delete_request("b");
    settle(&mut world);
    assert_eq!(world.claim(), Value::Null);
    assert_eq!(world.import().unwrap()["metadata"]["finalizers"], Value::Null);
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
}

/// HISI-4: a free, resolved import is claimed: the exact text, both finalizers, the status.
#[test]
fn a_free_import_is_claimed() {
    let mut world = exclusive(World::exported());
    world.request("b");
    settle(&mut world);
    let import = world.import().unwrap();
    let text = &import["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY];
    assert_eq!(text, r#"{"MemberClusters":{"fleet-member-b":"b"}}"#);
    assert_eq!(import["metadata"]["finalizers"], json!([finalizers::SERVICE_IMPORT]));
    assert_eq!(world.status_of_request("b"), &import["status"]);
}

/// HISI-5: another member holds the import; a present grant is cleared, the claim stays, and the request names the
/// member that it waits for.
#[test]
fn a_request_that_does_not_hold_is_cleared() {
    let mut world = waiting();
    let claim = world.claim();
    let status = world.import().unwrap()["status"].clone();
    let grant = |request: &mut Value| request["status"] = status;
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("d"), grant).unwrap();
    world.settle();
    assert_eq!(world.status_of_request("d"), &json!({}));
    assert_eq!(world.claim(), claim);
    assert_eq!(held_by(&world, "d").as_deref(), Some("b"));
}

/// HISI-6: two wait, the Service appears: the first gets it and keeps it.
#[test]
fn the_first_request_gets_the_claim() {
    let mut world = exclusive(World::new());
    world.request("d");
    world.request("b");
    settle(&mut world);
    world.export("a", 80);
    settle(&mut world);
    assert_eq!((world.granted(), world.holders()), (vec!["d".to_owned()], vec!["d".to_owned()]));
    // Also after a restart: the decision depends only on stored objects.
    assert!(world.plan().is_empty());
    assert_eq!(held_by(&world, "b").as_deref(), Some("d"));
    assert_eq!(held_by(&world, "d"), None);
}

/// HISI-7: the annotation lists two members, one of them leaves; the other keeps the claim.
#[test]
fn one_of_two_holders_leaves() {
    let mut world = exclusive(World::shared());
    world.request("c");
    world.set_claim(r#"{"MemberClusters":{"fleet-member-b":"b","fleet-member-c":"c"}}"#);
    world.delete_request("c");
    world.settle();
    assert_eq!((world.holders(), world.granted()), (vec!["b".to_owned()], vec!["b".to_owned()]));
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("c")));
}

/// HISI-8: the holder leaves; the one that waits longest takes over completely.
#[test]
fn the_next_takes_over() {
    let mut world = waiting();
    world.delete_request("b");
    settle(&mut world);
    assert_eq!((world.holders(), world.granted()), (vec!["c".to_owned()], vec!["c".to_owned()]));
    assert_eq!(world.copies(), ["fleet-member-c/a-s1"]);
    assert_eq!((held_by(&world, "c"), held_by(&world, "d").as_deref()), (None, Some("c")));
    assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")));
    world.delete_request("c");
    settle(&mut world);
    assert_eq!(world.granted(), ["d"]);
}

/// HISI-9: the import's status changes; the holder's follows, that of the others stays empty.
#[test]
fn the_holder_follows_the_import() {
    let mut world = waiting();
    world.set_ports("a", port(81));
    settle(&mut world);
    assert_eq!(world.status_of_request("b")["ports"], port(81));
    assert_eq!(world.granted(), ["b"]);
}

/// HISI-10: the status of a claimed import is emptied. The original waits until another controller resolves it; here
/// that is part of the same plan. When the exports are deleted, the request is cleared and the import deleted.
#[test]
fn a_claimed_import_with_an_empty_status_is_resolved_again() {
    let mut world = waiting();
    let empty = |import: &mut Value| import["status"] = json!({});
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), empty).unwrap();
    settle(&mut world);
    assert_eq!((world.clusters(), world.granted()), (vec!["a"], vec!["b".to_owned()]));
    world.delete_export("a");
    settle(&mut world);
    assert!(world.import().is_none() && world.granted().is_empty());
    assert_eq!(held_by(&world, "c"), None, "no member holds it any more");
}

/// HISI-12: a request that is deleted gives up its own claim, not that of another member; its finalizer is removed
/// each time.
#[test]
fn a_request_that_leaves_drops_its_own_claim() {
    for (claim, left) in [
        (r#"{"MemberClusters":{"fleet-member-b":"b"}}"#, vec![]),
        (r#"{"MemberClusters":{"fleet-member-c":"c"}}"#, vec!["c"]),
        (r#"{"MemberClusters":{"fleet-member-b":"b","fleet-member-c":"c"}}"#, vec!["c"]),
    ] {
        let mut world = exclusive(World::shared());
        if !left.is_empty() {
            world.request("c");
        }
        world.set_claim(claim);
        world.delete_request("b");
        world.settle();
        assert_eq!(world.holders(), left, "{claim}");
        assert!(!world.exists(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b")), "{claim}");
    }
}

/// The claim was removed or corrupted: the member that was granted the import keeps it.
#[test]
fn a_lost_claim_stays_with_the_granted_member() {
    for text in ["", "{", "{}", r#"{"MemberClusters":[]}"#] {
        let mut world = exclusive(World::exported());
        world.request("d");
        world.settle();
        let older = |request: &mut Value| {
            request["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
        };
        world.request("b");
        world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"), older).unwrap();
        world.set_claim(text);
        settle(&mut world);
        assert_eq!(
            (world.holders(), world.granted()),
            (vec!["d".to_owned()], vec!["d".to_owned()])
        );
    }
}

/// While a grant cannot be cleared, the claim does not change.
#[test]
fn the_claim_waits_for_the_grants() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    let mut world = exclusive(world);
    let plan = world.plan();
    let touch = |request: &mut Value| request["metadata"]["labels"] = json!({ "a": "b" });
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("c"), touch).unwrap();
    assert!(!execute(&plan, &mut [&mut world.hub]).is_empty());
    assert_eq!((world.holders().len(), world.granted().len()), (2, 2));
    world.settle();
    assert_eq!((world.holders(), world.granted()), (vec!["b".to_owned()], vec!["b".to_owned()]));
}

/// Enabled with several holders: the oldest keeps the claim. The others lose their grants and copies first, and the
/// claim changes in one write.
#[test]
fn exclusive_imports_withdraw_all_but_the_oldest_request() {
    let mut world = World::exported();
    for member in ["d", "c", "b"] {
        world.request(member);
    }
    world.settle();
    assert_eq!(world.granted(), ["b", "c", "d"]);
    let mut world = exclusive(world);
    world.settle_watched(|world| {
        let holders = world.holders();
        assert!(holders.len() == 3 || holders == ["d"], "{holders:?}");
        assert!(holders.len() == 3 || world.granted() == ["d"], "a grant outlived the claim");
        assert!(world.copies().contains(&"fleet-member-d/a-s1".to_owned()));
    });
    assert_eq!(world.copies(), ["fleet-member-d/a-s1"]);
    assert_eq!(held_by(&world, "b").as_deref(), Some("d"));

    world.controller.settings.exclusive_imports = false;
    world.release_copies();
    world.settle();
    assert_eq!(world.granted(), ["b", "c", "d"]);
    assert_eq!((held_by(&world, "b"), held_by(&world, "c")), (None, None));
}
