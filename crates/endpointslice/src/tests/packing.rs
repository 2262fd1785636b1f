//! How many slices there are, and how full.

use serde_json::json;

use super::fixture::{World, pods, service, with};

/// 14: full slices first, then the rest.
#[test]
fn new_endpoints_fill_slices() {
    let mut world = World::new(service(), pods(250));
    assert_eq!(world.counts(), (3, 0, 0));
    assert_eq!(world.sizes(), [100, 100, 50]);
    assert_eq!(world.counts(), (0, 0, 0));
}

/// 15: the remainder goes into the one slice that it fills best.
#[test]
fn a_remainder_goes_into_one_existing_slice() {
    let all = pods(250);
    let mut world = World::new(service(), all.clone()).given(&[&all[..62], &all[62..123]]);
    assert_eq!(world.counts(), (1, 1, 0));
    assert_eq!(world.sizes(), [100, 89, 61]);
}

/// 16: a remainder that fits nowhere makes a slice.
#[test]
fn a_remainder_that_fits_nowhere_makes_a_slice() {
    let all = pods(300);
    let mut world = World::new(service(), all.clone()).given(&[&all[..74], &all[74..148]]);
    assert_eq!(world.counts(), (2, 0, 0));
    assert_eq!(world.sizes(), [100, 74, 74, 52]);
}

/// 17: other ports, other slices; the old ones are recycled.
#[test]
fn another_target_port_recycles_all_slices() {
    let all = pods(250);
    let mut world =
        World::new(service(), all.clone()).given(&[&all[..100], &all[100..200], &all[200..]]);
    world.service = with(&world.service, "/spec/ports/0/targetPort", json!(81));
    assert_eq!(world.counts(), (0, 3, 0));
    assert_eq!(world.sizes(), [100, 100, 50]);
}
