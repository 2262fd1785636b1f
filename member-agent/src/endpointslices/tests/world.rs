//! A cluster in memory, and the controller at work in it.

use std::time::{Duration, Instant};

use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::{Affected, AffectedKey, Controller, Event, affected_keys};
use fleet_runtime::engine::Recorder as _;
use fleet_runtime::queue::{Queue, Requeue};
use prometheus::Registry;
use serde_json::{Value, json};

use super::super::{EndpointSliceController, Mode};
use crate::Settings;
use crate::measurement::Plan;
use crate::metrics::SliceMetrics;
use crate::slicing::testing;
use crate::snapshot::MemberSnapshot;

/// One cluster, and what the controller has seen of it.
pub(super) struct World {
    pub(super) own: ModelServer,
    hub: ModelServer,
    settings: Settings,
    controller: EndpointSliceController,
    metrics: SliceMetrics,
    registry: Registry,
    seen: MemberSnapshot,
    /// Events since the beginning.
    pub(super) events: Vec<Event>,
}

pub(super) fn web() -> ObjectName {
    testing::named("web")
}

pub(super) fn pod(name: &str) -> ObjectName {
    testing::named(name)
}

impl World {
    /// A namespace, a node in zone a, and no Service.
    pub(super) fn new(mode: Mode) -> Self {
        let settings = Settings { endpointslices: mode, ..Settings::new("a") };
        let (controller, metrics, registry) = controller(&settings);
        let (own, hub) = testing::servers();
        let (seen, events) = (MemberSnapshot::default(), Vec::new());
        let mut world = Self { own, hub, settings, controller, metrics, registry, seen, events };
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
        let ports = json!([{ "name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP" }]);
        let service = testing::service(name, &ports, spec);
        self.own.create(kinds::SERVICE, &testing::named(name), service).unwrap();
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

    /// Restarts the agent with at most so many endpoints in a slice.
    pub(super) fn pack(&mut self, limit: usize) {
        self.settings.max_endpoints_per_slice = limit;
        self.restart();
    }

    /// Restarts the agent with ranges for secondary networks.
    pub(super) fn limit_networks(&mut self, cidrs: &str) {
        self.settings.endpoint_network_cidrs = cidrs.parse().unwrap();
        self.restart();
    }

    /// Lets the controller do what is due when it sees this; how many keys that were.
    pub(super) fn see(&mut self, new: MemberSnapshot) -> usize {
        let keys = affected_keys(&self.controller, &self.seen, &new);
        for key in &keys {
            let plan = self.controller.plan(key, &new, self.own.now());
            self.events.extend(plan.events.iter().cloned());
            self.execute(key, &plan);
        }
        self.seen = new;
        keys.len()
    }

    /// Lets the controller follow until nothing is left to do; the verbs of its writes.
    pub(super) fn follow(&mut self) -> Vec<&'static str> {
        self.own.take_writes();
        for _ in 0..10 {
            let new = self.snapshot();
            if self.see(new) == 0 {
                let writes = self.own.take_writes();
                return writes.into_iter().map(|write| write.verb).collect();
            }
        }
        panic!("it never comes to rest");
    }

    /// The plan for web, of which nothing is sent.
    pub(super) fn plan(&self) -> Plan {
        self.controller.plan(&web(), &self.snapshot(), self.own.now())
    }

    /// Sends a plan, and records what it measures.
    fn execute(&mut self, key: &ObjectName, plan: &Plan) {
        assert_eq!(execute(plan, &mut [&mut self.own]), []);
        for measured in &plan.measurements {
            self.events.extend(self.metrics.record(key, &measured.what, self.own.now()));
        }
    }

    /// What the watches show.
    pub(super) fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub)
    }

    /// Changes of pods wait that long for others.
    pub(super) fn batch(&mut self, period: Duration) {
        self.settings.endpointslice_batch_period = period;
        self.restart();
    }

    /// Does what is due at a time; the number of its writes.
    pub(super) fn work(&mut self, queue: &mut Queue<ObjectName>, now: Instant) -> usize {
        self.own.take_writes();
        loop {
            let new = self.snapshot();
            let mut keys = Affected::new();
            self.controller.affected_keys(&self.seen, &new, &mut keys);
            for AffectedKey { key, delay, account } in keys.drain() {
                queue.add_for(&account, key, now, now + delay, now);
            }
            self.seen = new;
            queue.advance(now);
            let Some(job) = queue.take(now) else { return self.own.take_writes().len() };
            let plan = self.controller.plan(&job.key, &self.seen, self.own.now());
            self.execute(&job.key, &plan);
            queue.done(&job.key, Requeue::Forget, None, now);
        }
    }

    /// Another process takes over.
    pub(super) fn restart(&mut self) {
        (self.controller, self.metrics, self.registry) = controller(&self.settings);
        self.seen = MemberSnapshot::default();
    }

    /// All slices.
    pub(super) fn slices(&self) -> Vec<&Value> {
        testing::slices(&self.own)
    }

    /// The only slice.
    pub(super) fn slice(&self) -> &Value {
        let slices = self.slices();
        assert_eq!(slices.len(), 1, "{slices:?}");
        slices[0]
    }

    /// The endpoints of all slices.
    pub(super) fn endpoints(&self) -> Vec<&Value> {
        self.slices().into_iter().flat_map(testing::endpoints).collect()
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

fn controller(settings: &Settings) -> (EndpointSliceController, SliceMetrics, Registry) {
    let registry = Registry::new();
    let metrics = SliceMetrics::register(&registry, settings.max_endpoints_per_slice).unwrap();
    (EndpointSliceController { settings: settings.clone() }, metrics, registry)
}
