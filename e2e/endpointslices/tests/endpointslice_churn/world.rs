//! What is in a cluster, and what happens to it next: the same for every cluster it is applied to.

use std::collections::BTreeMap;

use fleet_api::kinds;
use serde_json::{Value, json};

use crate::change::{Change, NAMESPACE};
use fleet_testbed::random::Random;

const APPS: [&str; 4] = ["web", "cart", "search", "mail"];
const ZONES: [&str; 3] = ["a", "b", "c"];
/// About as many pods there are, in the long run.
const PODS: usize = 90;
const SERVICES: usize = 10;
const NODES: usize = 6;

/// The state that all clusters should have.
pub(crate) struct World {
    random: Random,
    /// Whether each is ready.
    nodes: BTreeMap<String, bool>,
    services: BTreeMap<String, Value>,
    pods: BTreeMap<String, Pod>,
    made: usize,
    touches: usize,
    /// Nodes changed since all Services were touched.
    nodes_changed: bool,
}

struct Pod {
    ips: Vec<String>,
    ready: bool,
    flips: usize,
    leaving: bool,
    ended: bool,
}

impl World {
    /// An empty one.
    pub(crate) fn new(random: Random) -> Self {
        let (nodes, services, pods) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { random, nodes, services, pods, made: 0, touches: 0, nodes_changed: false }
    }

    /// What there is before the first step.
    pub(crate) fn begin(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for _ in 0..NODES {
            self.add_node(&mut changes);
        }
        for _ in 0..SERVICES {
            self.add_service(&mut changes);
        }
        for _ in 0..PODS {
            self.add_pod(&mut changes);
        }
        changes
    }

    /// One thing that happens.
    pub(crate) fn step(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        match self.random.below(100) {
            0..=33 if self.pods.len() < PODS + self.random.below(PODS / 2) => {
                self.add_pod(&mut changes);
            }
            0..=24 => self.remove_pod(&mut changes),
            25..=49 => self.flip_pod(&mut changes),
            50..=62 => self.terminate_pod(&mut changes),
            63..=68 => self.relabel_pod(&mut changes),
            69..=71 => self.readdress_pod(&mut changes),
            72..=73 => self.end_pod(&mut changes),
            74..=90 => self.change_service(&mut changes),
            91..=92 if self.services.len() > SERVICES / 2 => self.remove_service(&mut changes),
            91..=94 => self.add_service(&mut changes),
            95..=97 => self.change_node(&mut changes),
            98 if self.nodes.len() > NODES / 2 => self.remove_node(&mut changes),
            _ => self.add_node(&mut changes),
        }
        changes
    }

    /// What makes a controller look at every Service, and changes nothing.
    pub(crate) fn touch(&mut self) -> Vec<Change> {
        self.touches += 1;
        self.nodes_changed = false;
        let touch = json!({ "metadata": { "annotations": { "touch": self.touches.to_string() } } });
        let names = self.services.keys().cloned();
        names.map(|name| Change::patch(kinds::SERVICE, name, touch.clone())).collect()
    }

    /// Whether nodes changed since [`Self::touch`].
    pub(crate) fn nodes_changed(&self) -> bool {
        self.nodes_changed
    }

    /// A random number from 0 to `end`, without `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    /// Names of all Services.
    pub(crate) fn services(&self) -> impl Iterator<Item = &str> {
        self.services.keys().map(String::as_str)
    }

    fn name(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}-{}", self.made)
    }

    fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.random.below(choices.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    fn any<T>(random: &mut Random, of: &BTreeMap<String, T>) -> Option<String> {
        (!of.is_empty()).then(|| of.keys().nth(random.below(of.len())).cloned()).flatten()
    }
}

/// Nodes.
impl World {
    fn add_node(&mut self, changes: &mut Vec<Change>) {
        self.nodes_changed = true;
        let name = self.name("node");
        let zone = self.one_of(&ZONES);
        let mut labels = json!({ "topology.kubernetes.io/zone": zone });
        if self.chance(10) {
            labels["node-role.kubernetes.io/control-plane"] = json!("");
        }
        let node = json!({ "metadata": { "name": name, "labels": labels } });
        let ready = self.chance(90);
        let status = self.node_status(ready);
        self.nodes.insert(name.clone(), ready);
        changes.push(Change::create(kinds::NODE, name.clone(), node));
        changes.push(Change::status(kinds::NODE, name, &status));
    }

