//! An importing member in memory, its hub, and what happens to both.

use fleet_accumulator::{ClusterId, SourceState, Tracked, View};
use fleet_api::{ObjectName, annotations, kinds, labels};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, Refusal, execute};
use fleet_plan::{Event, Step};
use fleet_runtime::clock::BootClock;
use serde_json::{Value, json};

use super::super::recalling;
use crate::Settings;
use crate::measurement::Plan;
use crate::settings::MulticlusterMode;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Subject;
use crate::traffic_memory::TrafficMemory;

/// The hub that the member talks to.
pub(super) const HUB: &str = "hub-uid/0";

/// Why the hub's sources are listed anew.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedAnew {
    /// The agent has become the leader.
    NewLeader,
    /// It is time.
    FromTimeToTime,
}

/// Member "a" takes part in the standard API; "b" and "c" export.
#[derive(Clone)]
pub(super) struct World {
    pub(super) own: ModelServer,
    pub(super) hub: ModelServer,
    pub(super) settings: Settings,
    /// Whether the hub's sources have been live for long enough.
    pub(super) settled: bool,
    /// Whether they were ever listed.
    pub(super) heard: bool,
    /// Why they are being listed anew, if they are.
    pub(super) listed_anew: Option<ListedAnew>,
    /// Objects on the hub that this agent cannot read.
    pub(super) unreadable: Vec<ObjectName>,
    /// Events since the last [`World::rest`].
    pub(super) events: Vec<Event>,
    /// The clock of what the agent remembers.
    pub(super) clock: BootClock,
    pub(super) memory: TrafficMemory,
}

/// The Service that is imported.
pub(super) fn web() -> ObjectName {
    ObjectName::new("shop", "web")
}

/// What is in force for it.
pub(super) fn in_force() -> ObjectName {
    ObjectName::new("fleet-system", "shop-web")
}

/// Its derived Service.
pub(super) fn derived() -> ObjectName {
    ObjectName::new("shop", "derived-isrlchlhrq")
}

/// A port as the hub has it.
pub(super) fn port(name: &str, number: i32) -> Value {
    json!({ "name": name, "protocol": "TCP", "port": number })
}

fn report(cluster: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{cluster}"), cluster)
}

impl World {
    /// A member that the hub has accepted, in a cluster with IPv4.
    pub(super) fn new() -> Self {
        Self::with_families(&["IPv4"])
    }

