//! Endpoints of imported slices where policies, drains and verdicts put them.

mod own;

use std::time::Duration;

use fleet_accumulator::{SourceState, View};
use fleet_api::{ObjectName, annotations, finalizers, kinds, labels};
use fleet_model_server::execute;
use fleet_plan::{Controller as _, affected_keys};
use fleet_runtime::clock::BootClock;
use serde_json::{Value, json};

use super::{World, copy_of, granted, on_hub, shop};
use crate::import::{ImportController, Key};
use crate::measurement::Plan;
use crate::settings::Traffic;
use crate::traffic::Subject;
use crate::traffic_memory::TrafficMemory;

/// Member "b", which directs traffic, with what it remembers.
struct Directing {
    world: World,
    clock: BootClock,
    memory: TrafficMemory,
}

impl Directing {
    /// Imports shop from "a", "c", and itself.
    fn new() -> Self {
        let mut world = World::new();
        world.settings.traffic = Traffic { enabled: true, ..Traffic::default() };
        let clock = BootClock::by_hand();
        let memory = TrafficMemory::new(clock.clone());
        for (node, zone) in [("n1", "z1"), ("n2", "z2")] {
            let labels = json!({ "topology.kubernetes.io/zone": zone });
            let node = ObjectName::cluster(node);
            world
                .own
                .create(kinds::NODE, &node, json!({ "metadata": { "labels": labels } }))
                .unwrap();
        }
        world.create_mcs(&shop(), "shop");
        let mut directing = Self { world, clock, memory };
        directing.settle();
        let mut status = granted();
        status["clusters"] = json!([{ "cluster": "a" }, { "cluster": "b" }, { "cluster": "c" }]);
        directing.world.grant(status);
        for (cluster, net) in [("a", 1), ("b", 9), ("c", 2)] {
            let addresses = [format!("10.{net}.0.1"), format!("10.{net}.0.2")];
            let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
            directing.distribute(cluster, &addresses);
        }
        directing.settle();
        directing.take_writes();
        directing
    }

    fn name(cluster: &str) -> ObjectName {
        on_hub(&format!("{cluster}-team-shop-x1"))
    }

