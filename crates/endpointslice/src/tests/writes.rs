//! What is sent for a Service that is being deleted, and how slices are recycled.

use serde_json::json;

use super::fixture::{Counts, World, pods, service, with};

/// Four pods of which two have a slice each, with a limit of 1; of the two others, `new` are there.
fn world(deleted: bool, kept: usize, new: usize) -> World {
    let all = pods(4);
    let mut world = World::new(service(), Vec::new()).given(&[&all[..1], &all[1..2]]);
    world.config.limit = 1;
    world.pods = all[2 - kept..2 + new].to_vec();
    if deleted {
        world.service =
            with(&world.service, "/metadata/deletionTimestamp", json!("2024-05-06T07:08:09Z"));
    }
    world
}

/// EPS-39, EPS-40: a Service being deleted gets no new slice.
#[test]
fn creates_are_skipped_for_a_service_being_deleted() {
    for (deleted, expected, sizes) in [(false, (1, 0, 0), 3), (true, (0, 0, 0), 2)] {
        let mut world = world(deleted, 2, 1);
        assert_eq!(world.counts(), expected);
        assert_eq!(world.slices.len(), sizes);
    }
}

/// EPS-41, EPS-42: a create takes the place of a delete, also then.
#[test]
fn a_create_replaces_a_delete() {
    for deleted in [false, true] {
        let mut world = world(deleted, 1, 1);
        let names: Vec<_> = world.slices.iter().map(|slice| slice.metadata.name.clone()).collect();
        world.slices[0].metadata.annotations = Some([("mine".to_owned(), String::new())].into());
        assert_eq!(world.counts(), (0, 1, 0));
        let after: Vec<_> = world.slices.iter().map(|slice| slice.metadata.name.clone()).collect();
        assert_eq!(names, after);
        assert_eq!(world.slices[0].metadata.annotations, None, "a new slice under an old name");
    }
}

/// EPS-43: slices are still deleted.
#[test]
fn slices_of_a_service_being_deleted_are_deleted() {
    let mut world = world(true, 1, 0);
    let expected: Counts = (0, 0, 1);
    assert_eq!(world.counts(), expected);
}

/// Creates withheld are still counted as changed.
#[test]
fn skipped_creates_are_measured() {
    let mut world = world(true, 2, 2);
    let (measures, counts) = world.measured();
    assert_eq!((measures[0].changed, counts), (2, (0, 0, 0)));
}

/// A foreign slice is deleted, never recycled.
#[test]
fn a_foreign_slice_is_not_recycled() {
    let mut world = world(false, 1, 1);
    world.slices[0].metadata.owner_references = None;
    assert_eq!(world.counts(), (1, 0, 1));
}