    pub(super) fn with_families(families: &[&'static str]) -> Self {
        let mut settings = Settings::new("a");
        settings.multicluster.mode = MulticlusterMode::On;
        let (mut own, hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        own.give_addresses(families);
        let (settled, heard, listed_anew) = (true, true, None);
        let (unreadable, events) = (Vec::new(), Vec::new());
        let clock = BootClock::by_hand();
        let memory = TrafficMemory::new(clock.clone());
        let mut world = Self {
            own,
            hub,
            settings,
            settled,
            heard,
            listed_anew,
            unreadable,
            events,
            clock,
            memory,
        };
        for namespace in ["kube-system", "default", "shop", "fleet-system"] {
            world.add(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({}));
        }
        let api = json!({ "spec": { "type": "ClusterIP", "ipFamilies": [families[0]] } });
        world.add(kinds::SERVICE, &ObjectName::new("default", "kubernetes"), api);
        let cidr = |family: &&str| if *family == "IPv4" { "10.96.0.0/16" } else { "fd00::/108" };
        let cidrs: Vec<_> = families.iter().map(cidr).collect();
        let cidrs = json!({ "spec": { "cidrs": cidrs } });
        world.add(kinds::SERVICE_CIDR, &ObjectName::cluster("kubernetes"), cidrs);
        let system = ObjectName::cluster("kube-system");
        let uid = world.own.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"].clone();
        world.claim("a", &uid);
        world.publish("a", HUB);
        world
    }

    /// A member at rest that has imported the Service from "b".
    pub(super) fn imported() -> Self {
        let mut world = Self::new();
        world.resolve(&["b"]);
        world.export_slice("b", "web-1", &["10.1.0.1"]);
        world.settle();
        world.rest();
        world
    }

    pub(super) fn add(&mut self, kind: fleet_api::ResourceKind, name: &ObjectName, object: Value) {
        self.own.create(kind, name, object).unwrap();
    }

    fn claim(&mut self, cluster: &str, uid: &Value) {
        let object = json!({ "spec": { "clusterUid": uid } });
        self.hub.create(kinds::CLUSTER_REPORT, &report(cluster), object).unwrap();
        self.incarnate(cluster, HUB);
    }

    /// The hub agent accepts a cluster, as this hub.
    pub(super) fn incarnate(&mut self, cluster: &str, hub: &str) {
        let status = json!({
            "incarnation": hub, "clustersetId": "fleet",
            "conditions": [{
                "type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
            }],
        });
        let set = |object: &mut Value| object["status"] = status;
        self.hub.edit(kinds::CLUSTER_REPORT, &report(cluster), set).unwrap();
    }

    /// A cluster has reported to a hub all that it exports.
    pub(super) fn publish(&mut self, cluster: &str, hub: &str) {
        if self.hub.get(kinds::CLUSTER_REPORT, &report(cluster)).is_none() {
            self.claim(cluster, &json!(cluster));
        }
        let set = |object: &mut Value| object["spec"]["publishedTo"] = json!(hub);
        self.hub.edit(kinds::CLUSTER_REPORT, &report(cluster), set).unwrap();
    }

    /// The hub agent states who exports the Service.
    pub(super) fn resolve(&mut self, exporters: &[&str]) {
        let exporters: Vec<_> =
            exporters.iter().map(|cluster| json!({ "cluster": cluster })).collect();
        self.respec("exporters", json!(exporters));
        self.respec(
            "winner",
            exporters.first().map_or_else(|| json!(""), |it| it["cluster"].clone()),
        );
    }

    /// The last export was withdrawn.
    pub(super) fn withdraw(&mut self) {
        self.resolve(&[]);
        self.respec("withdrawnAt", json!("2026-01-01T00:00:00Z"));
    }

    /// Changes a field of what is in force.
    pub(super) fn respec(&mut self, field: &str, value: Value) {
        if self.hub.get(kinds::RESOLVED_SERVICE, &in_force()).is_none() {
            let object = json!({ "spec": {
                "service": { "namespace": "shop", "name": "web" },
                "type": "ClusterSetIP", "ports": [port("http", 80)], "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
                "winner": "b", "exporters": [],
            }});
            self.hub.create(kinds::RESOLVED_SERVICE, &in_force(), object).unwrap();
        }
        let set = |object: &mut Value| object["spec"][field] = value;
        self.hub.edit(kinds::RESOLVED_SERVICE, &in_force(), set).unwrap();
    }

    /// The hub loses what is in force.
    pub(super) fn forget(&mut self) {
        self.hub.delete(kinds::RESOLVED_SERVICE, &in_force()).unwrap();
    }

    /// Name of an exported slice on the hub.
    pub(super) fn on_hub(cluster: &str, slice: &str) -> ObjectName {
        ObjectName::new(format!("fleet-member-{cluster}"), format!("{cluster}-shop-{slice}"))
    }

    /// Name of an imported slice.
    pub(super) fn here(cluster: &str, slice: &str) -> ObjectName {
        ObjectName::new("shop", format!("{cluster}-shop-{slice}"))
    }

    /// A cluster exports a slice of the Service.
    pub(super) fn export_slice(&mut self, cluster: &str, slice: &str, addresses: &[&str]) {
        let name = Self::on_hub(cluster, slice);
        self.export_as(&name, cluster, slice, addresses);
    }

    pub(super) fn export_as(
        &mut self,
        name: &ObjectName,
        cluster: &str,
        slice: &str,
        addresses: &[&str],
    ) {
        let family = if addresses.iter().any(|it| it.contains(':')) { "IPv6" } else { "IPv4" };
        let endpoints: Vec<_> = addresses
            .iter()
            .map(|it| json!({ "addresses": [it], "hostname": "web-0", "zone": "z1" }))
            .collect();
        let object = json!({
            "metadata": { "labels": { (labels::MULTICLUSTER_NAMESPACE): "shop" } },
            "spec": {
                "addressType": family, "endpoints": endpoints,
                "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
                "endpointSliceReference": {
                    "clusterId": cluster, "kind": "EndpointSlice", "namespace": "shop",
                    "name": slice, "namespacedName": format!("shop/{slice}"),
                    "resourceVersion": "1", "generation": 1, "uid": format!("{cluster}-{slice}"),
                    "exportedSince": "2025-12-31T23:59:58Z",
                },
                "ownerServiceReference": {
                    "namespace": "shop", "name": "web", "namespacedName": "shop/web",
                },
            },
        });
        self.hub.create(kinds::ENDPOINT_SLICE_EXPORT, name, object).unwrap();
    }

    /// Endpoints of an exported slice change.
    pub(super) fn move_endpoints(&mut self, cluster: &str, slice: &str, addresses: &[&str]) {
        let name = Self::on_hub(cluster, slice);
        let endpoints: Vec<_> = addresses.iter().map(|it| json!({ "addresses": [it] })).collect();
        let set = |object: &mut Value| {
            let reference = &mut object["spec"]["endpointSliceReference"];
            reference["generation"] = json!(reference["generation"].as_i64().unwrap() + 1);
            object["spec"]["endpoints"] = json!(endpoints);
        };
        self.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, set).unwrap();
    }

    pub(super) fn unexport_slice(&mut self, cluster: &str, slice: &str) {
        self.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &Self::on_hub(cluster, slice)).unwrap();
    }

