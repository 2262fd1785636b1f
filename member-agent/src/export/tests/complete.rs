//! Whether the hub has all that is exported.

use fleet_api::ObjectName;

use super::world::{World, backing};
use crate::export::is_complete;

fn is_there(world: &World) -> bool {
    is_complete(&world.settings, &world.snapshot(), world.own.now())
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
