//! What is told while the agent cannot read what it needs.

use fleet_api::{events, kinds};
use fleet_plan::Controller as _;
use fleet_plan::EventType;

use super::world::{World, of_shop};

#[test]
fn every_export_says_that_it_has_to_wait() {
    let mut world = World::new();
    let reason = "endpointsliceimports of the hub cluster: forbidden";
    assert!(world.controller.blocked(&world.snapshot(), reason).is_empty());
    world.export("a", 80);
    world.export("b", 80);
    let told = world.controller.blocked(&world.snapshot(), reason);
    let names: Vec<_> = told.iter().map(|event| event.name.clone()).collect();
    assert_eq!(names, [of_shop("a"), of_shop("b")]);
    for event in told {
        assert_eq!(event.kind, kinds::INTERNAL_SERVICE_EXPORT);
        assert_eq!((event.event_type, event.reason), (EventType::Warning, events::BLOCKED));
        assert!(event.note.ends_with(reason), "{}", event.note);
    }
}
