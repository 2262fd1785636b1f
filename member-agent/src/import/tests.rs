//! The import room against model API servers. Names in brackets are scenarios of the specification.

use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, annotations, finalizers, kinds, labels};
use fleet_runtime::plan::{Plan, Sample};
use fleet_runtime::testing::{ModelServer, execute};
use serde_json::{Value, json};

use super::plan;
use crate::Settings;
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

fn derived() -> ObjectName {
    ObjectName::new("fleet-system", "team-shop")
}

fn imported() -> ObjectName {
    ObjectName::new("fleet-system", COPY)
}

fn copy() -> ObjectName {
    ObjectName::new("fleet-member-b", COPY)
}

fn request() -> ObjectName {
    ObjectName::new("fleet-member-b", "team-shop")
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
        let settings = Settings { derived_service_grace: Duration::ZERO, ..Settings::new("b") };
        Self { own, hub: ModelServer::new(ClusterId::Hub), settings }
    }

    /// A member at rest that imports shop from cluster "a".
    fn importing() -> Self {
        let mut world = Self::new();
        world.wish(&shop(), "shop");
        world.settle();
        world.grant(granted());
        world.distribute(&["10.1.0.1"]);
        world.settle();
        world.own.take_writes();
        world.hub.take_writes();
        world
    }

    fn wish(&mut self, mcs: &ObjectName, service: &str) {
        let object = json!({ "spec": { "serviceImport": { "name": service } } });
        self.own.create(kinds::MULTI_CLUSTER_SERVICE, mcs, object).unwrap();
    }

    /// What the hub does when it resolves the request.
    fn grant(&mut self, status: Value) {
        let set = |request: &mut Value| request["status"] = status;
        self.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), set).unwrap();
    }

    /// What the hub does when it distributes a slice.
    fn distribute(&mut self, addresses: &[&str]) {
        let object = copy_of(&shop(), addresses, &[finalizers::ENDPOINT_SLICE_IMPORT]);
        self.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &copy(), object).unwrap();
    }

    fn change_copy(&mut self, change: impl FnOnce(&mut Value)) {
        self.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy(), change).unwrap();
    }

    fn snapshot(&self) -> MemberSnapshot {
        MemberSnapshot::of(&self.settings.identity, &self.own, &self.hub)
    }

    fn plan(&self) -> Plan {
        plan(&self.settings, &shop(), &self.snapshot(), self.own.now())
    }

    /// Plans and writes until nothing is left to do but to wait.
    fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.steps.is_empty() {
                return;
            }
            execute(&plan, &mut [&mut self.own, &mut self.hub]);
        }
        panic!("no rest: {:#?}", self.plan());
    }

    fn slice(&self) -> Option<&Value> {
        self.own.get(kinds::ENDPOINT_SLICE, &imported())
    }

    fn edit(&mut self, kind: ResourceKind, name: &ObjectName, change: impl FnOnce(&mut Value)) {
        self.own.edit(kind, name, change).unwrap();
    }

    /// The samples that the next plan takes.
    fn samples(&self) -> Vec<Sample> {
        self.plan().steps.into_iter().filter_map(|step| step.sample).collect()
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

#[test]
fn an_import_binds_addresses_ports_and_labels() {
    // [MESI-6, MESI-7]
    let world = World::importing();
    let slice = world.slice().expect("imported");
    assert_eq!(slice["metadata"]["labels"][labels::SERVICE_NAME], "team-shop");
    assert_eq!(slice["metadata"]["labels"][labels::MANAGED_BY], labels::MANAGED_BY_IMPORT);
    assert_eq!(slice["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION], "1");
    assert_eq!(slice["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));
    assert_eq!(slice["ports"][0]["appProtocol"], "http");
    assert_eq!(slice["ports"][1]["protocol"], "UDP");
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    assert_eq!(copy["metadata"]["finalizers"], json!([finalizers::ENDPOINT_SLICE_IMPORT]));
    assert!(world.plan().is_empty());
}

#[test]
fn a_deleted_copy_takes_the_slice_along() {
    // [MESI-1]
    let mut world = World::importing();
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    world.settle();
    assert!(world.slice().is_none());
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_none());
}

#[test]
fn a_deleted_copy_whose_slice_is_gone_is_let_go() {
    // [MESI-9]
    let mut world = World::importing();
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.settle();
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_none());
}

#[test]
fn nothing_is_imported_that_nobody_asked_for() {
    // [MESI-2]
    let mut world = World::new();
    world.distribute(&["10.1.0.1"]);
    world.settle();
    assert!(world.slice().is_none());
}

#[test]
fn nothing_is_imported_before_the_derived_service() {
    // [MESI-4]
    let mut world = World::new();
    world.wish(&shop(), "shop");
    world.distribute(&["10.1.0.1"]);
    world.settle();
    assert!(world.slice().is_none());
}

#[test]
fn nothing_is_imported_into_a_terminating_derived_service() {
    // [MESI-5]
    let mut world = World::importing();
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.change_copy(|copy| copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]));
    world.settle();
    let slice = world.slice().expect("what was imported stays until the Service is back");
    assert_eq!(slice["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));

    world.edit(kinds::SERVICE, &derived(), |service| {
        service["metadata"]["finalizers"] = json!([]);
    });
    world.settle();
    assert_eq!(world.slice().unwrap()["endpoints"], json!([{ "addresses": ["10.1.0.9"] }]));
}

#[test]
fn an_empty_derived_label_is_filled_before_anything_binds() {
    // [MESI-3]
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    let label = |mcs: &mut Value| mcs["metadata"]["labels"][labels::DERIVED_SERVICE] = json!("");
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), label);
    let first = world.plan();
    assert!(first.steps.iter().all(|step| step.kind != kinds::ENDPOINT_SLICE), "{first:#?}");
    world.settle();
    assert!(world.slice().is_some());
}

#[test]
fn a_tampered_derived_label_is_rewritten_and_its_victim_untouched() {
    // [MESI-10, reliability S11]
    let mut world = World::importing();
    let victim = ObjectName::new("fleet-system", "victim");
    world.own.create(kinds::SERVICE, &victim, json!({ "spec": { "type": "ClusterIP" } })).unwrap();
    let before = world.own.get(kinds::SERVICE, &victim).cloned();
    let label =
        |mcs: &mut Value| mcs["metadata"]["labels"][labels::DERIVED_SERVICE] = json!("victim");
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), label);
    assert_eq!(world.plan().events.len(), 1);
    world.settle();
    assert_eq!(world.own.get(kinds::SERVICE, &victim).cloned(), before);
    let mcs = world.own.get(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    assert_eq!(mcs["metadata"]["labels"][labels::DERIVED_SERVICE], "team-shop");
    assert_eq!(world.slice().unwrap()["metadata"]["labels"][labels::SERVICE_NAME], "team-shop");
}