    fn distribute(&mut self, cluster: &str, addresses: &[&str]) {
        let mut copy = copy_of(&shop(), addresses, &[finalizers::ENDPOINT_SLICE_IMPORT]);
        copy["spec"]["endpointSliceReference"]["clusterId"] = json!(cluster);
        if cluster == "b" {
            let slice = backing(&copy["spec"]["endpoints"]);
            self.world.own.create(kinds::ENDPOINT_SLICE, &own_slice(), slice).unwrap();
            let uid = self.own_metadata()["uid"].clone();
            copy["spec"]["endpointSliceReference"]["uid"] = uid;
        }
        copy["metadata"]["annotations"] =
            json!({ annotations::SLICE_EXPORT_UID: format!("uid-{cluster}") });
        self.world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &Self::name(cluster), copy).unwrap();
    }

    fn own_metadata(&self) -> &Value {
        &self.world.own.get(kinds::ENDPOINT_SLICE, &own_slice()).unwrap()["metadata"]
    }

    fn offer(&mut self, cluster: &str, addresses: &[&str]) {
        let endpoints = endpoints(addresses);
        if cluster == "b" {
            let set = |slice: &mut Value| slice["endpoints"] = endpoints;
            self.world.own.edit(kinds::ENDPOINT_SLICE, &own_slice(), set).unwrap();
            return self.reach_hub(addresses);
        }
        let set = |copy: &mut Value| {
            let reference = &mut copy["spec"]["endpointSliceReference"];
            reference["generation"] = json!(reference["generation"].as_i64().unwrap() + 1);
            copy["spec"]["endpoints"] = endpoints;
        };
        self.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &Self::name(cluster), set).unwrap();
    }

    /// The hub has these endpoints of this cluster, of the generation that is there.
    fn reach_hub(&mut self, addresses: &[&str]) {
        let generation = self.own_metadata()["generation"].clone();
        let set = |copy: &mut Value| {
            copy["spec"]["endpointSliceReference"]["generation"] = generation;
            copy["spec"]["endpoints"] = endpoints(addresses);
        };
        self.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &Self::name("b"), set).unwrap();
    }

    fn controller(&self) -> ImportController {
        ImportController { settings: self.world.settings.clone(), memory: self.memory.clone() }
    }

    fn plan(&self) -> Plan {
        let key = Key::Service(shop());
        self.controller().plan(&key, &self.world.snapshot(), self.world.own.now())
    }

    fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.plan();
            for measured in &plan.measurements {
                self.memory.take(&measured.what);
            }
            if plan.steps.is_empty() {
                return;
            }
            execute(&plan, &mut [&mut self.world.own, &mut self.world.hub]);
        }
        panic!("no rest: {:#?}", self.plan());
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            self.settle();
        }
    }

    /// Writes as much as may be written at once.
    fn exhaust(&mut self) {
        let mut plan = self.plan();
        let measured = plan.measurements.iter_mut().find_map(|it| match &mut it.what {
            crate::measurement::Measurement::Traffic(decided) => Some(decided),
            _ => None,
        });
        let decided = measured.unwrap();
        decided.subject = Subject::fleet(&ObjectName::new("team", "other"));
        decided.turn = crate::traffic::Turn::Now(100_000);
        for measured in &plan.measurements {
            self.memory.take(&measured.what);
        }
    }

    /// Names of the slices that were written since the last time.
    fn take_writes(&mut self) -> Vec<String> {
        self.world.hub.take_writes();
        let writes = self.world.own.take_writes().into_iter();
        let slices = writes.filter(|write| write.kind.contains("ndpoint"));
        slices.map(|write| write.verb.to_owned()).collect()
    }

    fn on(&mut self, kind: fleet_api::ResourceKind, name: &ObjectName, field: &str, value: Value) {
        let hub = &mut self.world.hub;
        if hub.get(kind, name).is_none() {
            hub.create(kind, name, json!({ "spec": {} })).unwrap();
        }
        hub.edit(kind, name, |object| object[field] = value).unwrap();
    }

    fn fleet(&mut self, spec: Value) {
        self.on(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), "spec", spec);
    }

    fn decide(&mut self, member: &str, status: Value) {
        self.on(kinds::MEMBER_TRAFFIC, &ObjectName::cluster(member), "status", status);
    }

    fn drain(&mut self, member: &str, serial: i64, percent: i64) {
        let drain = json!({ "service": "*", "percent": percent, "reason": "Draining" });
        let drains = if percent == 0 { json!([]) } else { json!([drain]) };
        self.decide(member, json!({ "serial": serial, "drains": drains }));
    }

    fn slots(&self) -> Vec<String> {
        let slices = self.world.own.objects(kinds::ENDPOINT_SLICE).filter(|(_, slice)| {
            slice["metadata"]["labels"][labels::MANAGED_BY] == labels::MANAGED_BY_IMPORT
        });
        let slots = |slice: &Value| {
            let origin = slice["metadata"]["annotations"][annotations::ORIGIN_CLUSTER].clone();
            let endpoints = slice["endpoints"].as_array().unwrap().iter();
            let slots: Vec<_> = endpoints.map(slot).collect();
            format!("{} {}", origin.as_str().unwrap(), slots.join(" "))
        };
        slices.map(|(_, slice)| slots(slice)).collect()
    }
}

/// The slice of this cluster that it exports.
fn own_slice() -> ObjectName {
    ObjectName::new("team", "shop-x1")
}

fn endpoints(addresses: &[&str]) -> Value {
    addresses.iter().map(|at| json!({ "addresses": [at] })).collect()
}

/// A slice of this cluster that backs shop.
fn backing(endpoints: &Value) -> Value {
    json!({
        "metadata": { "labels": { (labels::SERVICE_NAME): "shop" } },
        "addressType": "IPv4", "endpoints": endpoints,
        "ports": [
            { "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" },
            { "name": "dns", "protocol": "UDP", "port": 53 },
        ],
    })
}

