//! A member in memory, its hub, and what happens to both.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, Write, execute};
use fleet_plan::Event;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::plan;
use crate::Settings;
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;

/// Member "a": its own API server and the hub's.
pub(super) struct World {
    pub(super) own: ModelServer,
    pub(super) hub: ModelServer,
    pub(super) settings: Settings,
    /// What the hub is known to serve.
    pub(super) schema: Option<HubSchema>,
    /// Events since the last [`World::rest`].
    pub(super) events: Vec<Event>,
    /// Samples of acknowledged writes since then.
    pub(super) samples: Vec<Sample>,
}

/// The Service that is exported.
pub(super) fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

/// Its slice.
pub(super) fn slice() -> ObjectName {
    ObjectName::new("team", "shop-x1")
}

/// Where its export is on the hub.
pub(super) fn on_hub() -> ObjectName {
    ObjectName::new("fleet-member-a", "team-shop")
}

/// Labels of a slice that backs it.
pub(super) fn backing() -> Value {
    json!({ "kubernetes.io/service-name": "shop" })
}

/// A Service; `spec` is merged into its own.
pub(super) fn service(spec: &Value) -> Value {
    let mut service = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" }],
    }});
    for (key, value) in spec.as_object().unwrap() {
        service["spec"][key] = value.clone();
    }
    service
}

/// A slice with two ready endpoints and one that is not.
pub(super) fn slice_object(address_type: &str, labels: &Value) -> Value {
    json!({
        "metadata": { "labels": labels },
        "addressType": address_type,
        "endpoints": [
            { "addresses": ["10.1.0.1"], "conditions": { "ready": true } },
            { "addresses": ["10.1.0.2"] },
            { "addresses": ["10.1.0.3"], "conditions": { "ready": false, "serving": false } },
        ],
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" }],
    })
}

