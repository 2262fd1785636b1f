//! A member in memory, its hub, and what happens to both.

use fleet_accumulator::ClusterId;
use fleet_api::multicluster::standard::CLUSTER_ID;
use fleet_api::{ObjectName, annotations, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, Write, execute};
use fleet_plan::Event;
use serde_json::{Value, json};

use super::super::plan;
use crate::measurement::Plan;
use crate::settings::MulticlusterMode;
use crate::snapshot::MemberSnapshot;
use crate::{Settings, export};

/// The hub that the member talks to.
pub(super) const HUB: &str = "hub-uid/0";

/// Member "a", which takes part in the standard API.
pub(super) struct World {
    pub(super) own: ModelServer,
    pub(super) hub: ModelServer,
    pub(super) settings: Settings,
    /// What the hub is known to serve.
    pub(super) schema: Option<HubSchema>,
    /// Events since the last [`World::rest`].
    pub(super) events: Vec<Event>,
}

/// The Service that is exported.
pub(super) fn web() -> ObjectName {
    ObjectName::new("shop", "web")
}

/// Its export on the hub.
pub(super) fn on_hub() -> ObjectName {
    ObjectName::new("fleet-member-a", "shop-web")
}

/// What is in force for it.
pub(super) fn in_force() -> ObjectName {
    ObjectName::new("fleet-system", "shop-web")
}

/// The record of this cluster.
pub(super) fn report() -> ObjectName {
    ObjectName::new("fleet-member-a", "a")
}

/// A Service; `spec` is merged into its own.
pub(super) fn service(spec: &Value) -> Value {
    let mut service = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
        "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": "http" }],
    }});
    for (key, value) in spec.as_object().unwrap() {
        service["spec"][key] = value.clone();
    }
    service
}

impl World {
    /// A member that the hub has accepted.
    pub(super) fn new() -> Self {
        let mut world = Self::unknown();
        world.claim();
        world.answer("True", "");
        world
    }

