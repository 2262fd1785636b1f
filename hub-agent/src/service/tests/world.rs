//! A hub with members, as the tests of this controller need it.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, annotations, finalizers, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller as _, Plan, affected_keys};
use serde_json::{Value, json};

use crate::service::{Key, ServiceController, plan};
use crate::snapshot::HubSnapshot;

/// A hub of members "a" to "d", and the Service "team/shop".
pub(super) struct World {
    pub(super) hub: ModelServer,
    pub(super) controller: ServiceController,
    /// What the hub is known to serve.
    pub(super) schema: Option<HubSchema>,
}

pub(super) fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

/// An object in a member's namespace.
pub(super) fn in_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{member}"), name)
}

/// A member's request or export of the Service.
pub(super) fn of_shop(member: &str) -> ObjectName {
    in_member(member, "team-shop")
}

pub(super) fn reference(member: &str, kind: &str, name: &str) -> Value {
    json!({
        "clusterId": member, "kind": kind, "namespace": "team", "name": name,
        "namespacedName": format!("team/{name}"), "resourceVersion": "1", "generation": 1,
        "uid": format!("{member}-{name}"),
    })
}

pub(super) fn port(number: i32) -> Value {
    json!([{ "name": "web", "protocol": "TCP", "port": number }])
}

impl World {
    pub(super) fn new() -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        for name in ["team", "fleet-member-a", "fleet-member-b", "fleet-member-c", "fleet-member-d"]
        {
            hub.create(kinds::NAMESPACE, &ObjectName::cluster(name), json!({})).unwrap();
        }
        Self { hub, controller: ServiceController::default(), schema: None }
    }

    /// "a" exports shop with one slice.
    pub(super) fn exported() -> Self {
        let mut world = Self::new();
        world.export("a", 80);
        world.slice("a", "s1", "10.1.0.1");
        world.settle();
        world
    }

    /// [`Self::exported`], and "b" imports it.
    pub(super) fn shared() -> Self {
        let mut world = Self::exported();
        world.request("b");
        world.settle();
        world
    }

    pub(super) fn export(&mut self, member: &str, number: i32) {
        self.export_ports(member, port(number));
    }

    pub(super) fn export_ports(&mut self, member: &str, ports: Value) {
        let mut object = json!({
            "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
            "spec": { "serviceReference": reference(member, "Service", "shop") },
        });
        object["spec"]["ports"] = ports;
        self.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member), object).unwrap();
        self.hub.advance(1);
    }

    pub(super) fn set_ports(&mut self, member: &str, ports: Value) {
        let set = |export: &mut Value| export["spec"]["ports"] = ports;
        self.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member), set).unwrap();
    }

    pub(super) fn request(&mut self, member: &str) {
        let reference = reference(member, "ServiceImport", "shop");
        let object = json!({
            "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
            "spec": { "serviceImportReference": reference },
        });
        self.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &of_shop(member), object).unwrap();
        self.hub.advance(1);
    }

    pub(super) fn slice(&mut self, member: &str, name: &str, address: &str) {
        let object = json!({
            "metadata": { "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT] },
            "spec": {
                "addressType": "IPv4",
                "endpoints": [{ "addresses": [address] }],
                "endpointSliceReference": reference(member, "EndpointSlice", name),
                "ownerServiceReference":
                    { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
            },
        });
        let name = in_member(member, &format!("{member}-{name}"));
        self.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &name, object).unwrap();
    }

    pub(super) fn delete(&mut self, kind: ResourceKind, name: &ObjectName) {
        self.hub.delete(kind, name).unwrap();
    }

    pub(super) fn delete_export(&mut self, member: &str) {
        self.delete(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member));
    }

    pub(super) fn delete_request(&mut self, member: &str) {
        self.delete(kinds::INTERNAL_SERVICE_IMPORT, &of_shop(member));
    }

    /// Releases copies that are being deleted, as the importers' agents do.
    pub(super) fn release_copies(&mut self) {
        for name in self.hub.names(kinds::ENDPOINT_SLICE_IMPORT) {
            let release = |copy: &mut Value| {
                if !copy["metadata"]["deletionTimestamp"].is_null() {
                    copy["metadata"]["finalizers"] = json!([]);
                }
            };
            self.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, release).unwrap();
        }
    }

    pub(super) fn set_claim(&mut self, text: &str) {
        let set = |import: &mut Value| {
            import["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY] = json!(text);
        };
        self.hub.edit(kinds::SERVICE_IMPORT, &shop(), set).unwrap();
    }

    pub(super) fn snapshot(&self) -> HubSnapshot {
        HubSnapshot { schema: HubSchema::view(self.schema), ..snapshot(&[&self.hub], None) }
    }

    pub(super) fn plan(&self) -> Plan {
        plan(&self.controller.settings, &shop(), &self.snapshot(), self.hub.now())
    }

    /// Executes plans until they are empty.
    pub(super) fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.steps.is_empty() {
                return;
            }
            execute(&plan, &mut [&mut self.hub]);
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// [`Self::settle`], which calls `look` after every single write.
    pub(super) fn settle_watched(&mut self, mut look: impl FnMut(&Self)) {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.steps.is_empty() {
                return;
            }
            let mut done = vec![false; plan.steps.len()];
            for (at, step) in plan.steps.iter().enumerate() {
                if step.after.iter().all(|id| done[id.index()]) {
                    done[at] = self.hub.execute(step).is_ok();
                    look(self);
                }
            }
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// Executes the plans of all keys, those of invalid references included, until they are empty.
    pub(super) fn settle_all(&mut self) {
        for _ in 0..20 {
            let snapshot = self.snapshot();
            let keys = affected_keys(&self.controller, &HubSnapshot::default(), &snapshot);
            let plans = keys.iter().map(|key| self.controller.plan(key, &snapshot, self.hub.now()));
            let plans: Vec<_> = plans.filter(|plan| !plan.steps.is_empty()).collect();
            if plans.is_empty() {
                return;
            }
            for plan in plans {
                execute(&plan, &mut [&mut self.hub]);
            }
        }
        panic!("no rest");
    }

    /// The plan of a key.
    pub(super) fn plan_of(&self, key: &Key) -> Plan {
        self.controller.plan(key, &self.snapshot(), self.hub.now())
    }

    pub(super) fn import(&self) -> Option<&Value> {
        self.hub.get(kinds::SERVICE_IMPORT, &shop())
    }

    /// The exporters that the ServiceImport lists.
    pub(super) fn clusters(&self) -> Vec<&str> {
        let clusters = self.import().and_then(|import| import["status"]["clusters"].as_array());
        let names = clusters.into_iter().flatten();
        names.map(|cluster| cluster["cluster"].as_str().unwrap()).collect()
    }

    pub(super) fn claim(&self) -> Value {
        let text =
            &self.import().unwrap()["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY];
        text.as_str().map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
    }

    /// The members that the claim lists.
    pub(super) fn holders(&self) -> Vec<String> {
        let claim = self.claim();
        let holders = claim["MemberClusters"].as_object().into_iter().flatten();
        holders.map(|(_, cluster)| cluster.as_str().unwrap().to_owned()).collect()
    }

    /// The members whose request is granted.
    pub(super) fn granted(&self) -> Vec<String> {
        let granted = |name: &ObjectName| {
            let request = self.hub.get(kinds::INTERNAL_SERVICE_IMPORT, name).unwrap();
            request["status"]["clusters"].as_array().is_some_and(|clusters| !clusters.is_empty())
        };
        let names = self.hub.names(kinds::INTERNAL_SERVICE_IMPORT).into_iter().filter(granted);
        names.map(|name| name.namespace["fleet-member-".len()..].to_owned()).collect()
    }

    /// A condition of an export.
    pub(super) fn condition(&self, member: &str, type_: &str) -> Option<&Value> {
        let export = self.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member)).unwrap();
        let conditions = export["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().find(|condition| condition["type"] == type_)
    }

    pub(super) fn conflict(&self, member: &str) -> &str {
        self.condition(member, "Conflict").map_or("none", |found| found["status"].as_str().unwrap())
    }

    pub(super) fn message(&self, member: &str) -> &str {
        self.condition(member, "Conflict").unwrap()["message"].as_str().unwrap()
    }

    /// Copies that are not being deleted.
    pub(super) fn copies(&self) -> Vec<String> {
        let names = self.hub.names(kinds::ENDPOINT_SLICE_IMPORT);
        let live = names.into_iter().filter(|name| {
            let copy = self.hub.get(kinds::ENDPOINT_SLICE_IMPORT, name).unwrap();
            copy["metadata"]["deletionTimestamp"].is_null()
        });
        live.map(|name| name.to_string()).collect()
    }

    pub(super) fn status_of_request(&self, member: &str) -> &Value {
        &self.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &of_shop(member)).unwrap()["status"]
    }

    pub(super) fn exists(&self, kind: ResourceKind, name: &ObjectName) -> bool {
        self.hub.get(kind, name).is_some()
    }
}
