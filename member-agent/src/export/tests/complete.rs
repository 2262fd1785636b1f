//! Whether the hub has all that is exported.

use fleet_api::{ObjectName, kinds, names};
use fleet_runtime::engine::Answer;
use serde_json::json;

use super::world::{World, backing, on_hub, slice};
use crate::export::is_complete;
use crate::hub_answers::HubAnswers;

pub(super) fn is_there(world: &World) -> bool {
    is_there_after(world, &HubAnswers::default())
}

fn is_there_after(world: &World, answers: &HubAnswers) -> bool {
    is_complete(&world.settings, answers, &world.snapshot(), world.own.now())
}

/// The hub agent answers which hub it is.
fn answered(mut world: World, incarnation: &str) -> World {
    let name = ObjectName::new("fleet-member-a", "a");
    if world.hub.get(kinds::CLUSTER_REPORT, &name).is_none() {
        let report = json!({ "spec": { "clusterUid": "u" } });
        world.hub.create(kinds::CLUSTER_REPORT, &name, report).unwrap();
    }
    let status = json!({ "incarnation": incarnation });
    world.hub.edit(kinds::CLUSTER_REPORT, &name, |report| report["status"] = status).unwrap();
    world
}

#[test]
fn an_export_is_there_once_the_hub_has_decided_and_has_its_slices() {
    assert!(is_there(&World::with_service()), "nothing is exported");
    assert!(!is_there(&World::pending()), "the hub has not decided");
    let mut world = World::exported();
    assert!(is_there(&world));
    world.add_slice(&ObjectName::new("team", "shop-x2"), &backing());
    assert!(!is_there(&world), "a slice is on its way");
    world.settle();
    assert!(is_there(&world));
}

#[test]
fn what_the_hub_refuses_counts_as_there() {
    let mut world = World::exported();
    for (conflict, expected) in [("True", true), ("Unknown", false), ("False", true)] {
        world.judge(conflict);
        assert_eq!(is_there(&world), expected, "{conflict}");
    }
}

/// A policy, a quota or a webhook of the hub denies it: nothing shows that but the answer.
#[test]
fn what_the_api_server_refuses_for_good_counts_as_there() {
    let mut world = answered(World::with_service(), "hub/0");
    world.export();
    let answers = HubAnswers::by_hand();
    assert!(!is_there_after(&world, &answers));
    for later in [Answer::Open, Answer::Acknowledged] {
        answers.answer(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), Answer::Refused);
        assert!(!is_there_after(&world, &answers), "its policies may not be complete");
        answers.refuse(kinds::INTERNAL_SERVICE_EXPORT, &on_hub());
        assert!(is_there_after(&world, &answers));
        answers.answer(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), later);
        assert!(!is_there_after(&world, &answers), "{later:?}");
    }
    answers.refuse(kinds::INTERNAL_SERVICE_EXPORT, &on_hub());
    let world = answered(world, "other/0");
    assert!(!is_there_after(&world, &answers), "the hub was built anew, and has not answered");
}

#[test]
fn a_slice_that_the_api_server_refuses_for_good_counts_as_there() {
    let mut world = answered(World::pending(), "hub/0");
    world.judge("False");
    let answers = HubAnswers::by_hand();
    assert!(!is_there_after(&world, &answers));
    let uid = world.own.get(kinds::ENDPOINT_SLICE, &slice()).unwrap()["metadata"]["uid"].clone();
    let mut names = names::slice_export_candidates("a", "team", "shop-x1", uid.as_str().unwrap());
    let name = ObjectName::new("fleet-member-a", names.next().unwrap());
    answers.refuse(kinds::ENDPOINT_SLICE_EXPORT, &name);
    assert!(is_there_after(&world, &answers));
}
