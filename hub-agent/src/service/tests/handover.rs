//! The winner of a conflict unexports: importers keep its endpoints until they have the successor's.

use std::time::Duration;

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, in_member, port};
use crate::service::slices::handover::{PUBLISHING_TIMEOUT, UNEXPORT_TIMEOUT};

const OF_WINNER: &str = "fleet-member-b/a-s1";
const OF_NEXT: &str = "fleet-member-b/c-s2";

/// "a" is imported by "b", and "c" waits with other ports. Its slices are not on the hub
/// (docs/design/rules.md#conflicts).
fn conflict() -> World {
    let mut world = World::shared();
    world.export("c", 81);
    world.settle();
    assert_eq!(world.conflict("c"), "True");
    // The conflict is older than any timeout.
    world.hub.advance(3600);
    world
}

fn let_pass(world: &mut World, time: Duration) {
    world.hub.advance(time.as_secs().try_into().unwrap());
}

fn delete_slice(world: &mut World) {
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"));
}

fn slice_of_winner_is_held(world: &World) -> bool {
    world.exists(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"))
}

/// Importers have copies at every moment; returns the last ones.
fn settle_without_a_gap(world: &mut World) -> Vec<String> {
    world.settle_watched(|world| assert!(!world.copies().is_empty()));
    world.copies()
}

#[test]
fn copies_stay_until_the_next_one_has_published() {
    // A member deletes its export and its slices in parallel; either may be observed first.
    for slice_first in [true, false] {
        let mut world = conflict();
        for slice in [slice_first, !slice_first] {
            if slice {
                delete_slice(&mut world);
            } else {
                world.delete_export("a");
            }
            assert_eq!(settle_without_a_gap(&mut world), [OF_WINNER]);
        }
        assert_eq!(world.clusters(), ["c"]);
        assert!(slice_of_winner_is_held(&world), "it goes after its copies");
        assert!(world.plan().wake_after.is_some_and(|wake| wake <= PUBLISHING_TIMEOUT));

        world.slice("c", "s2", "10.3.0.1");
        assert_eq!(settle_without_a_gap(&mut world), [OF_NEXT]);
        world.release_copies();
        world.settle();
        assert!(!slice_of_winner_is_held(&world));
        assert_eq!(world.plan().wake_after, None);
    }
}

/// A member that is removed without its agent has no slices that could be held.
#[test]
fn copies_stay_if_their_slices_are_deleted_already() {
    let mut world = conflict();
    let release = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"), release).unwrap();
    delete_slice(&mut world);
    world.delete_export("a");
    assert_eq!(settle_without_a_gap(&mut world), [OF_WINNER]);
    world.slice("c", "s2", "10.3.0.1");
    assert_eq!(settle_without_a_gap(&mut world), [OF_NEXT]);
}

#[test]
fn importers_wait_only_seconds_for_a_successor_without_slices() {
    let mut world = conflict();
    world.delete_export("a");
    delete_slice(&mut world);
    assert_eq!(settle_without_a_gap(&mut world), [OF_WINNER]);
    let_pass(&mut world, PUBLISHING_TIMEOUT);
    world.settle();
    assert!(world.copies().is_empty());
    assert!(!slice_of_winner_is_held(&world));
}

/// A member in conflict with others can delete a slice and keep its export.
#[test]
fn a_winner_that_stays_withdraws_its_slice_soon() {
    let mut world = conflict();
    delete_slice(&mut world);
    assert_eq!(settle_without_a_gap(&mut world), [OF_WINNER]);
    assert!(world.plan().wake_after.is_some_and(|wake| wake <= UNEXPORT_TIMEOUT));
    let_pass(&mut world, UNEXPORT_TIMEOUT);
    world.settle();
    assert!(world.copies().is_empty());
    assert_eq!(world.clusters(), ["a"]);
}

/// A single winner changes its ports, and an older export in conflict wins.
#[test]
fn a_winner_that_loses_serves_until_the_successor_publishes() {
    let mut world = World::new();
    world.export("c", 81);
    world.export("a", 80);
    world.set_ports("c", port(80));
    world.settle();
    world.set_ports("c", port(81));
    world.slice("a", "s1", "10.1.0.1");
    world.request("b");
    world.settle();
    world.hub.advance(3600);
    assert_eq!((world.clusters(), world.copies()), (vec!["a"], vec![OF_WINNER.to_owned()]));
    world.set_ports("a", port(82));
    assert_eq!(settle_without_a_gap(&mut world), [OF_WINNER]);
    assert_eq!(world.clusters(), ["c"]);
    delete_slice(&mut world);
    world.slice("c", "s2", "10.3.0.1");
    assert_eq!(settle_without_a_gap(&mut world), [OF_NEXT]);
}

/// Copies wait for a successor only in the namespaces of importers, and only if there is a successor.
#[test]
fn copies_without_importer_or_successor_are_deleted_at_once() {
    let mut world = conflict();
    world.delete_export("a");
    world.settle();
    world.delete_request("b");
    world.settle();
    assert!(world.copies().is_empty());

    let mut world = conflict();
    world.delete_export("c");
    world.settle();
    world.hub.advance(1);
    delete_slice(&mut world);
    let plan = world.plan();
    assert!(plan.steps[0].urgent && plan.steps[0].after.is_empty());
    world.settle();
    assert!(world.copies().is_empty());
}

/// Two members that work together can have thousands of slices each: none of them waits for each of the others.
#[test]
fn a_handover_of_many_slices_costs_no_product() {
    const COUNT: usize = 60;
    let mut world = conflict();
    for at in 0..COUNT {
        world.slice("a", &format!("more-{at}"), &format!("10.1.1.{at}"));
    }
    world.settle();
    world.hub.advance(3600);
    assert_eq!(world.copies().len(), COUNT + 1);
    world.delete_export("a");
    for at in 0..COUNT {
        world.slice("c", &format!("next-{at}"), &format!("10.3.1.{at}"));
    }
    let mut most = 0;
    world.settle_watched(|world| {
        let steps = world.plan().steps;
        most = most.max(steps.iter().map(|step| step.after.len()).sum());
        assert!(world.copies().len() >= COUNT, "there is no gap");
    });
    assert!((1..=2 * COUNT).contains(&most), "{most}");
    let copies = world.copies();
    assert!(copies.iter().all(|copy| copy.contains("c-next")), "{copies:?}");
}
