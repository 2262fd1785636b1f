//! The controllers as the engine drives them: keys from differences of snapshots, plans for the keys.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, finalizers, kinds};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::{Controller, affected_keys};
use serde_json::json;

use crate::Settings;
use crate::export::ExportController;
use crate::import::ImportController;
use crate::measurement::{Measurement, Plan};
use crate::membership::MembershipController;
use crate::snapshot::MemberSnapshot;

struct World {
    settings: Settings,
    own: ModelServer,
    hub: ModelServer,
    seen: MemberSnapshot,
}

impl World {
    fn new() -> Self {
        let (mut own, hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        for namespace in ["team", "fleet-system"] {
            own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
        }
        Self { settings: Settings::new("a"), own, hub, seen: MemberSnapshot::default() }
    }

    fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub)
    }

    /// What a controller plans for every key that changed since the last [`follow`](Self::follow).
    fn plans<R>(&self, controller: &R) -> Vec<Plan>
    where
        R: Controller<Snapshot = MemberSnapshot, Measurement = Measurement>,
    {
        let new = self.snapshot();
        let keys = affected_keys(controller, &self.seen, &new);
        keys.iter().map(|key| controller.plan(key, &new, self.own.now())).collect()
    }

    /// Runs the controllers on what changed, until nothing changes any more.
    fn follow(&mut self) {
        let settings = || self.settings.clone();
        let export = ExportController { settings: settings() };
        let import = ImportController::new(settings());
        let membership = MembershipController::new(settings());
        for _ in 0..20 {
            let mut plans = self.plans(&export);
            plans.extend(self.plans(&import));
            plans.extend(self.plans(&membership));
            self.seen = self.snapshot();
            for plan in &plans {
                execute(plan, &mut [&mut self.own, &mut self.hub]);
            }
            if plans.iter().all(|plan| plan.steps.is_empty()) {
                return;
            }
        }
        panic!("no rest");
    }
}

/// Only differences of snapshots lead the controllers: from a MultiClusterService to its derived Service
/// and back to nothing.
#[test]
fn differences_lead_to_everything_that_is_to_be_done() {
    let mut world = World::new();
    let name = ObjectName::new("team", "web");
    let wish = json!({ "spec": { "serviceImport": { "name": "web" } } });
    world.own.create(kinds::MULTI_CLUSTER_SERVICE, &name, wish).unwrap();
    let shop = ObjectName::new("team", "shop");
    let service = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
    }});
    world.own.create(kinds::SERVICE, &shop, service).unwrap();
    world.own.create(kinds::SERVICE_EXPORT, &shop, json!({})).unwrap();
    world.follow();
    let exported = ObjectName::new("fleet-member-a", "team-shop");
    assert!(world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &exported).is_some());

    let request = ObjectName::new("fleet-member-a", "team-web");
    let granted = json!({
        "type": "ClusterSetIP",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
        "clusters": [{ "cluster": "b" }],
    });
    let grant = |request: &mut serde_json::Value| request["status"] = granted;
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, grant).unwrap();
    world.follow();
    let derived = ObjectName::new("fleet-system", "team-web");
    assert!(world.own.get(kinds::SERVICE, &derived).is_some());

    // A derived Service that a user deletes is created again.
    world.own.delete(kinds::SERVICE, &derived).unwrap();
    world.follow();
    assert!(world.own.get(kinds::SERVICE, &derived).is_some());

    // The hub agent removes the finalizers of the last objects on the hub.
    world.own.delete(kinds::MULTI_CLUSTER_SERVICE, &name).unwrap();
    world.follow();
    let release = |request: &mut serde_json::Value| {
        let left = request["metadata"]["finalizers"].as_array_mut().unwrap();
        left.retain(|finalizer| finalizer != finalizers::INTERNAL_SERVICE_IMPORT);
    };
    let held = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request).is_some();
    if held {
        world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, release).unwrap();
    }
    world.follow();
    assert!(world.own.get(kinds::SERVICE, &derived).is_none());
    assert!(world.own.get(kinds::MULTI_CLUSTER_SERVICE, &name).is_none());
}

/// Controllers wait for the sources they require, and have distinct names.
#[test]
fn controllers_say_what_they_need() {
    let settings = || Settings::new("a");
    let export = ExportController { settings: settings() };
    let import = ImportController::new(settings());
    let membership = MembershipController::new(settings());
    assert_eq!(
        [export.name(), import.name(), membership.name()],
        ["export", "import", "membership"]
    );
    let needs = [export.required(), import.required(), membership.required()];
    assert!(needs.iter().all(|needs| needs.contains(MemberSnapshot::memberships())));
    assert!(needs[0].contains(MemberSnapshot::internal_exports()));
    assert!(needs[1].contains(MemberSnapshot::internal_imports()));
}
