//! What the drain of a member costs an importer of many of its Services.

use std::time::Duration;

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use fleet_model_server::execute;
use fleet_plan::{Controller as _, affected_keys};
use fleet_runtime::clock::BootClock;
use serde_json::{Value, json};

use super::{World, copy_of, granted, on_hub};
use crate::import::ImportController;
use crate::settings::Traffic;
use crate::snapshot::MemberSnapshot;
use crate::traffic_memory::TrafficMemory;

/// Slices of the member that is drained.
const SLICES: usize = 260;
/// Slices that are written at once; the one that exceeds them goes, too.
const BURST: usize = 101;
/// How many a second after that, by default.
const PER_SECOND: usize = 20;

struct Importer {
    world: World,
    clock: BootClock,
    memory: TrafficMemory,
}

impl Importer {
    /// Member "b" imports Services of which "a" and "c" have one slice each.
    fn new() -> Self {
        let mut world = World::new();
        world.settings.traffic = Traffic { enabled: true, ..Traffic::default() };
        let clock = BootClock::by_hand();
        let memory = TrafficMemory::new(clock.clone());
        let mut importer = Self { world, clock, memory };
        let service = |at: usize| ObjectName::new("team", format!("shop-{at}"));
        for at in 0..SLICES {
            importer.world.create_mcs(&service(at), &format!("shop-{at}"));
        }
        importer.settle();
        for at in 0..SLICES {
            let mut status = granted();
            status["clusters"] = json!([{ "cluster": "a" }, { "cluster": "c" }]);
            let request = on_hub(&format!("team-shop-{at}"));
            let hub = &mut importer.world.hub;
            hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, |it| it["status"] = status).unwrap();
            for (cluster, net) in [("a", 1), ("c", 2)] {
                let addresses = [format!("10.{net}.{}.{}", at / 250, at % 250 + 1)];
                let addresses = addresses.each_ref().map(String::as_str);
                let finalizers = [finalizers::ENDPOINT_SLICE_IMPORT];
                let mut copy = copy_of(&service(at), &addresses, &finalizers);
                copy["spec"]["endpointSliceReference"]["clusterId"] = json!(cluster);
                copy["metadata"]["annotations"] =
                    json!({ annotations::SLICE_EXPORT_UID: format!("{cluster}-{at}") });
                let name = on_hub(&format!("{cluster}-team-shop-{at}"));
                hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, copy).unwrap();
            }
        }
        importer.settle();
        importer.writes();
        importer
    }

    /// Plans everything once, and writes it. Returns the number of steps.
    fn round(&mut self) -> usize {
        let settings = self.world.settings.clone();
        let controller = ImportController { settings, memory: self.memory.clone() };
        let snapshot = self.world.snapshot();
        let now = self.world.own.now();
        let mut steps = 0;
        for key in affected_keys(&controller, &MemberSnapshot::default(), &snapshot) {
            let plan = controller.plan(&key, &snapshot, now);
            for measured in &plan.measurements {
                self.memory.take(&measured.what);
            }
            steps += plan.steps.len();
            execute(&plan, &mut [&mut self.world.own, &mut self.world.hub]);
        }
        steps
    }

    fn settle(&mut self) {
        assert!((0..12).any(|_| self.round() == 0), "no rest");
    }

    /// Writes to slices since the last time.
    fn writes(&mut self) -> usize {
        self.world.hub.take_writes();
        let writes = self.world.own.take_writes();
        writes.iter().filter(|write| write.kind == kinds::ENDPOINT_SLICE.kind).count()
    }

    fn drain(&mut self, serial: i64, percent: i64) {
        let (name, hub) = (ObjectName::cluster("a"), &mut self.world.hub);
        if hub.get(kinds::MEMBER_TRAFFIC, &name).is_none() {
            hub.create(kinds::MEMBER_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
        }
        let drain = json!({ "service": "*", "percent": percent, "reason": "Draining" });
        let status = json!({ "serial": serial, "drains": [drain] });
        hub.edit(kinds::MEMBER_TRAFFIC, &name, |it: &mut Value| it["status"] = status).unwrap();
    }
}

/// A hundred at once, then twenty a second, each slice once, and no other exporter's.
#[test]
fn each_slice_of_a_drained_member_is_written_once_and_not_all_at_once() {
    let mut importer = Importer::new();
    importer.drain(1, 100);
    let mut written = Vec::new();
    while written.iter().sum::<usize>() < SLICES {
        importer.round();
        written.push(importer.writes());
        assert!(written.len() < 60, "{written:?}");
        importer.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(written[0], BURST);
    assert!(written[1..].iter().all(|count| *count <= PER_SECOND + 1), "{written:?}");
    assert!(written.len() > (SLICES - BURST) / PER_SECOND, "{written:?}");
    importer.settle();
    assert_eq!(importer.writes(), 0, "each slice once");
    // Nothing is written for what only the hub's records show.
    importer.drain(2, 100);
    importer.settle();
    assert_eq!(importer.writes(), 0);
}