fn slot(endpoint: &Value) -> &'static str {
    let zones = &endpoint["hints"]["forZones"];
    let is_ready = endpoint["conditions"].is_null() || endpoint["conditions"]["ready"] == true;
    match zones[0]["name"].as_str() {
        _ if !is_ready => "last",
        Some("fleet.remote") => "second",
        Some(_) => "first",
        None => "pool",
    }
}

/// Without a policy the slices are those that would be written otherwise, to the byte.
#[test]
fn without_a_policy_nothing_differs() {
    let mut directing = Directing::new();
    assert_eq!(directing.slots(), ["a pool pool", "b pool pool", "c pool pool"]);
    directing.world.settings.traffic.enabled = false;
    assert!(directing.plan().steps.is_empty(), "{:#?}", directing.plan());
}

/// Switched off, policies are not read, and nothing is remembered.
#[test]
fn switched_off_nothing_is_read_or_written() {
    let mut directing = Directing::new();
    directing.world.settings.traffic.enabled = false;
    directing.fleet(json!({ "defaults": { "preference": "LocalFirst" } }));
    directing.drain("a", 1, 100);
    let plan = directing.plan();
    assert!(plan.is_empty() && plan.measurements.is_empty() && plan.wake_after.is_none());
    let reads = directing.controller().reads();
    for source in [
        crate::snapshot::MemberSnapshot::managed_slices(),
        crate::snapshot::MemberSnapshot::member_traffics(),
        crate::snapshot::MemberSnapshot::nodes(),
    ] {
        assert!(!reads.contains(source));
    }
}

#[test]
fn switched_off_again_the_slices_are_plain() {
    let mut directing = Directing::new();
    directing.fleet(json!({ "defaults": { "preference": "LocalFirst" } }));
    directing.settle();
    assert_eq!(directing.slots(), ["a second second", "b first first", "c second second"]);
    directing.world.settings.traffic.enabled = false;
    directing.settle();
    assert_eq!(directing.slots(), ["a pool pool", "b pool pool", "c pool pool"]);
}

#[test]
fn drained_endpoints_are_last_resort_and_return() {
    let mut directing = Directing::new();
    directing.drain("a", 1, 50);
    directing.settle();
    let half = directing.slots();
    assert!(half[0] == "a last pool" || half[0] == "a pool last", "{half:?}");
    directing.drain("a", 2, 100);
    directing.settle();
    assert_eq!(directing.slots(), ["a last last", "b pool pool", "c pool pool"]);
    assert_eq!(directing.take_writes(), ["update", "update"]);
    assert!(directing.plan().is_empty());
    directing.drain("a", 3, 0);
    directing.settle();
    assert_eq!(directing.slots()[0], "a pool pool");
}

#[test]
fn a_drain_with_removal_empties_the_slice() {
    let mut directing = Directing::new();
    let drain =
        json!({ "service": "team/shop", "percent": 100, "removed": true, "reason": "Drained" });
    directing.decide("a", json!({ "serial": 1, "drains": [drain] }));
    directing.settle();
    assert_eq!(directing.slots()[0], "a ");
    assert!(directing.plan().is_empty());
    directing.drain("a", 2, 0);
    directing.settle();
    assert_eq!(directing.slots()[0], "a pool pool");
}

#[test]
fn endpoints_of_a_silent_member_are_last_resort() {
    let mut directing = Directing::new();
    let silence = json!({ "state": "Silent", "percent": 100, "serial": 3 });
    directing.decide("c", json!({ "serial": 3, "silence": silence }));
    directing.settle();
    assert_eq!(directing.slots(), ["a pool pool", "b pool pool", "c last last"]);
    assert_eq!(directing.take_writes(), ["update"]);
}

