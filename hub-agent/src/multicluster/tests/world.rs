//! A hub with members that export by the standard API.

use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::multicluster::mode::Mode;
use fleet_model_server::{ModelServer, execute, plans_computed_twice, snapshot};
use fleet_plan::{Controller, Plan};
use serde_json::{Value, json};

use crate::Settings;
use crate::member::MemberController;
use crate::multicluster::MulticlusterController;
use crate::snapshot::HubSnapshot;

/// What is due so soon is waited for.
const SOON: Duration = Duration::from_secs(5);

/// A hub of members "a" to "d", whose clusters are known, and the Service "shop/web".
pub(super) struct World {
    pub(super) hub: ModelServer,
    pub(super) settings: Settings,
}

/// An object in a member's namespace.
pub(super) fn in_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{member}"), name)
}

/// A member's export of the Service.
pub(super) fn of_web(member: &str) -> ObjectName {
    in_member(member, "shop-web")
}

/// A slice of the Service that a member exports.
pub(super) fn slice_of(member: &str) -> ObjectName {
    in_member(member, &format!("{member}-web-1"))
}

/// What the members read of the Service.
pub(super) fn web() -> ObjectName {
    ObjectName::new(SYSTEM_NAMESPACE, "shop-web")
}

/// An export of the Service with one port.
pub(super) fn export(member: &str, number: i32) -> Value {
    export_of("shop", "web", member, number)
}

pub(super) fn export_of(namespace: &str, name: &str, member: &str, number: i32) -> Value {
    json!({ "spec": {
        "service": { "namespace": namespace, "name": name },
        "serviceUid": format!("{member}-service"),
        "export": { "uid": format!("{member}-export"), "created": "2020-01-01T00:00:00Z" },
        "type": "ClusterSetIP",
        "ports": [{ "name": "http", "protocol": "TCP", "port": number }],
        "ipFamilies": ["IPv4"],
    }})
}

impl World {
    pub(super) fn new() -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        for name in ["kube-system", SYSTEM_NAMESPACE] {
            hub.create(kinds::NAMESPACE, &ObjectName::cluster(name), json!({})).unwrap();
        }
        for member in ["a", "b", "c", "d"] {
            let namespace = ObjectName::cluster(format!("fleet-member-{member}"));
            hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
            let report = json!({ "spec": { "clusterUid": format!("{member}-cluster") } });
            hub.create(kinds::CLUSTER_REPORT, &in_member(member, member), report).unwrap();
        }
        let settings = Settings { multicluster: Mode::On, ..Settings::default() };
        let mut world = Self { hub, settings };
        world.settle();
        world.hub.take_writes();
        world
    }

    /// "a" exports the Service.
    pub(super) fn exported() -> Self {
        let mut world = Self::new();
        world.export("a", 80);
        world.settle();
        world.hub.take_writes();
        world
    }

    /// A member records its cluster.
    pub(super) fn report(&mut self, member: &str, uid: &str) {
        self.hub.advance(1);
        let spec = json!({ "spec": { "clusterUid": uid } });
        self.hub.create(kinds::CLUSTER_REPORT, &in_member(member, member), spec).unwrap();
    }

    pub(super) fn export(&mut self, member: &str, number: i32) {
        self.hub.advance(1);
        let object = export(member, number);
        self.hub.create(kinds::EXPORTED_SERVICE, &of_web(member), object).unwrap();
    }

    pub(super) fn unexport(&mut self, member: &str) {
        self.hub.advance(1);
        self.hub.delete(kinds::EXPORTED_SERVICE, &of_web(member)).unwrap();
    }

    pub(super) fn edit(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        edit: impl FnOnce(&mut Value),
    ) {
        self.hub.edit(kind, name, edit).unwrap();
    }

    pub(super) fn snapshot(&self) -> HubSnapshot {
        snapshot(&[&self.hub], None)
    }

    /// The plans of both controllers for all that `seen` shows, as a hub agent that has just started makes them.
    pub(super) fn plans(&self, seen: &HubSnapshot) -> Vec<Plan> {
        let members = MemberController { settings: self.settings.clone() };
        let services = MulticlusterController { settings: self.settings.clone() };
        [self.of(&members, seen), self.of(&services, seen)].concat()
    }

    fn of<C: Controller<Snapshot = HubSnapshot, Measurement = std::convert::Infallible>>(
        &self,
        controller: &C,
        seen: &HubSnapshot,
    ) -> Vec<Plan> {
        plans_computed_twice(controller, seen, self.hub.now())
    }

    /// Executes plans until they are empty: time passes.
    pub(super) fn settle(&mut self) {
        self.settle_with(true);
    }

    /// Executes what is due at once.
    pub(super) fn settle_at_once(&mut self) {
        self.settle_with(false);
    }

    fn settle_with(&mut self, patient: bool) {
        for _ in 0..20 {
            let mut plans = self.plans(&self.snapshot());
            for plan in &mut plans {
                let later = std::mem::take(&mut plan.debounced);
                plan.steps.extend(later.into_iter().filter(|_| patient).map(|later| later.step));
            }
            if plans.iter().all(Plan::is_empty) {
                let wake = plans.iter().filter_map(|plan| plan.wake_after).min();
                let Some(soon) = wake.filter(|wake| patient && *wake <= SOON) else { return };
                self.hub.advance(i64::try_from(soon.as_secs()).unwrap() + 1);
            }
            for plan in plans {
                let refused = execute(&plan, &mut [&mut self.hub]);
                assert!(refused.is_empty(), "{refused:#?}");
            }
        }
        panic!("no rest: {:#?}", self.plans(&self.snapshot()));
    }

    /// A slice of the Service that a member exports, with these labels.
    pub(super) fn add_slice(&mut self, member: &str, labels: &Value) {
        let slice = json!({ "metadata": { "labels": labels }, "spec": {
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }],
            "endpointSliceReference": {
                "clusterId": member, "kind": "EndpointSlice", "namespace": "shop",
                "name": "web-1", "namespacedName": "shop/web-1", "resourceVersion": "1",
                "generation": 1, "uid": "u",
            },
            "ownerServiceReference":
                { "namespace": "shop", "name": "web", "namespacedName": "shop/web" },
        }});
        self.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &slice_of(member), slice).unwrap();
    }

    /// The writes since the last call, as `verb kind`.
    pub(super) fn writes(&mut self) -> Vec<String> {
        let writes = self.hub.take_writes();
        writes.iter().map(|write| format!("{} {}", write.verb, write.kind)).collect()
    }

    pub(super) fn resolved(&self) -> Option<&Value> {
        self.hub.get(kinds::RESOLVED_SERVICE, &web())
    }

    /// The clusters whose endpoints form the Service; none if it is not resolved.
    pub(super) fn exporters(&self) -> Vec<&str> {
        let exporters =
            self.resolved().and_then(|resolved| resolved["spec"]["exporters"].as_array());
        exporters.into_iter().flatten().filter_map(|it| it["cluster"].as_str()).collect()
    }

    /// Reason of the condition with which an export is refused.
    pub(super) fn refusal(&self, member: &str) -> Option<&str> {
        let export = self.hub.get(kinds::EXPORTED_SERVICE, &of_web(member))?;
        let ready = export["status"]["conditions"].as_array()?.first()?;
        assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("False")));
        ready["reason"].as_str()
    }
}
