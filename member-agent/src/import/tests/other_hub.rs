//! A hub that was rebuilt, or restored from a backup, under an importer.

mod any_order;
mod missing;

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::traffic::FOLLOWED;
use fleet_api::{ObjectName, annotations, events, finalizers, kinds};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::Controller as _;
use fleet_runtime::clock::BootClock;
use serde_json::{Value, json};

use super::{World, copy_of, derived, granted, on_hub, shop, system};
use crate::import::{ImportController, Key};
use crate::measurement::Plan;
use crate::other_hub;
use crate::settings::Traffic;
use crate::traffic_memory::TrafficMemory;

/// Member "b", which imports shop from "a" and "c", and what it remembers.
struct Importer {
    world: World,
    clock: BootClock,
    memory: TrafficMemory,
}

impl Importer {
    fn new() -> Self {
        let mut world = World::new();
        world.settings.traffic = Traffic { enabled: true, ..Traffic::default() };
        world.create_mcs(&shop(), "shop");
        let clock = BootClock::by_hand();
        let memory = TrafficMemory::new(clock.clone());
        memory.take_over(BTreeMap::new());
        let mut importer = Self { world, clock, memory };
        importer.answer("first/0");
        importer.settle();
        importer.grant(&["a", "c"]);
        importer.distribute("a", "uid-a", &["10.1.0.1"]);
        importer.distribute("c", "uid-c", &["10.2.0.1", "10.2.0.2"]);
        importer.settle();
        assert_eq!(importer.slices(), ["a", "c"]);
        importer.writes();
        importer
    }

    /// The hub agent answers which hub it is.
    fn answer(&mut self, incarnation: &str) {
        let (name, hub) = (on_hub("b"), &mut self.world.hub);
        if hub.get(kinds::CLUSTER_REPORT, &name).is_none() {
            let report = json!({ "spec": { "clusterUid": "u" } });
            hub.create(kinds::CLUSTER_REPORT, &name, report).unwrap();
        }
        let status = json!({ "incarnation": incarnation });
        hub.edit(kinds::CLUSTER_REPORT, &name, |report| report["status"] = status).unwrap();
    }

    fn grant(&mut self, clusters: &[&str]) {
        let mut status = granted();
        status["clusters"] = clusters.iter().map(|name| json!({ "cluster": name })).collect();
        self.world.grant(status);
    }