/// The last endpoints of all others go: what is last resort serves as ready after a second.
#[test]
fn no_service_is_left_without_a_ready_endpoint() {
    let mut directing = Directing::new();
    directing.drain("a", 1, 100);
    directing.settle();
    directing.offer("b", &[]);
    directing.offer("c", &[]);
    directing.settle();
    assert_eq!(directing.slots(), ["a last last", "b ", "c "]);
    assert!(directing.plan().wake_after.is_some());
    directing.pass(1);
    assert_eq!(directing.slots(), ["a pool pool", "b ", "c "]);
    directing.offer("c", &["10.2.0.7"]);
    directing.pass(31);
    assert_eq!(directing.slots(), ["a last last", "b ", "c pool"]);
}

#[test]
fn new_endpoints_are_where_the_others_are() {
    let mut directing = Directing::new();
    directing.fleet(json!({ "defaults": { "preference": "LocalFirst" } }));
    directing.settle();
    directing.take_writes();
    directing.offer("a", &["10.1.0.1", "10.1.0.2", "10.1.0.3"]);
    let plan = directing.plan();
    let slices = plan.steps.iter().filter(|step| step.kind == kinds::ENDPOINT_SLICE);
    assert_eq!(slices.count(), 1);
    directing.settle();
    assert_eq!(directing.slots()[0], "a second second second");
    directing.offer("a", &["10.1.0.3"]);
    let plan = directing.plan();
    assert!(plan.steps.iter().any(|step| step.urgent), "endpoints leave first");
    directing.settle();
    assert_eq!(directing.slots()[0], "a second");
}

/// A change of place is not urgent, and is no arrival of endpoints.
#[test]
fn a_drain_is_neither_urgent_nor_measured_as_an_arrival() {
    use crate::measurement::Measurement;
    let mut directing = Directing::new();
    directing.drain("a", 1, 100);
    let plan = directing.plan();
    assert!(plan.steps.iter().all(|step| !step.urgent));
    let arrivals = plan.measurements.iter();
    let arrivals = arrivals.filter(|it| matches!(it.what, Measurement::Imported(_)));
    assert_eq!(arrivals.count(), 0);
}

/// A slice that a user edits is repaired.
#[test]
fn an_edited_hint_is_repaired() {
    let mut directing = Directing::new();
    directing.fleet(json!({ "defaults": { "preference": "LocalFirst" } }));
    directing.settle();
    let name = ObjectName::new("fleet-system", "a-team-shop-x1");
    let strip = |slice: &mut Value| slice["endpoints"][0]["hints"] = Value::Null;
    directing.world.own.edit(kinds::ENDPOINT_SLICE, &name, strip).unwrap();
    directing.settle();
    assert_eq!(directing.slots()[0], "a second second");
}

/// A slice whose labels a user has changed is not in the watch of whole slices.
#[test]
fn an_edited_label_is_repaired() {
    let mut directing = Directing::new();
    directing.drain("a", 1, 100);
    directing.settle();
    let name = ObjectName::new("fleet-system", "a-team-shop-x1");
    let edit = |slice: &mut Value| slice["metadata"]["labels"][labels::MANAGED_BY] = json!("x");
    directing.world.own.edit(kinds::ENDPOINT_SLICE, &name, edit).unwrap();
    directing.settle();
    assert_eq!(directing.slots()[0], "a last last");
}

/// While the watch of whole slices is behind, nothing is decided on a part of them.
#[test]
fn slices_wait_for_the_watch_that_shows_them_whole() {
    let mut directing = Directing::new();
    directing.drain("a", 1, 100);
    let mut snapshot = directing.world.snapshot();
    snapshot.managed_slices = fleet_accumulator::View::default();
    let key = Key::Service(shop());
    let plan = directing.controller().plan(&key, &snapshot, directing.world.own.now());
    assert!(plan.steps.is_empty());
    assert!(
        !plan
            .measurements
            .iter()
            .any(|it| { matches!(it.what, crate::measurement::Measurement::Traffic(_)) })
    );
}