    /// A member that the hub does not know.
    pub(super) fn unknown() -> Self {
        let mut settings = Settings::new("a");
        settings.multicluster.mode = MulticlusterMode::On;
        let (own, hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        let schema = Some(HubSchema::OURS);
        let mut world = Self { own, hub, settings, schema, events: Vec::new() };
        for namespace in ["kube-system", "shop", "fleet-system"] {
            world.add(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({}));
        }
        world
    }

    /// A member that wants to export the Service, and has written nothing yet.
    pub(super) fn asked() -> Self {
        let mut world = Self::new();
        world.add(kinds::SERVICE, &web(), service(&json!({})));
        world.export();
        world
    }

    /// A member at rest that exports the Service.
    pub(super) fn exported() -> Self {
        let mut world = Self::asked();
        world.settle();
        world.resolve(&json!([]));
        world.settle();
        world.rest();
        world
    }

    pub(super) fn add(&mut self, kind: fleet_api::ResourceKind, name: &ObjectName, object: Value) {
        self.own.create(kind, name, object).unwrap();
    }

    /// A slice with two endpoints of the Service.
    pub(super) fn add_slice(&mut self) {
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4",
            "endpoints": [
                { "addresses": ["10.1.0.1"], "hostname": "web-0", "zone": "east-1" },
                { "addresses": ["10.1.0.2"], "zone": "east-2" },
            ],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        });
        self.add(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), slice);
    }

    pub(super) fn export(&mut self) {
        self.add(kinds::MCS_SERVICE_EXPORT, &web(), json!({}));
    }

    /// The membership controller records the cluster.
    pub(super) fn claim(&mut self) {
        let system = ObjectName::cluster("kube-system");
        let uid = self.own.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"].clone();
        let object = json!({ "spec": { "clusterUid": uid } });
        self.hub.create(kinds::CLUSTER_REPORT, &report(), object).unwrap();
    }

    /// The hub agent answers.
    pub(super) fn answer(&mut self, status: &str, message: &str) {
        let condition = condition("Accepted", status, "Accepted", message);
        let status = json!({
            "incarnation": HUB, "clustersetId": "fleet", "conditions": [condition],
        });
        let set = |object: &mut Value| object["status"] = status;
        self.hub.edit(kinds::CLUSTER_REPORT, &report(), set).unwrap();
    }

    /// The hub agent lists the exporters, this cluster among them if it exports, with these conflicts.
    pub(super) fn resolve(&mut self, conflicts: &Value) {
        let exported = self.hub.get(kinds::EXPORTED_SERVICE, &on_hub()).cloned();
        let Some(exported) = exported else {
            if self.hub.get(kinds::RESOLVED_SERVICE, &in_force()).is_some() {
                self.hub.delete(kinds::RESOLVED_SERVICE, &in_force()).unwrap();
            }
            return;
        };
        let mut spec = exported["spec"].clone();
        let fields = spec.as_object_mut().unwrap();
        fields.retain(|field, _| field != "serviceUid" && field != "export");
        spec["winner"] = json!("a");
        spec["exporters"] = json!([{ "cluster": "a" }]);
        spec["conflicts"] = conflicts.clone();
        let set = |object: &mut Value| object["spec"] = spec.clone();
        if self.hub.edit(kinds::RESOLVED_SERVICE, &in_force(), set).is_err() {
            let object = json!({ "spec": spec });
            self.hub.create(kinds::RESOLVED_SERVICE, &in_force(), object).unwrap();
        }
    }

    /// The hub agent refuses the export.
    pub(super) fn refuse(&mut self, message: &str) {
        let condition = condition("Ready", "False", "PolicyDenied", message);
        let set = |object: &mut Value| object["status"] = json!({ "conditions": [condition] });
        self.hub.edit(kinds::EXPORTED_SERVICE, &on_hub(), set).unwrap();
    }

    /// Another implementation writes the ServiceImport, or this agent if it has the mark.
    pub(super) fn import(&mut self, ours: bool) {
        let mut object = json!({ "spec": { "type": "ClusterSetIP", "ports": [] } });
        if ours {
            object["metadata"]["annotations"][annotations::MULTICLUSTER_HUB] = json!(HUB);
        }
        self.add(kinds::MCS_SERVICE_IMPORT, &web(), object);
    }

    /// The property of the cluster's id.
    pub(super) fn name_cluster(&mut self, id: &str) {
        let object = json!({ "spec": { "value": id } });
        self.add(kinds::CLUSTER_PROPERTY, &ObjectName::cluster(CLUSTER_ID), object);
    }

    /// Changes a field of the Service's spec.
    pub(super) fn respec(&mut self, field: &str, value: Value) {
        let set = |service: &mut Value| service["spec"][field] = value;
        self.own.edit(kinds::SERVICE, &web(), set).unwrap();
    }

    pub(super) fn snapshot(&self) -> MemberSnapshot {
        let snapshot = crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub);
        MemberSnapshot { schema: HubSchema::view(self.schema), ..snapshot }
    }

    pub(super) fn plan(&self) -> Plan {
        self.plan_on(&self.snapshot())
    }

    pub(super) fn plan_on(&self, snapshot: &MemberSnapshot) -> Plan {
        plan(&self.settings, &web(), snapshot, self.own.now())
    }

    /// What the controller of slices plans for the Service.
    pub(super) fn slices(&self) -> Plan {
        export::plan(&self.settings, &web(), &self.snapshot(), self.own.now())
    }

    pub(super) fn execute(&mut self, plan: &Plan) {
        self.events.extend(plan.events.iter().cloned());
        let refused = execute(plan, &mut [&mut self.own, &mut self.hub]);
        assert_eq!(refused, [], "the model is never behind");
    }

    /// Runs both controllers until neither has anything to write at once.
    pub(super) fn settle(&mut self) {
        for _ in 0..20 {
            let plans = [self.plan(), self.slices()];
            if plans.iter().all(|plan| plan.steps.is_empty()) {
                return;
            }
            for plan in plans.iter().filter(|plan| !plan.steps.is_empty()) {
                self.execute(plan);
            }
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// Runs until nothing is left to write at all: time passes.
    pub(super) fn settle_patiently(&mut self) {
        self.settle();
        let mut plan = self.plan();
        for later in std::mem::take(&mut plan.debounced) {
            plan.steps.push(later.step);
            plan.events.extend(later.events);
        }
        self.execute(&plan);
        self.settle();
        assert!(self.plan().is_empty(), "{:#?}", self.plan());
    }

    /// Forgets what happened so far.
    pub(super) fn rest(&mut self) {
        self.own.take_writes();
        self.hub.take_writes();
        self.events.clear();
    }

    /// All writes since then.
    pub(super) fn writes(&mut self) -> Vec<Write> {
        let mut writes = self.own.take_writes();
        writes.extend(self.hub.take_writes());
        writes
    }

    /// Reasons of the Events since then.
    pub(super) fn told(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.reason).collect()
    }

    /// The spec of the export on the hub.
    pub(super) fn offered(&self) -> Option<&Value> {
        self.hub.get(kinds::EXPORTED_SERVICE, &on_hub()).map(|exported| &exported["spec"])
    }

    /// A condition of the ServiceExport, or null.
    pub(super) fn condition(&self, type_: &str) -> Value {
        let export = self.own.get(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
        let conditions = export["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default()
    }

    /// Status and reason of the conditions Valid, Ready and Conflict, `-` for one that is absent.
    pub(super) fn conditions(&self) -> [String; 3] {
        ["Valid", "Ready", "Conflict"].map(|type_| {
            let condition = self.condition(type_);
            match condition["status"].as_str() {
                Some(status) => format!("{status} {}", condition["reason"].as_str().unwrap()),
                None => "-".to_owned(),
            }
        })
    }
}

/// A condition as others write it.
pub(super) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    })
}
