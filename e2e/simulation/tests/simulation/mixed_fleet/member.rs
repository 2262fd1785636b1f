//! A member cluster, its hub, and our agent on it.

use std::collections::BTreeSet;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, Plan, affected_keys};
use member_agent::Settings;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::snapshot::MemberSnapshot;
use serde_json::{Value, json};

/// The Service that crosses, in the exporter as well as in the importer.
pub(crate) fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

/// Its slice in the exporter.
pub(crate) fn slice() -> ObjectName {
    ObjectName::new("team", "shop-x1")
}

/// Member "a" of a fleet. What the hub agent does is done by the tests.
pub(crate) struct Member {
    pub(crate) own: ModelServer,
    pub(crate) hub: ModelServer,
    /// What the hub is known to serve.
    pub(crate) schema: Option<HubSchema>,
    settings: Settings,
    export: ExportController,
    import: ImportController,
}

impl Member {
    pub(crate) fn new() -> Self {
        let mut own = ModelServer::new(ClusterId::Local);
        let mut hub = ModelServer::new(ClusterId::Hub);
        for (server, namespaces) in
            [(&mut own, ["team", "fleet-system"]), (&mut hub, ["team", "fleet-member-a"])]
        {
            for namespace in namespaces {
                let name = ObjectName::cluster(namespace);
                server.create(kinds::NAMESPACE, &name, json!({})).unwrap();
            }
        }
        let settings = Settings::new("a");
        Self {
            own,
            hub,
            schema: None,
            export: ExportController { settings: settings.clone() },
            import: ImportController::new(settings.clone()),
            settings,
        }
    }

    /// A member whose Service shop our agent has exported, and the hub accepted.
    pub(crate) fn exporting() -> Self {
        let mut member = Self::new();
        member.user_exports();
        member.settle();
        member.hub_accepts();
        member.settle();
        member
    }

    /// A Service with a slice, and a ServiceExport.
    pub(crate) fn user_exports(&mut self) {
        let service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1",
            "ports": [
                { "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" },
                { "name": "dns", "protocol": "UDP", "port": 53, "targetPort": 5353 },
            ],
        }});
        self.own.create(kinds::SERVICE, &shop(), service).unwrap();
        self.own.create(kinds::ENDPOINT_SLICE, &slice(), user_slice()).unwrap();
        self.own.create(kinds::SERVICE_EXPORT, &shop(), json!({})).unwrap();
    }

    /// The hub's verdict on whatever is exported.
    pub(crate) fn hub_accepts(&mut self) {
        for name in self.hub.names(kinds::INTERNAL_SERVICE_EXPORT) {
            let accept = |export: &mut Value| {
                let generation = export["metadata"]["generation"].clone();
                export["status"] = json!({ "conditions": [condition(
                    "Conflict", "False", "NoConflictFound", "no conflict", &generation
                )] });
            };
            self.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &name, accept).unwrap();
        }
    }

    /// Lets our agent work until it has nothing left to write, after any delay, and returns what it
    /// wrote.
    pub(crate) fn settle(&mut self) -> Vec<String> {
        self.own.take_writes();
        self.hub.take_writes();
        for _ in 0..20 {
            if !self.pass(false) && !self.pass(true) {
                return self.written();
            }
        }
        panic!("no rest: {:#?}", self.written());
    }

    fn pass(&mut self, patient: bool) -> bool {
        let snapshot = self.snapshot();
        let mut acted = false;
        for key in keys(&self.export, &snapshot) {
            let plan = self.export.plan(&key, &self.snapshot(), self.own.now());
            acted |= self.send(plan, patient);
        }
        for key in keys(&self.import, &snapshot) {
            let plan = self.import.plan(&key, &self.snapshot(), self.own.now());
            acted |= self.send(plan, patient);
        }
        acted
    }

    fn send<M>(&mut self, mut plan: Plan<M>, patient: bool) -> bool {
        if patient {
            plan.steps.extend(plan.debounced.drain(..).map(|later| later.step));
        }
        let refused = execute(&plan, &mut [&mut self.own, &mut self.hub]);
        assert_eq!(refused, [], "the model is never behind");
        !plan.steps.is_empty()
    }

    fn snapshot(&self) -> MemberSnapshot {
        let namespace = self.settings.identity.hub_namespace.as_str();
        let schema = HubSchema::view(self.schema);
        MemberSnapshot { schema, ..snapshot(&[&self.own, &self.hub], Some(namespace)) }
    }

    fn written(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for (cluster, server) in [("own", &mut self.own), ("hub", &mut self.hub)] {
            let writes = server.take_writes().into_iter();
            all.extend(writes.map(|w| format!("{cluster}: {} {} {}", w.verb, w.kind, w.name)));
        }
        all
    }

    /// Names of the slices' copies on the hub that are not being deleted.
    pub(crate) fn copies(&self) -> BTreeSet<String> {
        let names = self.hub.names(kinds::ENDPOINT_SLICE_EXPORT).into_iter();
        let live = names.filter(|name| {
            let copy = self.hub.get(kinds::ENDPOINT_SLICE_EXPORT, name).unwrap();
            copy["metadata"]["deletionTimestamp"].is_null()
        });
        live.map(|name| name.name.to_string()).collect()
    }
}

/// A slice of shop with one ready endpoint of two.
pub(crate) fn user_slice() -> Value {
    json!({
        "metadata": { "labels": { "kubernetes.io/service-name": "shop" } },
        "addressType": "IPv4",
        "endpoints": [
            { "addresses": ["10.1.0.1"], "conditions": { "ready": true } },
            { "addresses": ["10.1.0.2"], "conditions": { "ready": false } },
        ],
        "ports": [
            { "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" },
            { "name": "dns", "protocol": "UDP", "port": 5353 },
        ],
    })
}

pub(crate) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
    generation: &Value,
) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": "2025-12-31T23:00:00Z" })
}

/// Value of an object's field in a server, null if there is none.
pub(crate) fn field(
    server: &ModelServer,
    kind: ResourceKind,
    name: &ObjectName,
    path: &str,
) -> Value {
    let object = server.get(kind, name).cloned().unwrap_or_default();
    object.pointer(path).cloned().unwrap_or_default()
}

/// All keys that a snapshot touches.
fn keys<R: Controller<Snapshot = MemberSnapshot>>(
    controller: &R,
    snapshot: &MemberSnapshot,
) -> Vec<R::Key> {
    affected_keys(controller, &MemberSnapshot::default(), snapshot).into_iter().collect()
}