    fn node_status(&mut self, ready: bool) -> Value {
        let cpu = self.one_of(&["1", "2", "2500m", "4"]);
        let ready = if ready { "True" } else { "False" };
        json!({
            "capacity": { "cpu": cpu }, "allocatable": { "cpu": cpu },
            "conditions": [{ "type": "Ready", "status": ready }],
        })
    }

    /// Another zone, or another readiness and capacity: to the capacity alone the original does not listen.
    fn change_node(&mut self, changes: &mut Vec<Change>) {
        let Some(name) = Self::any(&mut self.random, &self.nodes) else { return };
        self.nodes_changed = true;
        if self.chance(50) {
            let zone = self.one_of(&ZONES);
            let patch =
                json!({ "metadata": { "labels": { "topology.kubernetes.io/zone": zone } } });
            changes.push(Change::patch(kinds::NODE, name, patch));
        } else {
            let ready = self.nodes.get(&name) != Some(&true);
            let status = self.node_status(ready);
            self.nodes.insert(name.clone(), ready);
            changes.push(Change::status(kinds::NODE, name, &status));
        }
    }

    /// Pods may stay behind, as they do for a while in a real cluster.
    fn remove_node(&mut self, changes: &mut Vec<Change>) {
        let Some(name) = Self::any(&mut self.random, &self.nodes) else { return };
        self.nodes.remove(&name);
        self.nodes_changed = true;
        changes.push(Change::delete(kinds::NODE, name, 0));
    }
}

/// Pods.
impl World {
    fn add_pod(&mut self, changes: &mut Vec<Change>) {
        let app = self.one_of(&APPS);
        let name = self.name(app);
        let Some(node) = Self::any(&mut self.random, &self.nodes) else { return };
        let (low, high) = (self.made % 250 + 1, self.made / 250);
        let mut ips = vec![format!("10.200.{high}.{low}")];
        if self.chance(60) {
            ips.push(format!("fd00:200::{high:x}:{low:x}"));
        }
        let number = if self.chance(85) { 8080 } else { 9090 };
        let mut spec = json!({
            "nodeName": node, "terminationGracePeriodSeconds": 3600,
            "containers": [{
                "name": "main", "image": "none",
                "ports": [{ "name": "http", "containerPort": number, "protocol": "TCP" }],
            }],
        });
        if self.chance(20) {
            spec["hostname"] = json!(format!("host-{}", self.made));
            spec["subdomain"] = json!(Self::any(&mut self.random, &self.services));
        }
        let object = json!({
            "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "app": app } },
            "spec": spec,
        });
        let pod = Pod { ips, ready: self.chance(75), flips: 0, leaving: false, ended: false };
        changes.push(Change::create(kinds::POD, name.clone(), object));
        changes.push(Change::status(kinds::POD, name.clone(), &pod.status()));
        self.pods.insert(name, pod);
    }

    fn remove_pod(&mut self, changes: &mut Vec<Change>) {
        let leaving = self.pods.iter().filter(|(_, pod)| pod.leaving).map(|(name, _)| name.clone());
        let leaving: Vec<_> = leaving.collect();
        let gone = if leaving.is_empty() || self.chance(20) {
            Self::any(&mut self.random, &self.pods)
        } else {
            Some(leaving[self.random.below(leaving.len())].clone())
        };
        let Some(name) = gone else { return };
        self.pods.remove(&name);
        changes.push(Change::delete(kinds::POD, name, 0));
    }

    /// It stays until [`Self::remove_pod`] ends it as a kubelet would.
    fn terminate_pod(&mut self, changes: &mut Vec<Change>) {
        let Some((name, pod)) = self.pod() else { return };
        if std::mem::replace(&mut pod.leaving, true) {
            return;
        }
        // One that has run to its end does not wait for a kubelet.
        let gone = pod.ended;
        changes.push(Change::delete(kinds::POD, name.clone(), 3600));
        if gone {
            self.pods.remove(&name);
        }
    }

    fn flip_pod(&mut self, changes: &mut Vec<Change>) {
        let Some((name, pod)) = self.pod() else { return };
        pod.ready = !pod.ready;
        pod.flips += 1;
        changes.push(Change::status(kinds::POD, name, &pod.status()));
    }

    fn end_pod(&mut self, changes: &mut Vec<Change>) {
        let Some((name, pod)) = self.pod() else { return };
        pod.ended = true;
        changes.push(Change::status(kinds::POD, name, &pod.status()));
    }