    fn distribute(&mut self, cluster: &str, uid: &str, addresses: &[&str]) {
        let mut copy = copy_of(&shop(), addresses, &[finalizers::ENDPOINT_SLICE_IMPORT]);
        copy["spec"]["endpointSliceReference"]["clusterId"] = json!(cluster);
        copy["metadata"]["annotations"] = json!({ annotations::SLICE_EXPORT_UID: uid });
        let name = on_hub(&format!("{cluster}-team-shop-x1"));
        self.world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, copy).unwrap();
    }

    fn member(&mut self, name: &str, edit: impl FnOnce(&mut Value)) {
        let (name, hub) = (ObjectName::cluster(name), &mut self.world.hub);
        if hub.get(kinds::MEMBER_TRAFFIC, &name).is_none() {
            hub.create(kinds::MEMBER_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
        }
        hub.edit(kinds::MEMBER_TRAFFIC, &name, edit).unwrap();
    }

    fn publishes(&mut self, member: &str, incarnation: &str) {
        let complete = json!(incarnation);
        self.member(member, |it| it["status"]["complete"] = complete);
    }

    /// The store of the hub is lost: an empty one takes its place.
    fn lose_hub(&mut self) {
        self.world.hub = ModelServer::new(ClusterId::Hub);
        self.world.hub.create(kinds::NAMESPACE, &ObjectName::cluster("team"), json!({})).unwrap();
        self.writes();
    }

    fn plan(&self) -> Plan {
        let settings = self.world.settings.clone();
        let controller = ImportController { settings, memory: self.memory.clone() };
        controller.plan(&Key::Service(shop()), &self.world.snapshot(), self.world.own.now())
    }

    /// Follows and plans, a minute each time, until there is nothing to do for three.
    fn settle(&mut self) {
        let mut calm = 0;
        for _ in 0..40 {
            let snapshot = self.world.snapshot();
            let settings = &self.world.settings;
            let settle = settings.multicluster.settle;
            self.memory.follow(settle, |followed| other_hub::next(settings, &snapshot, followed));
            let plan = self.plan();
            for measured in &plan.measurements {
                self.memory.take(&measured.what);
            }
            calm = if plan.steps.is_empty() { calm + 1 } else { 0 };
            if calm == 3 {
                return;
            }
            execute(&plan, &mut [&mut self.world.own, &mut self.world.hub]);
            self.world.own.advance(61);
            self.clock.advance(Duration::from_secs(61));
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// Clusters whose slices are here.
    fn slices(&self) -> Vec<String> {
        let slices = self.world.own.objects(kinds::ENDPOINT_SLICE);
        let origin = |slice: &Value| {
            slice["metadata"]["annotations"][annotations::ORIGIN_CLUSTER]
                .as_str()
                .map(str::to_owned)
        };
        slices.filter_map(|(_, slice)| origin(slice)).collect()
    }

    /// Writes to slices and derived Services.
    fn writes(&mut self) -> usize {
        self.world.hub.take_writes();
        let writes = self.world.own.take_writes().into_iter();
        writes.filter(|write| ["EndpointSlice", "Service"].contains(&write.kind)).count()
    }

    /// The agent ends, and the next one takes over what is noted.
    fn restart(&mut self) {
        let noted = self.memory.hand_on();
        self.memory = TrafficMemory::new(self.clock.clone());
        self.memory.take_over(noted);
    }

    fn followed(&self) -> Option<String> {
        self.memory.hand_on().remove(FOLLOWED)
    }
}

#[test]
fn a_hub_that_was_rebuilt_changes_nothing_here() {
    for restarts in [false, true] {
        let mut importer = Importer::new();
        importer.lose_hub();
        importer.settle();
        if restarts {
            importer.restart();
        }
        importer.answer("second/0");
        importer.settle();
        let reasons: Vec<_> = importer.plan().events.iter().map(|event| event.reason).collect();
        assert_eq!(reasons, [events::IMPORTS_KEPT]);
        // One exporter after the other comes back. All exported slices have other uids.
        importer.grant(&["c"]);
        importer.distribute("c", "uid-c2", &["10.2.0.1", "10.2.0.2"]);
        importer.publishes("c", "second/0");
        importer.settle();
        assert_eq!(importer.followed().as_deref(), Some("first/0"));
        if restarts {
            importer.restart();
        }
        importer.grant(&["c", "a"]);
        importer.distribute("a", "uid-a2", &["10.1.0.1"]);
        importer.settle();
        assert_eq!(importer.slices(), ["a", "c"]);
        assert_eq!(importer.writes(), 0);
        assert_eq!(importer.followed().as_deref(), Some("second/0"));
    }
}

/// On a hub that is followed, absence counts at once, as ever.
#[test]
fn what_is_withdrawn_from_the_hub_that_is_followed_goes() {
    let mut importer = Importer::new();
    importer
        .world
        .hub
        .edit(kinds::ENDPOINT_SLICE_IMPORT, &on_hub("a-team-shop-x1"), |copy| {
            copy["metadata"]["finalizers"] = json!([]);
        })
        .unwrap();
    importer.world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &on_hub("a-team-shop-x1")).unwrap();
    importer.settle();
    assert_eq!(importer.slices(), ["c"]);
}

#[test]
fn an_exporter_that_has_published_something_else_is_believed() {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    importer.settle();
    importer.grant(&["c"]);
    importer.distribute("c", "uid-c2", &["10.2.0.1", "10.2.0.2"]);
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c"], "nobody knows what a exports");
    importer.publishes("a", "first/0");
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c"], "that was another hub");
    importer.publishes("a", "second/0");
    importer.settle();
    assert_eq!(importer.slices(), ["c"]);
    assert_eq!(importer.followed().as_deref(), Some("second/0"));
}

/// An exporter is back before the hub agent has granted the import, and before it has distributed its slices.
#[test]
fn what_is_published_has_yet_to_be_distributed() {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    for member in ["a", "c"] {
        importer.publishes(member, "second/0");
    }
    let minute = Duration::from_mins(1);
    let mut look = |seconds: u64| {
        importer.clock.advance(Duration::from_secs(seconds));
        let (settings, snapshot) = (&importer.world.settings, importer.world.snapshot());
        importer.memory.follow(minute, |followed| other_hub::next(settings, &snapshot, followed));
        let plan = importer.plan();
        execute(&plan, &mut [&mut importer.world.own, &mut importer.world.hub]);
        (importer.slices().len(), importer.writes())
    };
    for _ in 0..6 {
        assert_eq!(look(10), (2, 0));
    }
    importer.grant(&["a", "c"]);
    importer.distribute("a", "uid-a2", &["10.1.0.1"]);
    importer.distribute("c", "uid-c2", &["10.2.0.1", "10.2.0.2"]);
    importer.settle();
    assert_eq!((importer.slices().len(), importer.writes()), (2, 0));
    assert_eq!(importer.followed().as_deref(), Some("second/0"));
}

/// A cluster that is gone for good holds its endpoints until an administrator forgets it.
#[test]
fn an_exporter_that_does_not_come_back_is_forgotten_by_name() {
    let mut importer = missing::without_a();
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c"]);
    importer.member("a", |it| it["spec"]["forgottenIn"] = json!("first/0"));
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c"], "that was about another hub");
    importer.member("a", |it| it["spec"]["forgottenIn"] = json!("second/0"));
    importer.settle();
    assert_eq!(importer.slices(), ["c"]);
    assert_eq!(importer.followed().as_deref(), Some("second/0"));
}

/// What one of them has, or lacks, or deletes, may be what the other one had before.
#[test]
fn an_address_that_leads_to_two_hubs_changes_nothing_here() {
    let mut importer = Importer::new();
    let first = importer.world.hub.clone();
    importer.memory.witness(true);
    importer.lose_hub();
    // It answers as if it were the first, has an older slice, and deletes another one.
    importer.answer("first/0");
    importer.settle();
    importer.grant(&["a", "c"]);
    importer.distribute("a", "uid-a2", &["10.1.0.9"]);
    importer.distribute("c", "uid-c2", &["10.2.0.1"]);
    importer.world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &on_hub("c-team-shop-x1")).unwrap();
    importer.settle();
    assert_eq!((importer.slices().len(), importer.writes()), (2, 0));
    importer.lose_hub();
    importer.answer("second/0");
    for member in ["a", "c"] {
        importer.publishes(member, "second/0");
    }
    importer.settle();
    let reasons: Vec<_> = importer.plan().events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, [events::HUB_INCONSISTENT]);
    assert_eq!((importer.slices().len(), importer.writes()), (2, 0));
    assert_eq!(importer.followed().as_deref(), Some("first/0"), "neither is followed");
    // The second one is removed.
    importer.world.hub = first;
    importer.memory.witness(false);
    importer.settle();
    assert_eq!((importer.slices().len(), importer.writes()), (2, 0));
}