#[test]
fn a_label_that_is_no_service_name_is_rewritten() {
    // [MESI-11]
    let mut world = World::importing();
    let label =
        |mcs: &mut Value| mcs["metadata"]["labels"][labels::DERIVED_SERVICE] = json!("9-Shop");
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), label);
    world.settle();
    let mcs = world.own.get(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    assert_eq!(mcs["metadata"]["labels"][labels::DERIVED_SERVICE], "team-shop");
}

#[test]
fn an_adopted_derived_service_is_kept_under_its_name() {
    let mut world = World::new();
    world.wish(&shop(), "shop");
    let adopted = ObjectName::new("fleet-system", "made-by-another-agent");
    let object = json!({
        "metadata": { "labels": {
            labels::MULTI_CLUSTER_SERVICE_NAMESPACE: "team",
            labels::MULTI_CLUSTER_SERVICE_NAME: "shop",
        }},
        "spec": { "type": "LoadBalancer", "ports": [] },
    });
    world.own.create(kinds::SERVICE, &adopted, object).unwrap();
    world.settle();
    world.own.create(kinds::SERVICE, &derived(), json!({ "spec": {} })).unwrap();
    // Not resolved yet: the derived Service of an unresolved import goes.
    assert!(world.own.get(kinds::SERVICE, &adopted).is_none());
    world.grant(granted());
    world.settle();
    let mcs = world.own.get(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    let name = mcs["metadata"]["labels"][labels::DERIVED_SERVICE].as_str().unwrap();
    assert!(name.starts_with("team-shop-"), "{name} must not be the foreign Service's");
}

#[test]
fn changes_of_the_copy_follow() {
    // [MESI-8]
    let mut world = World::importing();
    world.change_copy(|copy| copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]));
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1, "{plan:#?}");
    assert!(plan.steps[0].urgent, "an address that is gone must leave first");
    world.settle();
    assert_eq!(world.slice().unwrap()["endpoints"], json!([{ "addresses": ["10.1.0.2"] }]));
}

#[test]
fn every_tampering_with_the_slice_is_undone() {
    type Change = fn(&mut Value);
    let tamper: [(&str, Change); 6] = [
        ("endpoint", |slice| slice["endpoints"] = json!([])),
        ("condition", |slice| {
            slice["endpoints"][0]["conditions"] = json!({ "ready": false, "serving": true });
        }),
        ("port", |slice| slice["ports"][0]["port"] = json!(1)),
        ("binding", |slice| slice["metadata"]["labels"][labels::SERVICE_NAME] = json!("other")),
        ("manager", |slice| slice["metadata"]["labels"][labels::MANAGED_BY] = json!("me")),
        ("mark", |slice| {
            slice["metadata"]["annotations"][annotations::FLEET_SERVICE] = json!("team/other");
        }),
    ];
    for (what, change) in tamper {
        let mut world = World::importing();
        let before = world.slice().unwrap().clone();
        world.edit(kinds::ENDPOINT_SLICE, &imported(), change);
        world.settle();
        let after = world.slice().unwrap();
        for field in ["endpoints", "ports"] {
            assert_eq!(after[field], before[field], "{what}");
        }
        for field in ["labels", "annotations"] {
            assert_eq!(after["metadata"][field], before["metadata"][field], "{what}");
        }
    }
}

