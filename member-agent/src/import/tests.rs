//! The import controller against model API servers, a file per behaviour. Tests of a case of
//! docs/design/contract.md begin with its code.

mod binding;
mod content;
mod denied;
mod derived;
mod drain_costs;
mod grace;
mod grants;
mod handover;
mod holding;
mod latency;
mod mcs;
mod namespaces;
mod orphans;
mod other_hub;
mod requests;
mod reserved;
mod slices;
mod traces;
mod traffic;

use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, finalizers, kinds};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::{Event, Measured};
use serde_json::{Value, json};

use super::plan;
use crate::Settings;
use crate::measurement::{Imported, Measurement, Plan};
use crate::snapshot::MemberSnapshot;

const COPY: &str = "a-team-shop-x1-abc";

/// Member "b": its own API server and the hub's.
struct World {
    own: ModelServer,
    hub: ModelServer,
    settings: Settings,
}

fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

fn system(name: &str) -> ObjectName {
    ObjectName::new("fleet-system", name)
}

fn on_hub(name: &str) -> ObjectName {
    ObjectName::new("fleet-member-b", name)
}

fn derived() -> ObjectName {
    system("team-shop")
}

fn imported() -> ObjectName {
    system(COPY)
}

fn copy() -> ObjectName {
    on_hub(COPY)
}

fn request() -> ObjectName {
    on_hub("team-shop")
}

fn granted() -> Value {
    json!({
        "type": "ClusterSetIP",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
        "clusters": [{ "cluster": "a" }],
    })
}

impl World {
    fn new() -> Self {
        let mut own = ModelServer::new(ClusterId::Local);
        own.create(kinds::NAMESPACE, &ObjectName::cluster("fleet-system"), json!({})).unwrap();
        own.create(kinds::NAMESPACE, &ObjectName::cluster("team"), json!({})).unwrap();
        let settings = Settings { derived_service_grace: Duration::ZERO, ..Settings::new("b") };
        Self { own, hub: ModelServer::new(ClusterId::Hub), settings }
    }

    /// A member at rest that MultiClusterServices for shop, and waits.
    fn waiting() -> Self {
        let mut world = Self::new();
        world.create_mcs(&shop(), "shop");
        world.rest();
        world
    }

    /// A member at rest that imports shop from cluster "a".
    fn importing() -> Self {
        let mut world = Self::new();
        world.create_mcs(&shop(), "shop");
        world.settle();
        world.grant(granted());
        world.distribute(&["10.1.0.1"]);
        world.settle();
        world.own.take_writes();
        world.hub.take_writes();
        world
    }

    fn create_mcs(&mut self, mcs: &ObjectName, service: &str) {
        let object = json!({ "spec": { "serviceImport": { "name": service } } });
        self.own.create(kinds::MULTI_CLUSTER_SERVICE, mcs, object).unwrap();
    }

    fn point(&mut self, mcs: &ObjectName, service: &str) {
        let point = |mcs: &mut Value| mcs["spec"]["serviceImport"]["name"] = json!(service);
        self.edit(kinds::MULTI_CLUSTER_SERVICE, mcs, point);
    }

    /// A user deletes a MultiClusterService.
    fn delete_mcs(&mut self, mcs: &ObjectName) {
        self.own.delete(kinds::MULTI_CLUSTER_SERVICE, mcs).unwrap();
    }

