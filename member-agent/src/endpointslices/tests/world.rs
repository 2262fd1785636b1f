//! A cluster in memory, and the room at work in it.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_runtime::plan::Event;
use fleet_runtime::room::Room;
use fleet_runtime::testing::{ModelServer, execute};
use prometheus::Registry;
use serde_json::{Value, json};

use super::super::{EndpointSliceRoom, Mode, SliceMetrics};
use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// One cluster, and what the room has seen of it.
pub(super) struct World {
    pub(super) own: ModelServer,
    hub: ModelServer,
    settings: Settings,
    room: EndpointSliceRoom,
    registry: Registry,
    seen: MemberSnapshot,
    /// Events since the beginning.
    pub(super) events: Vec<Event>,
}

pub(super) fn web() -> ObjectName {
    ObjectName::new("team", "web")
}

pub(super) fn pod(name: &str) -> ObjectName {
    ObjectName::new("team", name)
}

impl World {
    /// A namespace, a node in zone a, and no Service.
    pub(super) fn new(mode: Mode) -> Self {
        let settings = Settings { endpointslices: mode, ..Settings::new("a") };
        let (room, registry) = room(&settings);
        let (own, hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        let (seen, events) = (MemberSnapshot::default(), Vec::new());
        let mut world = Self { own, hub, settings, room, registry, seen, events };
        world.own.create(kinds::NAMESPACE, &ObjectName::cluster("team"), json!({})).unwrap();
        world.add_node("node-a", "a");
        world
    }

    /// The same with the Service web, which selects `app: web`.
    pub(super) fn with_service(mode: Mode) -> Self {
        let mut world = Self::new(mode);
        world.add_service("web", &json!({}));
        world
    }

    /// Adds a Service; `spec` is merged into its own.
    pub(super) fn add_service(&mut self, name: &str, spec: &Value) {
        let mut service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
            "selector": { "app": name },
            "ports": [{ "name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP" }],
        }});
        for (key, value) in spec.as_object().unwrap() {
            service["spec"][key] = value.clone();
        }
        self.own.create(kinds::SERVICE, &ObjectName::new("team", name), service).unwrap();
    }

    pub(super) fn add_node(&mut self, name: &str, zone: &str) {
        let name = ObjectName::cluster(name);
        let labels = json!({ "topology.kubernetes.io/zone": zone });
        self.own.create(kinds::NODE, &name, json!({ "metadata": { "labels": labels } })).unwrap();
        let ready = json!({
            "allocatable": { "cpu": "1" }, "conditions": [{ "type": "Ready", "status": "True" }],
        });
        self.own.edit(kinds::NODE, &name, |node| node["status"] = ready).unwrap();
    }

    /// Adds a ready pod on node-a that web selects.
    pub(super) fn add_pod(&mut self, name: &str, ip: &str) {
        let object = json!({
            "metadata": { "labels": { "app": "web" } },
            "spec": { "nodeName": "node-a", "containers": [] },
        });
        self.own.create(kinds::POD, &pod(name), object).unwrap();
        let since = self.own.now().to_string();
        self.own
            .edit(kinds::POD, &pod(name), |pod| {
                pod["status"] = json!({
                    "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
                    "conditions":
                        [{ "type": "Ready", "status": "True", "lastTransitionTime": since }],
                });
            })
            .unwrap();
    }

    /// Changes a pod.
    pub(super) fn edit_pod(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        self.own.edit(kinds::POD, &pod(name), change).unwrap();
    }

    /// Makes a pod ready or not, now.
    pub(super) fn turn_pod(&mut self, name: &str, status: &str) {
        let since = self.own.now().to_string();
        self.edit_pod(name, |pod| {
            pod["status"]["conditions"][0]["status"] = json!(status);
            pod["status"]["conditions"][0]["lastTransitionTime"] = json!(since);
        });
    }

    /// Changes the Service web.
    pub(super) fn edit_service(&mut self, change: impl FnOnce(&mut Value)) {
        self.own.edit(kinds::SERVICE, &web(), change).unwrap();
    }

    /// Lets the room follow until nothing is left to do; the verbs of its writes.
    pub(super) fn follow(&mut self) -> Vec<&'static str> {
        self.own.take_writes();
        for _ in 0..10 {
            let new = MemberSnapshot::of(&self.settings.identity, &self.own, &self.hub);
            let mut keys = Vec::new();
            self.room.dirty(&self.seen, &new, &mut |key| keys.push(key));
            keys.sort();
            keys.dedup();
            for key in &keys {
                let plan = self.room.plan(key, &new, self.own.now());
                self.events.extend(plan.events.iter().cloned());
                let refused = execute(&plan, &mut [&mut self.own]);
                assert!(refused.is_empty(), "{refused:?}");
            }
            self.seen = new;
            if keys.is_empty() {
                let writes = self.own.take_writes();
                return writes.into_iter().map(|write| write.verb).collect();
            }
        }
        panic!("it never comes to rest");
    }

    /// Another process takes over.
    pub(super) fn restart(&mut self) {
        (self.room, self.registry) = room(&self.settings);
        self.seen = MemberSnapshot::default();
    }

    /// All slices.
    pub(super) fn slices(&self) -> Vec<&Value> {
        let names = self.own.names(kinds::ENDPOINT_SLICE).into_iter();
        names.filter_map(|name| self.own.get(kinds::ENDPOINT_SLICE, &name)).collect()
    }

    /// The only slice.
    pub(super) fn slice(&self) -> &Value {
        let slices = self.slices();
        assert_eq!(slices.len(), 1, "{slices:?}");
        slices[0]
    }

    /// The endpoints of all slices.
    pub(super) fn endpoints(&self) -> Vec<&Value> {
        let lists = self.slices().into_iter().map(|slice| &slice["endpoints"]);
        lists.flat_map(|list| list.as_array().into_iter().flatten()).collect()
    }

    /// The first addresses of all endpoints.
    pub(super) fn addresses(&self) -> Vec<&str> {
        let endpoints = self.endpoints().into_iter();
        endpoints.filter_map(|endpoint| endpoint["addresses"][0].as_str()).collect()
    }

    /// The value of a metric.
    pub(super) fn metric(&self, series: &str) -> f64 {
        let text =
            prometheus::TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} in {text}")).parse().unwrap()
    }
}

fn room(settings: &Settings) -> (EndpointSliceRoom, Registry) {
    let registry = Registry::new();
    let metrics = SliceMetrics::register(&registry).unwrap();
    (EndpointSliceRoom::new(settings.clone(), metrics), registry)
}