/// `fleetctl forget --hub` replaces the note in the Lease, each time by another one.
#[test]
fn a_member_forgets_which_hub_it_followed() {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c"]);
    let forget = |note: &str| BTreeMap::from([(FOLLOWED.to_owned(), note.to_owned())]);
    importer.memory.take_over(forget("forget 2026-01-01T00:00:00Z"));
    importer.settle();
    assert_eq!(importer.followed().as_deref(), Some("second/0"));
    assert!(importer.slices().is_empty(), "what it lacks is gone");
    importer.memory.take_over(forget("forget 2026-01-01T00:00:00Z"));
    assert_eq!(importer.followed().as_deref(), Some("second/0"), "it was read before");
    importer.answer("third/0");
    importer.memory.take_over(forget("forget 2026-01-02T00:00:00Z"));
    assert_eq!(importer.followed(), None, "the same leader forgets once more");
    importer.settle();
    assert_eq!(importer.followed().as_deref(), Some("third/0"));
}

/// With no exporter at all the derived Service keeps its address, however long that takes.
#[test]
fn the_derived_service_outlives_its_grace_period_on_another_hub() {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    for _ in 0..10 {
        importer.settle();
        importer.world.own.advance(3600);
    }
    assert_eq!(importer.writes(), 0);
    assert_eq!(importer.world.own.names(kinds::SERVICE).len(), 1);
    for member in ["a", "c"] {
        importer.publishes(member, "second/0");
    }
    importer.settle();
    assert!(importer.world.own.names(kinds::SERVICE).is_empty(), "now it is known to be over");
    assert!(importer.slices().is_empty());
}

