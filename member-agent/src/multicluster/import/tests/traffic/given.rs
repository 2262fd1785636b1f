//! A member that directs traffic, and what is decided on the hub.

use std::time::Duration;

use fleet_api::{ObjectName, kinds, labels};
use serde_json::{Value, json};

use crate::multicluster::import::tests::world::{World, web};
use crate::settings::Traffic;

/// A member "a" with nodes in two zones that directs traffic. It exports the Service, too, as "b" and "c" do.
pub(super) fn directing() -> World {
    let mut world = World::new();
    world.settings.traffic = Traffic { enabled: true, ..Traffic::default() };
    world.node("n1", Some("z1"));
    world.node("n2", Some("z2"));
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b", "c"]);
    world.export_slice("b", "web-1", &["10.1.0.1", "10.1.0.2"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    world.rest();
    world
}

/// The same where own endpoints come first.
pub(super) fn local_first() -> World {
    let mut world = directing();
    world.defaults(&json!({ "preference": "LocalFirst" }));
    world.settle();
    world.rest();
    world
}

impl World {
    pub(super) fn node(&mut self, name: &str, zone: Option<&str>) {
        let labels = zone.map(|zone| json!({ "topology.kubernetes.io/zone": zone }));
        let node = json!({ "metadata": { "labels": labels.unwrap_or_else(|| json!({})) } });
        self.add(kinds::NODE, &ObjectName::cluster(name), node);
    }

    /// Creates or replaces the spec of an object on the hub.
    fn on(&mut self, kind: fleet_api::ResourceKind, name: &ObjectName, field: &str, value: Value) {
        if self.hub.get(kind, name).is_none() {
            self.hub.create(kind, name, json!({ "spec": {} })).unwrap();
        }
        self.hub.edit(kind, name, |object| object[field] = value).unwrap();
    }

    /// Administrators of the hub set the defaults of the fleet.
    pub(super) fn defaults(&mut self, policy: &Value) {
        self.fleet(json!({ "defaults": policy }));
    }

    pub(super) fn fleet(&mut self, spec: Value) {
        self.on(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), "spec", spec);
    }

    /// A user of this cluster asks for a policy.
    pub(super) fn ask(&mut self, policy: Value) {
        if self.own.get(kinds::SERVICE_TRAFFIC, &web()).is_none() {
            self.add(kinds::SERVICE_TRAFFIC, &web(), json!({ "spec": {} }));
        }
        self.own.edit(kinds::SERVICE_TRAFFIC, &web(), |it| it["spec"] = policy).unwrap();
    }

    /// The owner of the Service asks for it, on the hub.
    pub(super) fn ask_on_hub(&mut self, policy: Value) {
        self.on(kinds::SERVICE_TRAFFIC, &web(), "spec", policy);
    }

    /// The hub agent decides about a member.
    pub(super) fn decide(&mut self, member: &str, status: Value) {
        self.on(kinds::MEMBER_TRAFFIC, &ObjectName::cluster(member), "status", status);
    }

    /// Administrators decide about a member.
    pub(super) fn instruct(&mut self, member: &str, spec: Value) {
        self.on(kinds::MEMBER_TRAFFIC, &ObjectName::cluster(member), "spec", spec);
    }

    /// The hub agent drains a member of all Services.
    pub(super) fn drain(&mut self, member: &str, serial: i64, percent: i64) {
        let drain = json!({ "service": "*", "percent": percent, "reason": "Draining" });
        let drains = if percent == 0 { json!([]) } else { json!([drain]) };
        self.decide(member, json!({ "serial": serial, "drains": drains }));
    }

    /// The hub agent finds a member silent, or as it returns at less than a hundred percent.
    pub(super) fn silence(&mut self, member: &str, serial: i64, percent: i64) {
        let state = if percent == 100 { "Silent" } else { "Heard" };
        let before = self.hub.get(kinds::MEMBER_TRAFFIC, &ObjectName::cluster(member));
        let before = before.and_then(|it| it["status"]["silence"]["serial"].as_i64());
        let of_verdict = (percent > 0).then(|| before.unwrap_or(serial));
        let silence = json!({ "state": state, "percent": percent, "serial": of_verdict });
        self.decide(member, json!({ "serial": serial, "silence": silence }));
    }

    /// Own Pods become ready or not.
    pub(super) fn own_pods(&mut self, ready: &[&str], unready: &[&str]) {
        let endpoint = |address: &&str, ready: bool| {
            let conditions = json!({ "ready": ready, "serving": ready, "terminating": false });
            json!({ "addresses": [address], "conditions": conditions })
        };
        let ready = ready.iter().map(|it| endpoint(it, true));
        let unready = unready.iter().map(|it| endpoint(it, false));
        let endpoints: Vec<_> = ready.chain(unready).collect();
        let name = ObjectName::new("shop", "web-x1");
        let set = |slice: &mut Value| slice["endpoints"] = json!(endpoints);
        self.own.edit(kinds::ENDPOINT_SLICE, &name, set).unwrap();
    }

    /// The time of the agent's clock passes, a second at a time.
    pub(super) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            self.settle();
        }
    }

    /// Where each imported endpoint is: cluster, address and slot; what names zones names these.
    pub(super) fn slots(&self) -> Vec<String> {
        let slices = self.own.objects(kinds::ENDPOINT_SLICE).filter(|(_, slice)| {
            slice["metadata"]["labels"][labels::MANAGED_BY] == labels::MANAGED_BY_MULTICLUSTER
        });
        let all = slices.flat_map(|(_, slice)| {
            let cluster = &slice["metadata"]["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER];
            let cluster = cluster.as_str().unwrap();
            let endpoints = slice["endpoints"].as_array().unwrap().iter();
            endpoints.map(move |it| format!("{cluster} {}", slot(it))).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// The endpoints of a cluster.
    pub(super) fn slots_of(&self, cluster: &str) -> Vec<String> {
        let start = format!("{cluster} ");
        let all = self.slots().into_iter();
        all.filter_map(|line| line.strip_prefix(&start).map(str::to_owned)).collect()
    }
}

fn slot(endpoint: &Value) -> String {
    let zones = endpoint["hints"]["forZones"].as_array();
    let zones = zones.map(|zones| {
        let names: Vec<_> = zones.iter().map(|it| it["name"].as_str().unwrap()).collect();
        names.join("+")
    });
    let is_ready = endpoint["conditions"].is_null() || endpoint["conditions"]["ready"] == true;
    let slot = match zones.as_deref() {
        _ if !is_ready => "last".to_owned(),
        Some("fleet.remote") => "second".to_owned(),
        Some(zones) => format!("first {zones}"),
        None => "pool".to_owned(),
    };
    format!("{} {slot}", endpoint["addresses"][0].as_str().unwrap())
}