#[test]
fn the_serial_is_applied_when_the_slices_show_it() {
    let mut directing = Directing::new();
    directing.drain("a", 4, 100);
    let applied = |directing: &Directing| {
        let members = directing.world.snapshot().member_traffics;
        directing.memory.applied([Subject::fleet(&shop())], &members)
    };
    assert_eq!(applied(&directing), Some(3), "no plan has seen it");
    let plan = directing.plan();
    for measured in &plan.measurements {
        directing.memory.take(&measured.what);
    }
    assert_eq!(applied(&directing), Some(3), "not yet");
    directing.settle();
    assert_eq!(applied(&directing), Some(4));
}

/// What a change concerns: imports of a member's slices, of a policy, or all.
#[test]
fn changes_lead_to_the_imports_that_they_concern() {
    let mut directing = Directing::new();
    let keys = |directing: &mut Directing, change: fn(&mut Directing)| {
        let before = directing.world.snapshot();
        change(directing);
        affected_keys(&directing.controller(), &before, &directing.world.snapshot()).len()
    };
    assert_eq!(keys(&mut directing, |it| it.drain("a", 1, 10)), 1);
    assert_eq!(keys(&mut directing, |it| it.drain("x", 2, 10)), 0);
    assert_eq!(keys(&mut directing, |it| it.fleet(json!({ "maxSilentPercent": 30 }))), 1);
    let policy = |directing: &mut Directing| {
        let own = &mut directing.world.own;
        own.create(kinds::SERVICE_TRAFFIC, &shop(), json!({ "spec": {} })).unwrap();
    };
    assert_eq!(keys(&mut directing, policy), 1);
    directing.world.settings.traffic.enabled = false;
    assert_eq!(keys(&mut directing, |it| it.drain("a", 3, 20)), 0);
}

/// The agent is killed after any write of a drain, and of its end.
#[test]
fn every_prefix_of_the_writes_leads_to_the_same_end() {
    for percent in [100, 0] {
        for written in 0..4 {
            let mut directing = Directing::new();
            directing.fleet(json!({ "defaults": { "preference": "LocalFirst" } }));
            directing.drain("a", 1, 100 - percent);
            directing.drain("c", 2, 100 - percent);
            directing.settle();
            directing.drain("a", 3, percent);
            directing.drain("c", 4, percent);
            let mut plan = directing.plan();
            plan.steps.truncate(written);
            execute(&plan, &mut [&mut directing.world.own, &mut directing.world.hub]);
            directing.memory = TrafficMemory::new(directing.clock.clone());
            directing.settle();
            let slot = if percent == 100 { "last last" } else { "second second" };
            let expected = [format!("a {slot}"), "b first first".to_owned(), format!("c {slot}")];
            assert_eq!(directing.slots(), expected, "{percent} {written}");
        }
    }
}

/// The agent begins anew while a lower rank is in use in place of better ones: nothing is written.
#[test]
fn what_is_promoted_stays_so_when_the_agent_begins_anew() {
    let mut directing = Directing::new();
    directing.drain("a", 1, 100);
    directing.offer("b", &[]);
    directing.offer("c", &[]);
    directing.settle();
    directing.pass(1);
    assert_eq!(directing.slots(), ["a pool pool", "b ", "c "]);
    directing.take_writes();
    directing.memory = TrafficMemory::new(directing.clock.clone());
    directing.settle();
    directing.pass(40);
    assert_eq!(directing.slots(), ["a pool pool", "b ", "c "]);
    assert!(directing.take_writes().is_empty());
}