    fn readdress_pod(&mut self, changes: &mut Vec<Change>) {
        self.made += 1;
        let ip = format!("10.201.{}.{}", self.made / 250, self.made % 250 + 1);
        let Some((name, pod)) = self.pod() else { return };
        pod.ips[0] = ip;
        changes.push(Change::status(kinds::POD, name, &pod.status()));
    }

    fn relabel_pod(&mut self, changes: &mut Vec<Change>) {
        let app = self.one_of(&APPS);
        let Some((name, _)) = self.pod() else { return };
        let patch = json!({ "metadata": { "labels": { "app": app } } });
        changes.push(Change::patch(kinds::POD, name, patch));
    }

    fn pod(&mut self) -> Option<(String, &mut Pod)> {
        let name = Self::any(&mut self.random, &self.pods)?;
        let pod = self.pods.get_mut(&name)?;
        Some((name, pod))
    }
}

impl Pod {
    fn status(&self) -> Value {
        let ips: Vec<_> = self.ips.iter().map(|ip| json!({ "ip": ip })).collect();
        let ready = if self.ready { "True" } else { "False" };
        let phase = if self.ended { "Failed" } else { "Running" };
        let since = format!("2026-01-01T{:02}:{:02}:00Z", self.flips / 60 % 24, self.flips % 60);
        json!({
            "phase": phase, "podIP": self.ips[0], "podIPs": ips,
            "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": since }],
        })
    }
}

/// Services.
impl World {
    fn add_service(&mut self, changes: &mut Vec<Change>) {
        let name = self.name("service");
        let app = self.one_of(&APPS);
        let mut spec = json!({ "selector": { "app": app }, "ports": self.ports() });
        if self.chance(25) {
            spec["clusterIP"] = json!("None");
        }
        if self.chance(30) {
            spec["ipFamilyPolicy"] = json!("PreferDualStack");
        }
        spec["trafficDistribution"] = self.distribution();
        spec["publishNotReadyAddresses"] = json!(self.chance(15));
        let mut metadata = json!({ "name": name, "namespace": NAMESPACE });
        if self.chance(15) {
            metadata["annotations"] = json!({ "service.kubernetes.io/topology-mode": "Auto" });
        }
        let service = json!({ "metadata": metadata, "spec": spec });
        self.services.insert(name.clone(), service.clone());
        changes.push(Change::create(kinds::SERVICE, name, service));
    }

    fn distribution(&mut self) -> Value {
        let choices =
            [None, None, Some("PreferClose"), Some("PreferSameZone"), Some("PreferSameNode")];
        json!(choices[self.random.below(choices.len())])
    }

    fn ports(&mut self) -> Value {
        let target = if self.chance(50) { json!("http") } else { json!(8080) };
        let mut ports = vec![json!({ "name": "http", "port": 80, "targetPort": target })];
        if self.chance(30) {
            ports[0]["appProtocol"] = json!("kubernetes.io/h2c");
        }
        if self.chance(30) {
            ports.push(json!({ "name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353 }));
        }
        json!(ports)
    }

    fn change_service(&mut self, changes: &mut Vec<Change>) {
        let Some(name) = Self::any(&mut self.random, &self.services) else { return };
        let patch = match self.random.below(12) {
            0 => json!({ "spec": { "selector": { "app": self.one_of(&APPS) } } }),
            1 => json!({ "spec": { "ports": self.ports() } }),
            2 | 3 => json!({ "spec": { "trafficDistribution": self.distribution() } }),
            4 => json!({ "spec": { "publishNotReadyAddresses": self.chance(30) } }),
            5 => {
                let mode = ["Auto", "Disabled"][self.random.below(2)];
                let key = "service.kubernetes.io/topology-mode";
                json!({ "metadata": { "annotations": { key: mode } } })
            }
            6 => json!({ "metadata": { "labels": { "tier": self.one_of(&["x", "y", "z"]) } } }),
            7 => json!({ "metadata": { "labels": { "tier": null } } }),
            // Nothing that matters.
            _ => json!({ "metadata": { "annotations": { "note": self.made.to_string() } } }),
        };
        changes.push(Change::patch(kinds::SERVICE, name, patch));
    }

    fn remove_service(&mut self, changes: &mut Vec<Change>) {
        let Some(name) = Self::any(&mut self.random, &self.services) else { return };
        self.services.remove(&name);
        changes.push(Change::delete(kinds::SERVICE, name, 0));
    }
}