    /// This cluster exports the Service, too, with one slice; the hub knows of it.
    pub(super) fn export_own(&mut self, addresses: &[&str]) {
        let ports = json!([{ "name": "http", "protocol": "TCP", "port": 80 }]);
        self.add(
            kinds::SERVICE,
            &web(),
            json!({ "spec": { "type": "ClusterIP", "ports": ports } }),
        );
        self.add(kinds::MCS_SERVICE_EXPORT, &web(), json!({}));
        let endpoints: Vec<_> = addresses.iter().map(|it| json!({ "addresses": [it] })).collect();
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4", "endpoints": endpoints,
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        });
        self.add(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), slice);
        let uid = |kind| self.own.get(kind, &web()).unwrap()["metadata"]["uid"].clone();
        let object = json!({ "spec": {
            "service": { "namespace": "shop", "name": "web" },
            "serviceUid": uid(kinds::SERVICE),
            "export": { "uid": uid(kinds::MCS_SERVICE_EXPORT), "created": "2026-01-01T00:00:00Z" },
            "type": "ClusterSetIP", "ports": [port("http", 80)], "ipFamilies": ["IPv4"],
        }});
        let name = ObjectName::new("fleet-member-a", "shop-web");
        self.hub.create(kinds::EXPORTED_SERVICE, &name, object).unwrap();
    }

    pub(super) fn snapshot(&self) -> MemberSnapshot {
        let mut snapshot = crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub);
        snapshot.schema = HubSchema::view(Some(HubSchema::OURS));
        snapshot.resolved_services = self.as_read(&snapshot.resolved_services);
        snapshot.fleet_slices = self.as_read(&snapshot.fleet_slices);
        if !self.settled {
            snapshot.resolved_services = snapshot.resolved_services.unsettled();
            snapshot.fleet_slices = snapshot.fleet_slices.unsettled();
        }
        if self.listed_anew == Some(ListedAnew::NewLeader) {
            snapshot.fleet_slices =
                snapshot.fleet_slices.in_state(SourceState::Resyncing).unsettled();
        }
        if self.listed_anew == Some(ListedAnew::FromTimeToTime) {
            snapshot.resolved_services =
                snapshot.resolved_services.in_state(SourceState::Resyncing);
            snapshot.fleet_slices = snapshot.fleet_slices.in_state(SourceState::Resyncing);
            snapshot.fleet_reports = snapshot.fleet_reports.in_state(SourceState::Resyncing);
        }
        if !self.heard {
            snapshot.resolved_services = View::default().in_state(SourceState::Pending);
            snapshot.fleet_slices = View::default().in_state(SourceState::Pending);
            snapshot.fleet_reports = View::default().in_state(SourceState::Pending);
            snapshot.exported_services = View::default().in_state(SourceState::Pending);
            snapshot.cluster_reports = View::default().in_state(SourceState::Pending);
            snapshot.hub_service_traffics = View::default().in_state(SourceState::Pending);
            snapshot.fleet_traffics = View::default().in_state(SourceState::Pending);
            snapshot.member_traffics = View::default().in_state(SourceState::Pending);
        }
        snapshot
    }

    /// A view without the objects that cannot be read.
    fn as_read<T: Tracked + Clone>(&self, view: &View<T>) -> View<T> {
        let readable = view.iter().filter(|object| !self.unreadable.contains(&object.name));
        let read = View::of(readable.cloned());
        self.unreadable.iter().cloned().fold(read, View::with_defect)
    }

    pub(super) fn plan(&self) -> Plan {
        let recalled = self.memory.recall(&Subject::standard(&web()));
        recalling(&self.settings, &web(), &self.snapshot(), recalled, self.own.now())
    }

    pub(super) fn execute(&mut self, plan: &Plan) -> Vec<(Step, Refusal)> {
        self.events.extend(plan.events.iter().cloned());
        for measured in &plan.measurements {
            self.memory.take(&measured.what);
        }
        let refused = execute(plan, &mut [&mut self.own, &mut self.hub]);
        assert_eq!(self.on_headless(), [], "an address on a headless import");
        refused
    }

    /// Headless imports with addresses: DNS would answer with them.
    fn on_headless(&self) -> Vec<ObjectName> {
        let imports = self.own.objects(kinds::MCS_SERVICE_IMPORT);
        let wrong = imports.filter(|(_, import)| {
            let spec = &import["spec"];
            let has_ips = spec["ips"].as_array().is_some_and(|ips| !ips.is_empty());
            spec["type"] == "Headless" && has_ips
        });
        wrong.map(|(name, _)| name.clone()).collect()
    }

    /// Runs until there is nothing to write at once.
    pub(super) fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.steps.is_empty() {
                self.execute(&plan);
                return;
            }
            let refused = self.execute(&plan);
            assert_eq!(refused, [], "the model is never behind");
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// Executes what is due after a delay.
    pub(super) fn wait(&mut self) {
        let mut plan = self.plan();
        let later = std::mem::take(&mut plan.debounced);
        let mut steps = Vec::new();
        for later in later {
            later.join(&mut steps);
        }
        self.execute(&Plan { steps, ..Plan::default() });
    }

    /// Forgets what happened so far. At rest nothing is due, not even later.
    pub(super) fn rest(&mut self) {
        let plan = self.plan();
        assert!(plan.is_empty(), "{plan:#?}");
        self.own.take_writes();
        self.hub.take_writes();
        self.events.clear();
    }

    /// The writes since then, as verb and kind, without its group. None goes to the hub.
    pub(super) fn writes(&mut self) -> Vec<String> {
        assert_eq!(self.hub.take_writes(), [], "importers write nothing there");
        let writes = self.own.take_writes();
        let kind = |kind: &str| kind.split('.').next().map(str::to_owned).unwrap_or_default();
        writes.iter().map(|write| format!("{} {}", write.verb, kind(write.kind))).collect()
    }

    /// Reasons of the Events since then.
    pub(super) fn told(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.reason).collect()
    }

    pub(super) fn import(&self) -> Option<&Value> {
        self.own.get(kinds::MCS_SERVICE_IMPORT, &web())
    }

    /// The addresses that DNS answers with.
    pub(super) fn ips(&self) -> Value {
        self.import().map(|import| import["spec"]["ips"].clone()).unwrap_or_default()
    }

    /// Status and reason of the condition Ready.
    pub(super) fn ready(&self) -> String {
        let conditions = self.import().unwrap()["status"]["conditions"].clone();
        let ready = &conditions[0];
        format!("{} {}", ready["status"].as_str().unwrap(), ready["reason"].as_str().unwrap())
    }

    /// The imported slices: cluster, addresses, ports.
    pub(super) fn slices(&self) -> Vec<String> {
        let slices = self.own.objects(kinds::ENDPOINT_SLICE);
        let ours = slices.filter(|(_, slice)| {
            slice["metadata"]["labels"][labels::MANAGED_BY] == labels::MANAGED_BY_MULTICLUSTER
        });
        let line = |slice: &Value| {
            let cluster = &slice["metadata"]["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER];
            let endpoints = slice["endpoints"].as_array().unwrap().iter();
            let addresses: Vec<_> =
                endpoints.map(|it| it["addresses"][0].as_str().unwrap()).collect();
            let ports = slice["ports"].as_array().unwrap().iter();
            let ports: Vec<_> = ports.map(|it| it["name"].as_str().unwrap_or("-")).collect();
            format!("{} {} {}", cluster.as_str().unwrap(), addresses.join(","), ports.join(","))
        };
        ours.map(|(_, slice)| line(slice)).collect()
    }

    /// Whether nothing of the import is left.
    pub(super) fn is_clean(&self) -> bool {
        let services = self.own.names(kinds::SERVICE);
        self.import().is_none()
            && self.slices().is_empty()
            && !services.iter().any(|name| name.name.starts_with("derived-"))
    }

    /// Another hub in the place of this one: the same member, another incarnation.
    pub(super) fn rebuild_hub(&mut self) {
        self.hub = ModelServer::new(ClusterId::Hub);
        let system = ObjectName::cluster("kube-system");
        let uid = self.own.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"].clone();
        self.claim("a", &uid);
        self.incarnate("a", "other-uid/0");
    }

    /// The incarnation that confirmed the import.
    pub(super) fn mark(&self) -> &str {
        let annotations = &self.import().unwrap()["metadata"]["annotations"];
        annotations[annotations::MULTICLUSTER_HUB].as_str().unwrap()
    }
}
