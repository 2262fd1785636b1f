//! Events about exports while the agent cannot read a required source.

use fleet_api::{events as reasons, kinds};
use fleet_plan::Controller as _;
use fleet_plan::EventType;

use super::world::{World, of_shop};

#[test]
fn every_export_is_reported_as_blocked() {
    let mut world = World::new();
    let reason = "endpointsliceimports of the hub cluster: forbidden";
    assert!(world.controller.blocked(&world.snapshot(), reason).is_empty());
    world.export("a", 80);
    world.export("b", 80);
    let events = world.controller.blocked(&world.snapshot(), reason);
    let names: Vec<_> = events.iter().map(|event| event.name.clone()).collect();
    assert_eq!(names, [of_shop("a"), of_shop("b")]);
    for event in events {
        assert_eq!(event.kind, kinds::INTERNAL_SERVICE_EXPORT);
        assert_eq!((event.event_type, event.reason), (EventType::Warning, reasons::BLOCKED));
        assert!(event.note.ends_with(reason), "{}", event.note);
    }
}
