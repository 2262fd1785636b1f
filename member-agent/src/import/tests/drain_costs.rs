//! What the drain of a member costs an importer of many of its Services. Importers have nothing in common but what they read, so that
//! one of a hundred is enough.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use fleet_model_server::execute;
use fleet_plan::{Controller as _, affected_keys};
use fleet_runtime::clock::BootClock;
use serde_json::{Value, json};

use super::{World, copy_of, granted, on_hub};
use crate::import::{ImportController, Key};
use crate::settings::Traffic;
use crate::snapshot::MemberSnapshot;
use crate::traffic_memory::TrafficMemory;

/// Slices of the member that is drained.
const SLICES: usize = 240;
/// Slices that are written at once; the one that exceeds them goes, too.
const BURST: usize = 101;
/// How many a second after that, by default.
const PER_SECOND: usize = 20;

fn address(net: usize, at: usize) -> String {
    format!("10.{net}.{}.{}", at / 250, at % 250 + 1)
}

fn service(at: usize) -> ObjectName {
    ObjectName::new("team", format!("shop-{at}"))
}

struct Importer {
    world: World,
    clock: BootClock,
    memory: TrafficMemory,
    /// When keys are planned again although nothing has changed for them, in seconds of the drain.
    due: BTreeMap<Key, Duration>,
    seconds: u64,
}

impl Importer {
    /// Member "b" imports Services of which "a" and "c" have one slice each.
    fn new() -> Self {
        let mut world = World::new();
        world.settings.traffic = Traffic { enabled: true, ..Traffic::default() };
        let clock = BootClock::by_hand();
        let memory = TrafficMemory::new(clock.clone());
        let mut importer = Self { world, clock, memory, due: BTreeMap::new(), seconds: 0 };
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
                let addresses = [address(net, at)];
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
        self.plan(|controller, snapshot, _| {
            affected_keys(controller, &MemberSnapshot::default(), snapshot).into_iter().collect()
        })
    }

    /// A second passes, in which an endpoint of one Service changes; what is due is planned.
    fn second(&mut self, changed: ObjectName) -> usize {
        self.clock.advance(Duration::from_secs(1));
        self.seconds += 1;
        self.plan(|_, _, due| due.chain([Key::Service(changed)]).collect())
    }

    fn plan(
        &mut self,
        keys: impl FnOnce(&ImportController, &MemberSnapshot, &mut dyn Iterator<Item = Key>) -> Vec<Key>,
    ) -> usize {
        let settings = self.world.settings.clone();
        let controller = ImportController { settings, memory: self.memory.clone() };
        let snapshot = self.world.snapshot();
        let now = self.world.own.now();
        let passed = Duration::from_secs(self.seconds);
        let due = self.due.iter().filter(|(_, at)| **at <= passed);
        let due: Vec<_> = due.map(|(key, _)| key.clone()).collect();
        let mut steps = 0;
        for key in keys(&controller, &snapshot, &mut due.into_iter()) {
            let plan = controller.plan(&key, &snapshot, now);
            for measured in &plan.measurements {
                self.memory.take(&measured.what);
            }
            steps += plan.steps.len();
            self.due.remove(&key);
            self.due.extend(plan.wake_after.map(|after| (key, passed + after)));
            execute(&plan, &mut [&mut self.world.own, &mut self.world.hub]);
        }
        steps
    }

    /// The other exporter of a Service has another Pod.
    fn replace_endpoint(&mut self, at: usize) {
        let name = on_hub(&format!("c-team-shop-{at}"));
        let set = |copy: &mut Value| {
            let reference = &mut copy["spec"]["endpointSliceReference"];
            reference["generation"] = json!(reference["generation"].as_i64().unwrap() + 1);
            copy["spec"]["endpoints"] = json!([{ "addresses": [address(9, at)] }]);
        };
        self.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, set).unwrap();
    }

    /// Whether the imported slice of that exporter shows it.
    fn shows(&self, at: usize) -> bool {
        let name = ObjectName::new("fleet-system", format!("c-team-shop-{at}"));
        let slice = self.world.own.get(kinds::ENDPOINT_SLICE, &name).unwrap();
        slice["endpoints"][0]["addresses"][0] == address(9, at)
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

/// A hundred at once, then twenty a second, each slice once, and no other exporter's. Endpoints that change meanwhile wait for none.
#[test]
fn each_slice_of_a_drained_member_is_written_once_and_not_all_at_once() {
    let mut importer = Importer::new();
    importer.drain(1, 100);
    importer.round();
    let mut written = vec![importer.writes()];
    // Each Service takes its slice of the drained member along, if that still waits.
    let (mut changed, mut shown) = (0, 0);
    while written.iter().sum::<usize>() < SLICES + changed {
        // From the end: what waits longest.
        let at = SLICES - 1 - changed;
        importer.replace_endpoint(at);
        changed += 1;
        importer.second(service(at));
        shown += usize::from(importer.shows(at));
        written.push(importer.writes());
        assert!(written.len() < 60, "{written:?}");
    }
    assert_eq!(written[0], BURST);
    // The change of an endpoint, and that of the other slice of its Service, if it comes now.
    assert!(written[1..].iter().all(|count| *count <= PER_SECOND + 3), "{written:?}");
    assert!(written.len() >= (SLICES - BURST) / (PER_SECOND + 2), "{written:?}");
    assert_eq!(shown, changed, "no endpoint waits for a drain");
    importer.settle();
    assert_eq!(importer.writes(), 0, "each slice once");
    // Nothing is written for what only the hub's records show.
    importer.drain(2, 100);
    importer.settle();
    assert_eq!(importer.writes(), 0);
}