#[test]
fn a_deleted_slice_or_derived_service_comes_back() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.settle();
    assert!(world.slice().is_some());
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.settle();
    assert!(world.own.get(kinds::SERVICE, &derived()).is_some());
    assert!(world.plan().is_empty());
}

#[test]
fn deleting_the_wish_takes_derived_service_and_slices_along() {
    let mut world = World::importing();
    world.own.delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    world.settle();
    assert!(world.slice().is_none());
    assert!(world.own.get(kinds::SERVICE, &derived()).is_none());
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap();
    assert!(!request["metadata"]["deletionTimestamp"].is_null(), "the hub's finalizer holds it");
    assert!(world.own.names(kinds::MULTI_CLUSTER_SERVICE).is_empty());
    assert!(world.own.names(kinds::SERVICE_IMPORT).is_empty());
}

#[test]
fn a_copy_without_finalizer_gets_one_before_the_slice() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.change_copy(|copy| copy["metadata"]["finalizers"] = json!([]));
    let plan = world.plan();
    let kinds: Vec<_> = plan.steps.iter().map(|step| step.kind.kind).collect();
    assert_eq!(kinds, ["EndpointSliceImport", "EndpointSlice"]);
    assert_eq!(plan.steps[1].after.len(), 1);
}

#[test]
fn a_foreign_slice_of_the_same_name_is_untouched() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    let foreign = json!({ "addressType": "IPv4", "endpoints": [] });
    world.own.create(kinds::ENDPOINT_SLICE, &imported(), foreign).unwrap();
    let before = world.slice().cloned();
    world.settle();
    assert_eq!(world.slice().cloned(), before);
}

#[test]
fn the_first_import_is_sampled_once_as_first() {
    let mut world = World::importing();
    assert_eq!(world.samples(), []);
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    let samples = world.samples();
    assert_eq!(samples.len(), 1);
    assert!(samples[0].first);
    assert_eq!(samples[0].origin, "a");
}

#[test]
fn each_later_generation_is_sampled_once() {
    let mut world = World::importing();
    world.change_copy(|copy| {
        copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
        copy["spec"]["endpointSliceReference"]["generation"] = json!(2);
    });
    let samples = world.samples();
    assert_eq!((samples.len(), samples[0].first), (1, false));
    world.settle();
    // The same generation written again, because somebody changed the slice: no sample.
    world.edit(kinds::ENDPOINT_SLICE, &imported(), |slice| slice["endpoints"] = json!([]));
    assert_eq!(world.plan().steps.len(), 1);
    assert_eq!(world.samples(), []);
}

#[test]
fn a_generation_that_a_go_agent_counted_is_not_sampled() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.change_copy(|copy| {
        copy["metadata"]["annotations"] = json!({ annotations::LAST_OBSERVED_GENERATION: "1" });
    });
    assert_eq!(world.samples(), []);
}

#[test]
fn a_copy_without_export_time_is_not_sampled() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.change_copy(|copy| {
        copy["spec"]["endpointSliceReference"]["exportedSince"] = Value::Null;
    });
    assert_eq!(world.samples(), []);
}

#[test]
fn waiting_is_told_only_after_a_while() {
    // [MCS-1, MCS-19]
    let mut world = World::new();
    world.wish(&shop(), "shop");
    world.settle();
    let plan = world.plan();
    assert!(plan.steps.is_empty());
    assert_eq!(plan.later.len(), 1);
    assert_eq!(plan.later[0].step.kind, kinds::MULTI_CLUSTER_SERVICE);
}

#[test]
fn the_address_of_the_derived_service_reaches_the_user() {
    // [MCS-3]
    let mut world = World::importing();
    let ingress = json!({ "ingress": [{ "ip": "192.0.2.1", "ipMode": "VIP" }] });
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["status"] = json!({ "loadBalancer": ingress });
    });
    assert_eq!(world.plan().steps.len(), 1);
    world.settle();
    let mcs = world.own.get(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    assert_eq!(mcs["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.1");
}

#[test]
fn an_internal_load_balancer_is_asked_for_and_given_up() {
    // [MCS-10]
    for (text, internal) in [("true", true), ("T", true), ("false", false), ("perhaps", false)] {
        let mut world = World::importing();
        let ask = |mcs: &mut Value| {
            let ask = json!({ annotations::AZURE_LOAD_BALANCER_INTERNAL: text });
            mcs["metadata"]["annotations"] = ask;
        };
        world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), ask);
        world.settle();
        let key = annotations::SERVICE_AZURE_LOAD_BALANCER_INTERNAL;
        let service = world.own.get(kinds::SERVICE, &derived()).unwrap();
        assert_eq!(service["metadata"]["annotations"][key] == "true", internal, "{text}");
        world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| {
            mcs["metadata"]["annotations"] = json!({});
        });
        world.settle();
        let service = world.own.get(kinds::SERVICE, &derived()).unwrap();
        assert!(service["metadata"]["annotations"][key].is_null(), "{text}");
    }
}
