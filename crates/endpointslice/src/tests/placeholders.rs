//! Services without endpoints.

use serde_json::json;

use super::fixture::{World, pods, service, with};
use crate::Config;

/// EPS-1, EPS-85: a Service without pods has one empty slice.
#[test]
fn no_pods_make_a_placeholder() {
    let mut world = World::new(service(), Vec::new());
    assert_eq!(world.counts(), (1, 0, 0));
    let slice = world.only();
    assert!(slice.metadata.generate_name.as_deref().unwrap().starts_with("foo"));
    assert!(slice.endpoints.is_empty() && slice.ports.is_none());
}

/// EPS-10, EPS-11: a placeholder stays; with wrong labels it is written over.
#[test]
fn a_placeholder_is_unchanged_while_its_labels_match() {
    let mut world = World::new(service(), Vec::new());
    world.counts();
    assert_eq!(world.counts(), (0, 0, 0));
    world.service = with(&world.service, "/metadata/labels", json!({"foo": "bar"}));
    assert_eq!(world.counts(), (0, 1, 0));
    assert_eq!(world.counts(), (0, 0, 0));
}

/// The original keeps the placeholder of an earlier Service, which garbage collection then removes for good.
#[test]
fn a_placeholder_of_an_earlier_service_is_replaced() {
    let mut world = World::new(service(), Vec::new());
    world.counts();
    world.slices[0].metadata.owner_references.as_mut().unwrap()[0].uid = "earlier".to_owned();
    assert_eq!(world.counts(), (1, 0, 1));
    assert_eq!(world.counts(), (0, 0, 0));
}

/// EPS-89: scaling to zero empties one slice and deletes the others; scaling up again uses it.
#[test]
fn the_last_pods_leave_a_placeholder() {
    let all = pods(4);
    let mut world = World::new(service(), all.clone()).given(&[&all[..2], &all[2..]]);
    world.pods.clear();
    assert_eq!(world.counts(), (0, 1, 1));
    assert_eq!(world.sizes(), [0]);
    world.pods = all;
    assert_eq!(world.counts(), (0, 1, 0));
    assert_eq!(world.sizes(), [4]);
}

/// Where no placeholder is wanted, the last slices are deleted.
#[test]
fn without_placeholders_nothing_is_left() {
    let all = pods(4);
    let mut world = World::new(service(), all.clone());
    world.config = Config::external_workloads();
    assert_eq!(world.counts(), (1, 0, 0));
    let name = world.only().metadata.generate_name.clone();
    assert_eq!(name.as_deref(), Some("linkerd-external-foo-"));
    world.pods.clear();
    assert_eq!(world.counts(), (0, 0, 1));
    assert_eq!(world.counts(), (0, 0, 0));
}
