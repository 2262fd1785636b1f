use std::collections::BTreeMap;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::Controller as _;
use fleet_runtime::clock::BootClock;
use serde_json::{Value, json};

use super::TrafficStatusController;
use crate::Identity;
use crate::import::ImportController;
use crate::measurement::Plan;
use crate::settings::{Settings, Traffic};
use crate::snapshot::MemberSnapshot;
use crate::traffic_memory::TrafficMemory;

fn web() -> ObjectName {
    ObjectName::new("shop", "web")
}

struct World {
    own: ModelServer,
    hub: ModelServer,
    controller: TrafficStatusController,
    import: ImportController,
}

impl World {
    /// A member with a policy, which imports a Service of that name from "a" and "c".
    fn new(policy: &Value) -> Self {
        let (mut own, mut hub) =
            (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        for namespace in ["shop", "fleet-system"] {
            own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
        }
        own.create(kinds::NODE, &ObjectName::cluster("n1"), json!({})).unwrap();
        own.create(kinds::SERVICE_TRAFFIC, &web(), json!({ "spec": policy })).unwrap();
        let mcs = json!({ "spec": { "serviceImport": { "name": "web" } } });
        own.create(kinds::MULTI_CLUSTER_SERVICE, &web(), mcs).unwrap();
        for (cluster, address) in [("a", "10.1.0.1"), ("c", "10.2.0.1")] {
            let copy = json!({ "spec": {
                "addressType": "IPv4", "endpoints": [{ "addresses": [address] }],
                "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
                "endpointSliceReference": {
                    "clusterId": cluster, "kind": "EndpointSlice", "namespace": "shop",
                    "name": "x1", "namespacedName": "shop/x1", "uid": "u1",
                    "resourceVersion": "7", "generation": 1,
                },
                "ownerServiceReference": {
                    "namespace": "shop", "name": "web", "namespacedName": "shop/web",
                },
            }});
            let name = ObjectName::new("fleet-member-b", format!("{cluster}-shop-web"));
            hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, copy).unwrap();
        }
        let memory = TrafficMemory::new(BootClock::by_hand());
        let traffic = Traffic { enabled: true, ..Traffic::default() };
        let settings = Settings { traffic, ..Settings::new("b") };
        let import = ImportController { settings, memory: memory.clone() };
        Self { own, hub, controller: TrafficStatusController { memory }, import }
    }

    fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&Identity::new("b"), &self.own, &self.hub)
    }

    /// The Service is imported.
    fn import(&mut self) {
        let granted = json!({
            "type": "ClusterSetIP",
            "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
            "clusters": [{ "cluster": "a" }, { "cluster": "c" }],
        });
        let key = crate::import::Key::Service(web());
        for _ in 0..20 {
            let plan = self.import.plan(&key, &self.snapshot(), self.own.now());
            for measured in &plan.measurements {
                self.import.memory.take(&measured.what);
            }
            execute(&plan, &mut [&mut self.own, &mut self.hub]);
            let request = ObjectName::new("fleet-member-b", "shop-web");
            if let Some(current) = self.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request)
                && current["status"].is_null()
            {
                let grant = |request: &mut Value| request["status"] = granted.clone();
                self.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, grant).unwrap();
            }
        }
    }

    fn plan(&self) -> Plan {
        self.controller.plan(&web(), &self.snapshot(), self.own.now())
    }

    /// Writes what is due later.
    fn report(&mut self) -> Value {
        let mut plan = self.plan();
        assert!(plan.steps.is_empty(), "nothing is written at once");
        plan.steps = plan.debounced.drain(..).map(|later| later.step).collect();
        let refused = execute(&plan, &mut [&mut self.own, &mut self.hub]);
        assert!(refused.is_empty(), "{refused:?}");
        assert!(self.plan().is_empty(), "{:#?}", self.plan());
        self.own.get(kinds::SERVICE_TRAFFIC, &web()).unwrap()["status"].clone()
    }
}

fn effective(status: &Value) -> String {
    let conditions = status["conditions"].as_array().unwrap();
    let condition = conditions.iter().find(|it| it["type"] == "Effective").unwrap();
    format!("{} {}", condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
}

fn shares(status: &Value) -> BTreeMap<String, (i64, String)> {
    let rows = status["clusters"].as_array().unwrap().iter();
    let row = |row: &Value| {
        let share = row["sharePercent"].as_i64().unwrap();
        (row["cluster"].as_str().unwrap().to_owned(), (share, row["slot"].to_string()))
    };
    rows.map(row).collect()
}

#[test]
fn a_policy_without_an_import_is_not_in_force() {
    let mut world = World::new(&json!({ "preference": "LocalFirst" }));
    let status = world.report();
    assert_eq!(effective(&status), "Unknown NotImported");
    assert_eq!(status["servedBy"], "Nobody");
    assert!(status["clusters"].is_null());
}

#[test]
fn shares_and_sources_of_fields_are_reported() {
    let mut world = World::new(&json!({ "weights": [{ "cluster": "c", "weight": 0 }] }));
    world.import();
    let status = world.report();
    assert_eq!(effective(&status), "True Effective");
    assert_eq!(status["servedBy"], "Rank1");
    let shares = shares(&status);
    assert_eq!(shares["a"], (100, "\"Pool\"".to_owned()));
    assert_eq!(shares["c"], (0, "\"Out\"".to_owned()));
    let source = |field: &str| {
        let sources = status["sources"].as_array().unwrap().iter();
        sources.clone().find(|it| it["field"] == field).unwrap()["source"].clone()
    };
    assert_eq!((source("weights"), source("preference")), (json!("Importer"), json!("BuiltIn")));
}

#[test]
fn weights_are_reported_with_their_targets() {
    let mut world = World::new(&json!({
        "weighting": "Clusters", "weights": [{ "cluster": "a", "weight": 3 }],
    }));
    world.import();
    let status = world.report();
    let row = &status["clusters"][0];
    assert_eq!((&row["targetPercent"], &row["sharePercent"]), (&json!(75), &json!(50)));
    assert_eq!(row["reason"], "Coarse");
}

/// More endpoints with the same shares are no reason to write.
#[test]
fn numbers_alone_are_not_written() {
    let mut world = World::new(&json!({}));
    world.import();
    world.report();
    for cluster in ["a", "c"] {
        let name = ObjectName::new("fleet-member-b", format!("{cluster}-shop-web"));
        let net = if cluster == "a" { 1 } else { 2 };
        let two = json!([
            { "addresses": [format!("10.{net}.0.1")] }, { "addresses": [format!("10.{net}.0.2")] },
        ]);
        world
            .hub
            .edit(kinds::ENDPOINT_SLICE_IMPORT, &name, |it| it["spec"]["endpoints"] = two)
            .unwrap();
    }
    world.import();
    assert!(world.plan().is_empty());
    assert_eq!(world.plan().wake_after, Some(super::PERIOD));
}

#[test]
fn what_is_not_in_force_as_it_stands_has_a_reason() {
    let mut world = World::new(&json!({ "localEndpoints": "Kubernetes" }));
    world.import();
    assert_eq!(effective(&world.report()), "False NotEligible");
}

#[test]
fn a_policy_that_is_gone_needs_no_report() {
    let mut world = World::new(&json!({}));
    world.own.delete(kinds::SERVICE_TRAFFIC, &web()).unwrap();
    assert_eq!(world.plan(), Plan::default());
}
