//! Exporters that do not come back to a hub that was built anew.

use std::time::Duration;

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::given::directing;
use crate::missing_exporters;
use crate::multicluster::import::tests::world::World;

const ANOTHER: &str = "other-uid/0";

impl World {
    /// So many minutes pass, with a look at the hub from time to time.
    fn minutes(&mut self, minutes: u64) {
        for seconds in (0..minutes).flat_map(|_| [28, 1, 30, 1]) {
            self.clock.advance(Duration::from_secs(seconds));
            let snapshot = self.snapshot();
            self.memory.wait_for_exporters(self.settings.traffic.missing_after, |followed| {
                missing_exporters::look(&self.settings, &snapshot, followed)
            });
            self.settle();
        }
    }

    /// The hub was built anew, its agent waits for no member any more, and all but "b" have come back.
    fn rebuilt_without_b() -> Self {
        let mut world = directing();
        world.memory.take_over(std::collections::BTreeMap::new());
        world.rebuild_hub();
        world.resolve(&["a", "c"]);
        world.export_slice("c", "web-1", &["10.2.0.1"]);
        world.publish("c", ANOTHER);
        world.fleet(json!({}));
        let settled = |fleet: &mut Value| fleet["status"] = json!({ "phase": "Settled" });
        world.hub.edit(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), settled).unwrap();
        world.settle();
        world.own.take_writes();
        world
    }
}

#[test]
fn its_endpoints_are_last_resort_and_go_when_it_is_forgotten() {
    let mut world = World::rebuilt_without_b();
    world.minutes(9);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    assert!(world.own.take_writes().is_empty());
    world.minutes(2);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    assert_eq!(world.own.take_writes().len(), 1);
    world.minutes(60);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"], "it never goes");
    assert!(world.own.take_writes().is_empty());
    world.instruct("b", json!({ "forgottenIn": ANOTHER }));
    world.minutes(1);
    assert_eq!(world.slots(), ["a 10.9.0.1 pool", "c 10.2.0.1 pool"]);
}

/// What they were at their exporter is noted: nothing but the slices has it.
#[test]
fn its_endpoints_serve_when_all_others_are_gone() {
    let mut world = World::rebuilt_without_b();
    world.minutes(12);
    world.own_pods(&[], &["10.9.0.1"]);
    world.move_endpoints("c", "web-1", &[]);
    world.minutes(1);
    assert_eq!(world.slots(), ["b 10.1.0.1 pool", "b 10.1.0.2 pool"]);
}

#[test]
fn its_endpoints_are_as_before_once_it_is_back() {
    let mut world = World::rebuilt_without_b();
    world.minutes(12);
    world.resolve(&["a", "b", "c"]);
    world.export_slice("b", "web-1", &["10.1.0.1", "10.1.0.2"]);
    world.minutes(1);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    assert_eq!(world.mark(), ANOTHER);
}
