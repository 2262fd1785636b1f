//! Slices of accepted exporters are copied to the members that hold the claim.
//!
//! The original reads the claim; here claim, requests and slices are one plan, so that a claim that differs from the
//! requests is corrected in the same plan.

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, in_member, shop};

fn slice() -> ObjectName {
    in_member("a", "a-s1")
}

/// HESE-1: a slice with copies in two namespaces is deleted; the copies are deleted first, then the slice.
#[test]
fn a_deleted_slice_takes_its_copies_along() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &slice());
    world.settle_watched(|world| {
        let gone = !world.exists(kinds::ENDPOINT_SLICE_EXPORT, &slice());
        assert!(!gone || world.copies().is_empty());
    });
    assert!(!world.exists(kinds::ENDPOINT_SLICE_EXPORT, &slice()));
    world.release_copies();
    assert!(world.hub.names(kinds::ENDPOINT_SLICE_IMPORT).is_empty());
}

/// HESE-2: a slice without copies is deleted; it loses its finalizer and nothing else happens.
#[test]
fn a_deleted_slice_without_copies_is_released() {
    let mut world = World::exported();
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &slice());
    world.hub.take_writes();
    world.settle();
    assert!(!world.exists(kinds::ENDPOINT_SLICE_EXPORT, &slice()));
    assert_eq!(world.hub.take_writes().len(), 1);
}

/// HESE-3: the Service has no ServiceImport; no copy is created.
#[test]
fn a_slice_of_a_service_without_exports_is_not_distributed() {
    let mut world = World::new();
    world.slice("a", "s1", "10.1.0.1");
    world.request("b");
    world.settle();
    assert_eq!(world.copies(), Vec::<String>::new());
}

/// HESE-4: no member imports the Service; no copy is created.
#[test]
fn a_slice_without_importers_is_not_distributed() {
    let world = World::exported();
    assert_eq!(world.claim(), Value::Null);
    assert_eq!(world.copies(), Vec::<String>::new());
}

/// HESE-5: the import's status is empty; no copy is created before it is resolved.
#[test]
fn a_slice_waits_for_the_service_to_be_resolved() {
    let mut world = World::new();
    world.export("a", 80);
    world.slice("a", "s1", "10.1.0.1");
    world.request("b");
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.settle_watched(|world| {
        assert!(world.copies().is_empty() || world.clusters() == ["a"]);
    });
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

/// HESE-6: the claim is unreadable; before it is corrected, no copy is created or deleted.
#[test]
fn an_unreadable_claim_creates_and_withdraws_nothing() {
    let mut world = World::shared();
    world.slice("a", "s2", "10.1.0.2");
    world.set_claim("{");
    world.settle_watched(|world| {
        assert!(world.copies().contains(&"fleet-member-b/a-s1".to_owned()));
        let text = &world.import().unwrap()["metadata"]["annotations"];
        assert!(text[annotations::SERVICE_IN_USE_BY] != "{" || world.copies().len() == 1);
    });
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-b/a-s2"]);
}

/// HESE-7: the last importer leaves, and claim and copies are removed. (For an annotation that a user removes while
/// there is a request, see the cases of the claim.)
#[test]
fn copies_are_deleted_with_the_claim() {
    let mut world = World::shared();
    world.delete_request("b");
    world.settle();
    assert_eq!(world.claim(), Value::Null);
    assert_eq!(world.copies(), Vec::<String>::new());
}

/// HESE-8: two members hold the claim; both get copies of the same name and spec, after the
/// finalizer of the slice is added.
#[test]
fn each_holder_of_the_claim_gets_copies() {
    let mut world = World::shared();
    world.request("c");
    world.slice("a", "s2", "10.1.0.2");
    let bare = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
    let name = in_member("a", "a-s2");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, bare).unwrap();
    world.settle_watched(|world| {
        let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
        let guarded = slice["metadata"]["finalizers"][0] == finalizers::ENDPOINT_SLICE_EXPORT;
        assert!(guarded || !world.copies().contains(&"fleet-member-b/a-s2".to_owned()));
    });
    let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    for member in ["b", "c"] {
        let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &in_member(member, "a-s2")).unwrap();
        assert_eq!(copy["spec"], slice["spec"]);
        assert_eq!(copy["metadata"]["finalizers"], json!([finalizers::ENDPOINT_SLICE_IMPORT]));
    }
}

