//! A hub that is being rebuilt: members come back to it one after the other.

use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ObjectName, annotations, kinds};
use fleet_model::objects::MemberPolicy;
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, shop};
use crate::service::Key;

/// The phase of the hub; `None` before its agent has decided about it.
fn phase(world: &mut World, phase: Option<&str>) {
    let (name, status) =
        (ObjectName::cluster(FLEET_TRAFFIC), json!({ "epoch": 0, "phase": phase }));
    if world.hub.get(kinds::FLEET_TRAFFIC, &name).is_none() {
        world.hub.create(kinds::FLEET_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
    }
    world.hub.edit(kinds::FLEET_TRAFFIC, &name, |fleet| fleet["status"] = status).unwrap();
}

/// An export whose member remembers whether it was accepted before.
fn comes_back(world: &mut World, member: &str, number: i32, accepted: bool) {
    world.export(member, number);
    let remembered = json!({ annotations::ACCEPTED_BEFORE: accepted.to_string() });
    let note = |export: &mut Value| export["metadata"]["annotations"] = remembered;
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member), note).unwrap();
}

fn rebuilding() -> World {
    let mut world = World::new();
    world.controller.settings.traffic = true;
    phase(&mut world, None);
    world
}

/// A hub that is being rebuilt, whose members share a Service, after its only export was deleted; and the copies before that.
fn only_export_deleted() -> (World, Vec<String>) {
    let mut world = World::shared();
    world.controller.settings.traffic = true;
    phase(&mut world, Some("Rebuilding"));
    let copies = world.copies();
    world.delete_export("a");
    world.settle();
    (world, copies)
}

/// First come is not first served: who had the ports has them again.
#[test]
fn the_ports_of_a_service_are_those_that_were_in_force() {
    let mut world = rebuilding();
    comes_back(&mut world, "a", 81, false);
    world.settle();
    assert_eq!((world.clusters(), world.conflict("a")), (vec![], "none"));
    comes_back(&mut world, "b", 80, true);
    world.settle();
    assert_eq!((world.clusters(), world.conflict("a")), (vec!["b"], "True"));
    phase(&mut world, Some("Settled"));
    world.settle();
    assert_eq!((world.clusters(), world.conflict("a")), (vec!["b"], "True"));
}

#[test]
fn exports_that_agree_are_in_force_at_once() {
    let mut world = rebuilding();
    phase(&mut world, Some("Rebuilding"));
    comes_back(&mut world, "a", 80, true);
    world.settle();
    assert_eq!(world.clusters(), ["a"]);
    // A member that remembers nothing, as a Go agent.
    world.export("c", 80);
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
}

/// Those that differ, of which none remembers, wait until all had the time to come back.
#[test]
fn a_conflict_is_decided_when_the_hub_is_rebuilt() {
    let mut world = rebuilding();
    phase(&mut world, Some("Rebuilding"));
    world.export("a", 81);
    world.export("b", 80);
    world.settle();
    assert_eq!((world.clusters(), world.conflict("b")), (vec![], "none"));
    let before = world.snapshot();
    phase(&mut world, Some("Settled"));
    let keys = affected_keys(&world.controller, &before, &world.snapshot());
    assert!(keys.contains(&Key::Service(shop())), "{keys:?}");
    world.settle();
    assert_eq!((world.clusters(), world.conflict("b")), (vec!["a"], "True"));
}

/// What a backup has and its members have withdrawn since goes when the hub is rebuilt.
#[test]
fn nothing_is_deleted_before_the_hub_is_rebuilt() {
    let (mut world, copies) = only_export_deleted();
    assert_eq!(world.copies(), copies);
    assert!(world.import().is_some());
    phase(&mut world, Some("Settled"));
    world.settle();
    world.release_copies();
    world.settle();
    assert!(world.import().is_none() && world.copies().is_empty());
}

/// Its member makes an export again that it has deleted, for a Service that was made anew for example. The hub is not rebuilt before
/// that has happened, so it cannot wait for the end of that.
#[test]
fn the_only_export_can_be_made_again_while_the_hub_is_being_rebuilt() {
    let (mut world, copies) = only_export_deleted();
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
    assert!(world.clusters().is_empty() && world.copies() == copies);
    world.export("a", 80);
    world.settle();
    assert_eq!((world.clusters(), world.conflict("a")), (vec!["a"], "False"));
    assert_eq!(world.copies(), copies);
}

/// A live exporter that withdraws something is not waited for: importers would have dead endpoints meanwhile.
#[test]
fn copies_of_what_an_exporter_deletes_go_while_the_hub_is_being_rebuilt() {
    let mut world = World::shared();
    world.controller.settings.traffic = true;
    world.slice("a", "s2", "10.1.0.2");
    world.settle();
    phase(&mut world, Some("Rebuilding"));
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"));
    world.settle();
    world.release_copies();
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s2"]);
    assert!(!world.exists(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")));
    // A slice that is gone without a trace may come back.
    let name = in_member("a", "a-s2");
    let forget = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, forget).unwrap();
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &name);
    world.settle();
    world.release_copies();
    assert_eq!(world.copies(), ["fleet-member-b/a-s2"]);
}

/// What an administrator forbids ends at once: a policy that is missing forbids nothing.
#[test]
fn copies_that_a_policy_forbids_go_while_the_hub_is_being_rebuilt() {
    for (member, exports, imports) in [("a", "team/other", "*"), ("b", "*", "team/other")] {
        let mut world = World::shared();
        world.controller.settings.traffic = true;
        phase(&mut world, Some("Rebuilding"));
        let data = json!({ "cidrs": "10.0.0.0/8", "exports": exports, "imports": imports });
        let policy = in_member(member, MemberPolicy::NAME);
        world.hub.create(kinds::CONFIG_MAP, &policy, json!({ "data": data })).unwrap();
        world.settle();
        world.release_copies();
        assert!(world.copies().is_empty(), "{member}");
        assert!(world.import().is_some(), "{member}");
    }
}

/// Where the hub agent does not decide about traffic, it does not decide when that is over either.
#[test]
fn a_hub_without_the_kind_is_never_rebuilt() {
    let mut world = World::new();
    world.export("a", 80);
    world.export("b", 81);
    world.settle();
    assert_eq!((world.clusters(), world.conflict("b")), (vec!["a"], "True"));
}