/// A measured export.
#[derive(Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) origin: String,
    pub(super) since: Timestamp,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            own: ModelServer::new(ClusterId::Local),
            hub: ModelServer::new(ClusterId::Hub),
            settings: Settings::new("a"),
            schema: None,
            events: Vec::new(),
            samples: Vec::new(),
        }
    }

    pub(super) fn with_service() -> Self {
        let mut world = Self::new();
        world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
        world.add_slice(&slice(), &backing());
        world
    }

    /// A member whose ServiceExport of shop waits for the hub.
    pub(super) fn pending() -> Self {
        let mut world = Self::with_service();
        world.export();
        world.settle();
        world
    }

    /// A member at rest whose export of shop the hub accepted.
    pub(super) fn exported() -> Self {
        let mut world = Self::pending();
        world.judge("False");
        world.settle();
        world.rest();
        world
    }

    pub(super) fn export(&mut self) {
        self.own.create(kinds::SERVICE_EXPORT, &shop(), json!({})).unwrap();
    }

    pub(super) fn add_slice(&mut self, name: &ObjectName, labels: &Value) {
        self.own.create(kinds::ENDPOINT_SLICE, name, slice_object("IPv4", labels)).unwrap();
    }

    /// Sets the weight annotation of the export, or takes it off.
    pub(super) fn weigh(&mut self, weight: Option<&str>) {
        let set = |export: &mut Value| match weight {
            Some(weight) => export["metadata"]["annotations"][annotations::WEIGHT] = json!(weight),
            None => export["metadata"]["annotations"] = json!({}),
        };
        self.own.edit(kinds::SERVICE_EXPORT, &shop(), set).unwrap();
    }

    /// Changes the spec of the Service.
    pub(super) fn respec(&mut self, field: &str, value: Value) {
        let set = |service: &mut Value| service["spec"][field] = value;
        self.own.edit(kinds::SERVICE, &shop(), set).unwrap();
    }

    /// What the hub does once it has decided on the export as it is there.
    pub(super) fn judge(&mut self, conflict: &str) {
        let reason = match conflict {
            "True" => "ConflictFound",
            "False" => "NoConflictFound",
            _ => "ServicePendingConflictResolution",
        };
        let generation = self.internal().unwrap()["metadata"]["generation"].clone();
        let condition = json!({ "type": "Conflict", "status": conflict, "reason": reason,
            "message": "as decided", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": generation });
        let set = |export: &mut Value| export["status"] = json!({ "conditions": [condition] });
        self.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), set).unwrap();
    }

    pub(super) fn snapshot(&self) -> MemberSnapshot {
        let snapshot = crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub);
        MemberSnapshot { schema: HubSchema::view(self.schema), ..snapshot }
    }

    pub(super) fn plan(&self) -> Plan {
        self.plan_of(&shop())
    }

    pub(super) fn plan_of(&self, service: &ObjectName) -> Plan {
        plan(&self.settings, service, &self.snapshot(), self.own.now())
    }

    /// Runs until nothing is left to write at once.
    pub(super) fn settle(&mut self) {
        self.settle_service(&shop());
    }

    pub(super) fn settle_service(&mut self, service: &ObjectName) {
        for _ in 0..20 {
            let plan = self.plan_of(service);
            if plan.steps.is_empty() {
                return;
            }
            self.execute(&plan);
        }
        panic!("no rest: {:#?}", self.plan_of(service));
    }

    /// Runs until nothing is left to write at all: half a second and more passes.
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

    pub(super) fn execute(&mut self, plan: &Plan) {
        self.events.extend(plan.events.iter().cloned());
        let refused = execute(plan, &mut [&mut self.own, &mut self.hub]);
        assert_eq!(refused, [], "the model is never behind");
        for measured in &plan.measurements {
            let Measurement::Exported { origin, since } = measured.what.clone() else {
                panic!("{measured:?}")
            };
            self.samples.push(Sample { origin, since });
        }
    }

    /// Forgets what happened so far.
    pub(super) fn rest(&mut self) {
        self.own.take_writes();
        self.hub.take_writes();
        self.events.clear();
        self.samples.clear();
    }

    /// All writes since then.
    pub(super) fn writes(&mut self) -> Vec<Write> {
        let mut writes = self.own.take_writes();
        writes.extend(self.hub.take_writes());
        writes
    }

    /// Types and reasons of the events since then.
    pub(super) fn told(&self) -> Vec<String> {
        let told = |event: &Event| format!("{:?} {}", event.event_type, event.reason);
        self.events.iter().map(told).collect()
    }

    /// Lets the hub release what is being deleted.
    pub(super) fn release(&mut self) {
        for kind in [kinds::INTERNAL_SERVICE_EXPORT, kinds::ENDPOINT_SLICE_EXPORT] {
            for name in self.hub.names(kind) {
                if is_terminating(self.hub.get(kind, &name).unwrap()) {
                    let release = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
                    self.hub.edit(kind, &name, release).unwrap();
                }
            }
        }
    }

    /// Plans and hub take turns until neither has anything to do.
    pub(super) fn settle_with_hub(&mut self) {
        for _ in 0..4 {
            self.settle();
            self.release();
        }
        self.settle();
    }

    /// Status and reason of a condition of the ServiceExport.
    pub(super) fn condition(&self, type_: &str) -> (String, String) {
        let found = self.whole_condition(type_);
        let text = |field: &str| found[field].as_str().unwrap_or("none").to_owned();
        (text("status"), text("reason"))
    }

    /// A condition of the ServiceExport, or null.
    pub(super) fn whole_condition(&self, type_: &str) -> Value {
        let export = self.own.get(kinds::SERVICE_EXPORT, &shop()).unwrap();
        let conditions = export["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default()
    }

    /// What the hub has of the slices, without what is being deleted.
    pub(super) fn copies(&self) -> Vec<Value> {
        let names = self.hub.names(kinds::ENDPOINT_SLICE_EXPORT).into_iter();
        let objects = names.map(|name| self.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap());
        objects.filter(|copy| !is_terminating(copy)).cloned().collect()
    }

    pub(super) fn internal(&self) -> Option<&Value> {
        self.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &on_hub())
    }

    /// Whether the export is on the hub and not being deleted.
    pub(super) fn is_on_hub(&self) -> bool {
        self.internal().is_some_and(|internal| !is_terminating(internal))
    }

    pub(super) fn uid(&self, kind: ResourceKind, name: &ObjectName) -> Value {
        self.own.get(kind, name).unwrap()["metadata"]["uid"].clone()
    }

    /// Finalizers of the ServiceExport.
    pub(super) fn finalizers(&self) -> Value {
        self.own.get(kinds::SERVICE_EXPORT, &shop()).unwrap()["metadata"]["finalizers"].clone()
    }
}

pub(super) fn is_terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}
