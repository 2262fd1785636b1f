//! Services that are exported by the API of multicluster.x-k8s.io.

mod explain;
mod exporter;
mod hub;
mod importer;
mod pending;
mod stages;
mod status;

use super::world::World;
use crate::story::{Cause, Story};

/// The explanation of a fleet after one change.
fn explained(mut world: World, act: impl FnOnce(&mut World)) -> Story {
    act(&mut world);
    world.explain()
}

/// The story stops first for `cause`, and its verdict has all of `words`.
#[track_caller]
fn stops(story: &Story, cause: Cause, words: &[&str]) {
    assert_eq!(story.cause(), Some(cause), "{story:#?}");
    for word in words {
        assert!(story.verdict.contains(word), "{word:?} is not in: {}", story.verdict);
    }
    assert!(story.advice.is_some(), "{story:#?}");
}

/// A step of the story is about `object` in `cluster` and has all of `words`.
#[track_caller]
fn has_hop(story: &Story, cluster: &str, object: &str, words: &[&str]) {
    let found = story.hops.iter().any(|hop| {
        hop.cluster == cluster
            && hop.object.contains(object)
            && words.iter().all(|word| hop.says.contains(word))
    });
    assert!(found, "{cluster} {object} {words:?}: {story:#?}");
}
