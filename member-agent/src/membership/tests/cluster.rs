//! The record of the cluster on the hub.

use fleet_accumulator::SourceState;
use fleet_api::{ObjectName, kinds};
use fleet_plan::{Controller as _, affected_keys};
use serde_json::json;

use super::World;
use crate::fence::{Fence, Unrecorded};
use crate::membership::{Member, MembershipController};
use crate::snapshot::MemberSnapshot;

fn name() -> ObjectName {
    ObjectName::new("fleet-member-a", "a")
}

/// A member whose cluster has a uid.
fn world() -> World {
    let mut world = World::new();
    let system = ObjectName::cluster("kube-system");
    world.own.create(kinds::NAMESPACE, &system, json!({})).unwrap();
    world
}

fn controller(world: &World) -> MembershipController {
    MembershipController::new(world.settings.clone())
}

fn fence(world: &World) -> Fence {
    Fence::of(&world.settings.identity, &world.snapshot())
}

/// Without an InternalMemberCluster as well.
#[test]
fn the_first_cluster_of_a_name_records_itself_once() {
    let mut world = world();
    assert_eq!(fence(&world), Fence::Free);
    let snapshot = world.snapshot();
    let keys = affected_keys(&controller(&world), &MemberSnapshot::default(), &snapshot);
    assert!(keys.contains(&Member));
    let plan = controller(&world).plan(&Member, &snapshot, world.own.now());
    assert_eq!(plan.steps.len(), 1);
    fleet_model_server::execute(&plan, &mut [&mut world.own, &mut world.hub]);
    let record = world.hub.get(kinds::CLUSTER_REPORT, &name()).unwrap();
    let system = ObjectName::cluster("kube-system");
    let uid = &world.own.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"];
    assert_eq!(record["spec"], json!({ "clusterUid": uid }));
    assert_eq!(fence(&world), Fence::Ours);
    let plan = controller(&world).plan(&Member, &world.snapshot(), world.own.now());
    assert!(plan.steps.is_empty());
}

#[test]
fn the_record_of_another_cluster_stays() {
    let mut world = world();
    let other = json!({ "spec": { "clusterUid": "other" } });
    world.hub.create(kinds::CLUSTER_REPORT, &name(), other).unwrap();
    let Fence::Taken(taken) = fence(&world) else { panic!("{:?}", fence(&world)) };
    assert_eq!(taken.recorded.to_string(), "other");
    assert!(taken.to_string().contains("fleetctl join a --replace"), "{taken}");
    let plan = controller(&world).plan(&Member, &world.snapshot(), world.own.now());
    assert!(plan.steps.is_empty());
}

/// An agent does not wait for what an older hub does not have.
#[test]
fn what_cannot_be_recorded_is_named() {
    let world = world();
    let since = std::time::Instant::now();
    let forbidden = SourceState::Forbidden { since, verb: "list", message: "no right".into() };
    for (state, expected) in [
        (SourceState::Missing { since }, Fence::Unrecorded(Unrecorded::NotServed)),
        (forbidden, Fence::Unrecorded(Unrecorded::Forbidden)),
        (SourceState::Listing, Fence::Unknown),
    ] {
        let mut snapshot = world.snapshot();
        snapshot.cluster_reports = snapshot.cluster_reports.in_state(state);
        assert_eq!(Fence::of(&world.settings.identity, &snapshot), expected);
    }
    let without = World::new();
    assert_eq!(fence(&without), Fence::Unrecorded(Unrecorded::NoUid));
}

/// Neither an outage of the hub nor the loss of a right ends what was seen.
#[test]
fn a_record_that_was_seen_counts_in_every_state() {
    let mut world = world();
    let other = json!({ "spec": { "clusterUid": "other" } });
    world.hub.create(kinds::CLUSTER_REPORT, &name(), other).unwrap();
    let since = std::time::Instant::now();
    for state in [
        SourceState::Missing { since },
        SourceState::Stale { since, message: "no answer".into() },
        SourceState::Forbidden { since, verb: "list", message: "no right".into() },
    ] {
        let mut snapshot = world.snapshot();
        snapshot.cluster_reports = snapshot.cluster_reports.in_state(state);
        let fence = Fence::of(&world.settings.identity, &snapshot);
        assert!(matches!(fence, Fence::Taken(_)), "{fence:?}");
    }
}
