//! Pods whose node is not known.

use serde_json::json;

use super::fixture::{Counts, World, counts, pod_on, service, with};

/// Two pods, the second on a node that does not exist; published while not ready or not, both in a slice or in none.
fn world(published: bool, both_in_slice: bool) -> World {
    let pods = vec![pod_on(1, "node-1", true), pod_on(2, "node-2", true)];
    let service = with(&service(), "/spec/publishNotReadyAddresses", json!(published));
    let mut world = World::new(service, pods.clone());
    if both_in_slice {
        let node = world.nodes[0].clone();
        world.nodes.push({
            let mut other = node;
            other.metadata.name = Some("node-2".to_owned());
            other.metadata.labels = None;
            other
        });
        world = world.given(&[&pods]);
        world.nodes.truncate(1);
    }
    world
}

fn run(world: &mut World) -> (Counts, usize, usize) {
    world.run(|outcome| {
        let removed = outcome.changes.iter().map(|changes| changes.measures.removed).sum();
        (counts(outcome), outcome.problems.len(), removed)
    })
}

/// EPS-32: the pod is left out and reported.
#[test]
fn a_pod_without_node_is_left_out() {
    let mut world = world(false, false);
    assert_eq!(run(&mut world), ((1, 0, 0), 1, 0));
    assert_eq!(world.sizes(), [1]);
}

/// EPS-33: published anyway, it is not.
#[test]
fn a_published_pod_needs_no_node() {
    let mut world = world(true, false);
    assert_eq!(run(&mut world), ((1, 0, 0), 0, 0));
    assert_eq!(world.sizes(), [2]);
}

/// EPS-34: its endpoint is removed when its node is gone.
#[test]
fn an_endpoint_is_removed_with_its_node() {
    let mut world = world(false, true);
    assert_eq!(run(&mut world), ((0, 1, 0), 1, 1));
    assert_eq!(world.sizes(), [1]);
}

/// EPS-35, EPS-36: a published one stays. A pod's zone goes with its node, so the slice is built without any here.
#[test]
fn a_published_endpoint_stays_without_its_node() {
    for nodes in [0, 1] {
        let mut world = world(true, true);
        if nodes == 0 {
            world.nodes.clear();
            for endpoint in &mut world.slices[0].endpoints {
                endpoint.zone = None;
            }
        }
        assert_eq!(run(&mut world), ((0, 0, 0), 0, 0));
        assert_eq!(world.sizes(), [2]);
    }
}

/// EPS-37: the last endpoints leave a placeholder.
#[test]
fn without_nodes_a_placeholder_is_left() {
    let mut world = world(false, true);
    world.nodes.clear();
    assert_eq!(run(&mut world), ((0, 1, 0), 2, 2));
    assert_eq!(world.sizes(), [0]);
}