    /// What the hub does when it resolves the request.
    fn grant(&mut self, status: Value) {
        let set = |request: &mut Value| request["status"] = status;
        self.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), set).unwrap();
    }

    /// What the hub does when the last exporter is gone: no grant, no slices.
    fn revoke(&mut self) {
        self.grant(json!({}));
        if self.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_some() {
            self.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
        }
    }

    /// What the hub does when a request was deleted.
    fn let_go(&mut self) {
        for name in self.hub.names(kinds::INTERNAL_SERVICE_IMPORT) {
            let request = self.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &name).unwrap();
            if !request["metadata"]["deletionTimestamp"].is_null() {
                let release = |request: &mut Value| request["metadata"]["finalizers"] = json!([]);
                self.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &name, release).unwrap();
            }
        }
    }

    /// What the hub does when it distributes a slice.
    fn distribute(&mut self, addresses: &[&str]) {
        self.distribute_as(&copy(), addresses);
    }

    fn distribute_as(&mut self, copy: &ObjectName, addresses: &[&str]) {
        let object = copy_of(&shop(), addresses, &[finalizers::ENDPOINT_SLICE_IMPORT]);
        self.hub.create(kinds::ENDPOINT_SLICE_IMPORT, copy, object).unwrap();
    }

    fn change_copy(&mut self, change: impl FnOnce(&mut Value)) {
        self.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy(), change).unwrap();
    }

    fn edit(&mut self, kind: ResourceKind, name: &ObjectName, change: impl FnOnce(&mut Value)) {
        self.own.edit(kind, name, change).unwrap();
    }

    fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub)
    }

    fn plan(&self) -> Plan {
        self.plan_for(&shop())
    }

    fn plan_for(&self, service: &ObjectName) -> Plan {
        plan(&self.settings, service, &self.snapshot(), self.own.now())
    }

    /// Plans and writes until nothing is left to do but to wait.
    fn settle(&mut self) {
        self.settle_for(&[shop()]);
    }

    /// As [`settle`](Self::settle), for several Services.
    fn settle_for(&mut self, services: &[ObjectName]) {
        for _ in 0..20 {
            let mut acted = false;
            for service in services {
                let plan = self.plan_for(service);
                acted |= !plan.steps.is_empty();
                execute(&plan, &mut [&mut self.own, &mut self.hub]);
            }
            if !acted {
                return;
            }
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// Writes what has to wait for a while, too.
    fn rest(&mut self) {
        self.rest_for(&[shop()]);
    }

    fn rest_for(&mut self, services: &[ObjectName]) {
        for _ in 0..5 {
            self.settle_for(services);
            for service in services {
                let mut plan = self.plan_for(service);
                plan.steps = plan.debounced.drain(..).map(|later| later.step).collect();
                execute(&plan, &mut [&mut self.own, &mut self.hub]);
            }
        }
        assert!(services.iter().all(|service| self.plan_for(service).is_empty()), "no rest");
    }

    fn mcs(&self, name: &ObjectName) -> Option<&Value> {
        self.own.get(kinds::MULTI_CLUSTER_SERVICE, name)
    }

    /// Status and message of a MultiClusterService's `Valid`.
    fn valid(&self, name: &ObjectName) -> (&str, &str) {
        let mcs = self.mcs(name).expect("a MultiClusterService");
        let valid = &mcs["status"]["conditions"][0];
        assert_eq!(valid["type"], "Valid");
        let generation = &mcs["metadata"]["generation"];
        assert_eq!(&valid["observedGeneration"], generation, "of an older spec");
        let reason =
            if valid["status"] == "True" { "FoundServiceImport" } else { "UnknownServiceImport" };
        assert_eq!(valid["reason"], reason);
        (valid["status"].as_str().unwrap(), valid["message"].as_str().unwrap())
    }

    /// The derived Service, if it is there and not being deleted.
    fn derived(&self) -> Option<&Value> {
        let service = self.own.get(kinds::SERVICE, &derived())?;
        service["metadata"]["deletionTimestamp"].is_null().then_some(service)
    }

    fn slice(&self) -> Option<&Value> {
        self.own.get(kinds::ENDPOINT_SLICE, &imported())
    }

    fn import(&self) -> Option<&Value> {
        self.own.get(kinds::SERVICE_IMPORT, &shop())
    }

    /// The samples that the next plan takes.
    fn samples(&self) -> Vec<Imported> {
        let imported = |measured: Measured<Measurement>| match measured.what {
            Measurement::Imported(imported) => Some(imported),
            _ => None,
        };
        self.plan().measurements.into_iter().filter_map(imported).collect()
    }

    /// Reasons of the Events that the next plan emits.
    fn reasons(&self) -> Vec<&'static str> {
        self.plan().events.iter().map(|event: &Event| event.reason).collect()
    }
}

fn copy_of(service: &ObjectName, addresses: &[&str], finalizers: &[&str]) -> Value {
    let endpoints: Value = addresses.iter().map(|at| json!({ "addresses": [at] })).collect();
    json!({
        "metadata": { "finalizers": finalizers },
        "spec": {
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": [
                { "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" },
                { "name": "dns", "protocol": "UDP", "port": 53 },
            ],
            "endpointSliceReference": {
                "clusterId": "a", "kind": "EndpointSlice", "namespace": service.namespace,
                "name": "shop-x1", "namespacedName": "team/shop-x1", "uid": "u1",
                "resourceVersion": "7", "generation": 1, "exportedSince": "2025-12-31T23:59:58Z",
            },
            "ownerServiceReference": {
                "namespace": service.namespace, "name": service.name,
                "namespacedName": service.to_string(),
            },
        },
    })
}