/// Of the derived Service only ports may wait: the first exporter that is back may have others.
#[test]
fn on_another_hub_the_derived_service_loses_no_port_and_gets_no_selector() {
    let mut importer = Importer::new();
    for member in ["a", "c"] {
        importer.publishes(member, "first/0");
    }
    importer.answer("second/0");
    let select = |service: &mut Value| service["spec"]["selector"] = json!({ "app": "mine" });
    importer.world.edit(kinds::SERVICE, &derived(), select);
    let ports = |importer: &mut Importer, numbers: &[u16]| {
        let mut status = granted();
        let port =
            |port: &u16| json!({ "name": format!("p{port}"), "protocol": "TCP", "port": port });
        status["ports"] = numbers.iter().map(port).collect();
        status["clusters"] = json!([{ "cluster": "c" }]);
        importer.world.grant(status);
        importer.settle();
        let service = importer.world.derived().unwrap();
        let ports = service["spec"]["ports"].as_array().unwrap().iter();
        ports.map(|port| port["port"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ports(&mut importer, &[81]), [80]);
    assert!(importer.world.derived().unwrap()["spec"]["selector"].is_null());
    for member in ["a", "c"] {
        importer.publishes(member, "second/0");
    }
    assert_eq!(ports(&mut importer, &[81, 82]), [81, 82]);
    importer.answer("third/0");
    assert_eq!(ports(&mut importer, &[81, 82, 83]), [81, 82, 83], "what is new is there");
    assert_eq!(ports(&mut importer, &[82]), [81, 82, 83]);
}

/// A user who deletes the import needs no hub for it.
#[test]
fn what_a_user_deletes_goes_whatever_the_hub() {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    importer.settle();
    importer.world.own.delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    importer.settle();
    assert!(importer.slices().is_empty() && importer.world.own.names(kinds::SERVICE).is_empty());
}

/// A backup has endpoints that are long gone: what is not here already waits for its exporter.
#[test]
fn what_a_restored_hub_has_beside_waits_for_its_exporter() {
    let mut importer = Importer::new();
    for member in ["a", "c"] {
        importer.publishes(member, "first/0");
    }
    importer.answer("first/1");
    importer.grant(&["a", "c", "d"]);
    importer.publishes("d", "first/0");
    importer.distribute("d", "uid-d", &["10.3.0.1"]);
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c"]);
    importer.publishes("d", "first/1");
    importer.settle();
    assert_eq!(importer.slices(), ["a", "c", "d"]);
}

/// A backup has what its exporters have changed since: what is here is newer.
#[test]
fn what_a_restored_hub_has_from_an_earlier_time_replaces_nothing() {
    let mut importer = Importer::new();
    let copy = on_hub("a-team-shop-x1");
    let revise = |importer: &mut Importer, generation: i64, address: &str| {
        let revised = |copy: &mut Value| {
            copy["spec"]["endpointSliceReference"]["generation"] = json!(generation);
            copy["spec"]["endpoints"][0]["addresses"] = json!([address]);
        };
        importer.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy, revised).unwrap();
        importer.settle();
        let slice = system("a-team-shop-x1");
        let slice = importer.world.own.get(kinds::ENDPOINT_SLICE, &slice).unwrap();
        let address = slice["endpoints"][0]["addresses"][0].clone();
        // What is written after a while counts, too.
        (address, importer.plan().debounced.len())
    };
    for member in ["a", "c"] {
        importer.publishes(member, "first/0");
    }
    assert_eq!(revise(&mut importer, 7, "10.1.0.7"), (json!("10.1.0.7"), 0));
    importer.answer("first/1");
    assert_eq!(revise(&mut importer, 6, "10.1.0.6"), (json!("10.1.0.7"), 0));
    assert_eq!(revise(&mut importer, 8, "10.1.0.8"), (json!("10.1.0.8"), 0), "that is news");
    importer.publishes("a", "first/1");
    assert_eq!(revise(&mut importer, 5, "10.1.0.5"), (json!("10.1.0.8"), 1), "a has published");
}

#[test]
fn a_mark_is_set_after_a_while_without_a_break_and_stays() {
    let clock = BootClock::by_hand();
    let memory = TrafficMemory::new(clock.clone());
    let minute = Duration::from_mins(1);
    let look = |hub: &str, complete: bool| {
        clock.advance(Duration::from_secs(20));
        memory.published(Some(hub), complete, minute)
    };
    let story = [
        ("h/0", true, ""),
        ("h/0", true, ""),
        ("h/0", false, ""),
        ("h/0", true, ""),
        ("h/0", true, ""),
        ("h/0", true, ""),
        ("h/0", true, "h/0"),
        ("h/0", false, "h/0"),
        ("h/1", true, ""),
        ("h/0", true, ""),
    ];
    for (at, (hub, complete, expected)) in story.into_iter().enumerate() {
        assert_eq!(look(hub, complete), expected, "{at}");
    }
    assert_eq!(memory.published(None, true, minute), "");
}

/// Without an answer from the last process nothing is followed: it may have followed another hub.
#[test]
fn nothing_is_followed_before_the_notes_are_read() {
    let memory = TrafficMemory::new(BootClock::by_hand());
    memory.follow(Duration::ZERO, |_| Some("second/0".to_owned()));
    assert_eq!(memory.hand_on().get(FOLLOWED), None);
    let noted = BTreeMap::from([(FOLLOWED.to_owned(), "first/0".to_owned())]);
    let memory = TrafficMemory::new(BootClock::by_hand());
    memory.take_over(noted.clone());
    memory.follow(Duration::ZERO, |followed| followed.map(str::to_owned));
    assert_eq!(memory.hand_on(), noted);
    // What it reads of itself is not news.
    memory.follow(Duration::ZERO, |_| Some("second/0".to_owned()));
    memory.take_over(noted.clone());
    assert_eq!(memory.hand_on()[FOLLOWED], "second/0");
    memory.take_over(noted.clone());
    assert_eq!(memory.hand_on()[FOLLOWED], "second/0", "the renewal has failed");
    memory.take_over(memory.hand_on());
    memory.take_over(noted);
    assert_eq!(memory.hand_on()[FOLLOWED], "first/0", "another process has written that since");
    memory.follow(Duration::ZERO, |_| Some("second/0".to_owned()));
    let noted = memory.hand_on();
    memory.follow(Duration::ZERO, |_| Some("third/0".to_owned()));
    memory.take_over(noted.clone());
    for renewal in 0..3 {
        assert_eq!(memory.hand_on()[FOLLOWED], "third/0", "renewal {renewal} fails");
        memory.take_over(noted.clone());
    }
}