/// HESE-9: endpoints or ports of a slice change; every copy follows.
#[test]
fn copies_follow_their_slice() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    for change in [
        json!({ "endpoints": [{ "addresses": ["10.1.0.7"] }, { "addresses": ["10.1.0.8"] }] }),
        json!({ "ports": [{ "name": "web", "protocol": "TCP", "port": 8081 }] }),
    ] {
        let edit = |slice: &mut Value| {
            for (field, value) in change.as_object().unwrap() {
                slice["spec"][field] = value.clone();
            }
        };
        world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice(), edit).unwrap();
        world.settle();
        let spec = &world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &slice()).unwrap()["spec"];
        for member in ["b", "c"] {
            let name = in_member(member, "a-s1");
            assert_eq!(&world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap()["spec"], spec);
        }
    }
}

/// HESE-10: importers {b, c} become {c, d}: one copy is deleted, one stays, one is created.
#[test]
fn copies_follow_the_importers() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    world.delete_request("b");
    world.request("d");
    world.hub.take_writes();
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-c/a-s1", "fleet-member-d/a-s1"]);
    let writes = world.hub.take_writes();
    let of_c = writes.iter().filter(|write| &*write.name.namespace == "fleet-member-c");
    assert_eq!(of_c.count(), 0, "the one that stays is not written");
}

/// HESE-11: importers only leave; copies are only deleted.
#[test]
fn leaving_importers_cause_deletions_only() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    world.delete_request("c");
    assert_eq!(verbs(&world), ["delete"]);
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

/// HESE-12: importers only join; copies are only created.
#[test]
fn new_importers_cause_creations_only() {
    let mut world = World::shared();
    world.request("c");
    world.request("d");
    assert_eq!(verbs(&world), ["create", "create"]);
    world.settle();
    assert_eq!(world.copies().len(), 3);
}

/// HESE-13: any mix of copies and importers: which copies are deleted, updated and created.
#[test]
fn any_mix_of_copies_and_importers_converges() {
    let members = ["b", "c", "d"];
    for mix in 0..4_u32.pow(3) {
        // For each member: whether it had a copy, and whether it should have one.
        let of = |at: usize| {
            let digit = mix / 4_u32.pow(u32::try_from(at).unwrap()) % 4;
            (digit & 1 != 0, digit & 2 != 0)
        };
        let mut world = World::exported();
        for (at, member) in members.iter().enumerate() {
            if of(at).0 {
                world.request(member);
            }
        }
        world.settle();
        for (at, member) in members.iter().enumerate() {
            match of(at) {
                (true, false) => world.delete_request(member),
                (false, true) => world.request(member),
                _ => {}
            }
        }
        let edit = |slice: &mut Value| slice["spec"]["endpoints"] = json!([]);
        world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice(), edit).unwrap();
        let mut wanted: Vec<_> = (0..members.len())
            .filter_map(|at| match of(at) {
                (true, true) => Some("update"),
                (true, false) => Some("delete"),
                (false, true) => Some("create"),
                (false, false) => None,
            })
            .collect();
        wanted.sort_unstable();
        assert_eq!(verbs(&world), wanted, "mix {mix}");
    }
}

/// What the plan does to copies.
fn verbs(world: &World) -> Vec<&'static str> {
    let plan = world.plan();
    let steps = plan.steps.iter().filter(|step| step.kind == kinds::ENDPOINT_SLICE_IMPORT);
    let mut verbs: Vec<_> = steps.map(|step| step.action.verb()).collect();
    verbs.sort_unstable();
    verbs
}

#[test]
fn removals_of_endpoints_are_urgent() {
    let mut world = World::shared();
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &slice());
    let plan = world.plan();
    assert!(plan.steps[0].urgent, "{plan:#?}");
    assert_eq!(plan.steps[0].action.verb(), "delete");
    assert_eq!(plan.steps[1].after.len(), 1, "the finalizer goes after the copy");
}