/// The agent begins anew and has not listed what is in force: what was out of use stays so, and what was not follows its exporter.
#[test]
fn what_is_out_of_use_stays_so_until_policies_are_known() {
    let mut directing = Directing::new();
    let weights = json!([{ "cluster": "a", "weight": 0 }]);
    directing.fleet(json!({ "defaults": { "weights": weights } }));
    directing.offer("c", &[]);
    directing.settle();
    assert_eq!(directing.slots(), ["a ", "b pool pool", "c "]);
    directing.take_writes();
    directing.memory = TrafficMemory::new(directing.clock.clone());
    let (key, now) = (Key::Service(shop()), directing.world.own.now());
    let mut snapshot = directing.world.snapshot();
    snapshot.fleet_traffics = View::default().in_state(SourceState::Pending);
    let plan = directing.controller().plan(&key, &snapshot, now);
    assert!(plan.steps.is_empty(), "{plan:#?}");

    // An endpoint of a cluster that had none is no endpoint that was left out.
    directing.offer("c", &["10.2.0.5"]);
    let mut snapshot = directing.world.snapshot();
    snapshot.fleet_traffics = View::default().in_state(SourceState::Pending);
    let plan = directing.controller().plan(&key, &snapshot, now);
    execute(&plan, &mut [&mut directing.world.own, &mut directing.world.hub]);
    assert_eq!(directing.slots(), ["a ", "b pool pool", "c pool"]);

    directing.fleet(json!({}));
    directing.settle();
    assert_eq!(directing.slots(), ["a pool pool", "b pool pool", "c pool"]);
}

/// One slice has lost an endpoint and is written at once. What others do in its place does not wait, however much was written.
#[test]
fn endpoints_that_take_over_do_not_wait() {
    let mut directing = Directing::new();
    directing.drain("a", 1, 100);
    directing.settle();
    directing.offer("b", &[]);
    directing.settle();
    assert_eq!(directing.slots(), ["a last last", "b ", "c pool pool"]);
    directing.exhaust();
    directing.drain("a", 2, 0);
    directing.drain("c", 3, 100);
    let waiting = directing.plan();
    assert!(waiting.steps.is_empty(), "{:#?}", waiting.steps);
    directing.offer("c", &["10.2.0.1"]);
    let both = directing.plan();
    let slices = both.steps.iter().filter(|step| step.kind == kinds::ENDPOINT_SLICE);
    assert_eq!(slices.count(), 2, "{:#?}", both.steps);
    directing.settle();
    assert_eq!(directing.slots(), ["a pool pool", "b ", "c last"]);
}

/// "a" exports an endpoint that runs here, and this cluster one that runs in "a".
#[test]
fn endpoints_on_virtual_nodes_belong_to_the_members_that_run_them() {
    let mut directing = Directing::new();
    directing.fleet(json!({ "defaults": { "preference": "LocalFirst" } }));
    directing.world.settings.virtual_nodes.origin = true;
    directing.world.settings.virtual_nodes.executor = true;
    let metadata = json!({ "labels": { labels::VIRTUAL_NODE: "true" } });
    let node = ObjectName::cluster("fleet-a");
    directing.world.own.create(kinds::NODE, &node, json!({ "metadata": metadata })).unwrap();
    let set = |copy: &mut Value| copy["spec"]["endpoints"][1]["executor"] = json!("b");
    let copy = Directing::name("a");
    directing.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy, set).unwrap();
    let set = |slice: &mut Value| slice["endpoints"][1]["nodeName"] = json!("fleet-a");
    directing.world.own.edit(kinds::ENDPOINT_SLICE, &own_slice(), set).unwrap();
    directing.settle();
    assert_eq!(directing.slots(), ["a second first", "b first second", "c second second"]);
    directing.drain("a", 1, 100);
    directing.settle();
    // The exporter takes what it exports along, and what it runs.
    assert_eq!(directing.slots(), ["a last last", "b first last", "c second second"]);
}

#[test]
fn exporters_have_the_weights_that_they_give_themselves() {
    let mut directing = Directing::new();
    directing.fleet(json!({ "defaults": { "weighting": "Clusters" } }));
    let weigh = |directing: &mut Directing, weight: &str| {
        let set = |copy: &mut Value| {
            copy["metadata"]["annotations"][annotations::WEIGHT] = json!(weight);
        };
        let name = Directing::name("c");
        directing.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, set).unwrap();
        directing.settle();
    };
    weigh(&mut directing, "0");
    assert_eq!(directing.slots(), ["a pool pool", "b pool pool", "c "]);
    weigh(&mut directing, "1");
    // Sizes stay for so long.
    directing.pass(10);
    assert_eq!(directing.slots(), ["a pool pool", "b pool pool", "c pool pool"]);
    assert!(directing.plan().steps.is_empty());
}
