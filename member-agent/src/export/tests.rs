//! The export room against model API servers. Names in brackets are scenarios of the specification.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, finalizers, kinds};
use fleet_runtime::plan::Plan;
use fleet_runtime::testing::{ModelServer, execute};
use serde_json::{Value, json};

use super::plan;
use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// Member "a": its own API server and the hub's.
struct World {
    own: ModelServer,
    hub: ModelServer,
    settings: Settings,
}

fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

fn slice() -> ObjectName {
    ObjectName::new("team", "shop-x1")
}

fn on_hub() -> ObjectName {
    ObjectName::new("fleet-member-a", "team-shop")
}

fn service(spec: &Value) -> Value {
    let mut service = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" }],
    }});
    for (key, value) in spec.as_object().unwrap() {
        service["spec"][key] = value.clone();
    }
    service
}

impl World {
    fn new() -> Self {
        Self {
            own: ModelServer::new(ClusterId::Local),
            hub: ModelServer::new(ClusterId::Hub),
            settings: Settings::new("a"),
        }
    }

    fn with_service() -> Self {
        let mut world = Self::new();
        world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
        world.add_slice("IPv4", &json!({ "kubernetes.io/service-name": "shop" }));
        world
    }

    /// A member at rest whose export of shop the hub accepted.
    fn exported() -> Self {
        let mut world = Self::with_service();
        world.export();
        world.settle();
        world.judge("False");
        world.settle();
        world.own.take_writes();
        world.hub.take_writes();
        world
    }

    fn export(&mut self) {
        self.own.create(kinds::SERVICE_EXPORT, &shop(), json!({})).unwrap();
    }

    fn add_slice(&mut self, address_type: &str, labels: &Value) {
        let object = json!({
            "metadata": { "labels": labels },
            "addressType": address_type,
            "endpoints": [
                { "addresses": ["10.1.0.1"], "conditions": { "ready": true } },
                { "addresses": ["10.1.0.2"] },
                { "addresses": ["10.1.0.3"], "conditions": { "ready": false, "serving": true } },
            ],
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" }],
        });
        self.own.create(kinds::ENDPOINT_SLICE, &slice(), object).unwrap();
    }

    /// What the hub does once it has decided.
    fn judge(&mut self, conflict: &str) {
        let (reason, now) = ("Decided", "2026-01-01T00:00:00Z");
        let condition = json!({ "type": "Conflict", "status": conflict, "reason": reason,
            "message": "as decided", "lastTransitionTime": now, "observedGeneration": 1 });
        let set = |export: &mut Value| export["status"] = json!({ "conditions": [condition] });
        self.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), set).unwrap();
    }

    fn snapshot(&self) -> MemberSnapshot {
        MemberSnapshot::of(&self.settings.identity, &self.own, &self.hub)
    }

    fn plan(&self) -> Plan {
        plan(&self.settings, &shop(), &self.snapshot(), self.own.now())
    }

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

    /// Lets the hub release what is being deleted.
    fn release(&mut self) {
        for kind in [kinds::INTERNAL_SERVICE_EXPORT, kinds::ENDPOINT_SLICE_EXPORT] {
            for name in self.hub.names(kind) {
                let object = self.hub.get(kind, &name).unwrap();
                if !object["metadata"]["deletionTimestamp"].is_null() {
                    let release = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
                    self.hub.edit(kind, &name, release).unwrap();
                }
            }
        }
    }

    fn condition(&self, type_: &str) -> (String, String) {
        let export = self.own.get(kinds::SERVICE_EXPORT, &shop()).unwrap();
        let conditions = export["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == type_);
        let text =
            |field: &str| found.map_or("none", |found| found[field].as_str().unwrap()).to_owned();
        (text("status"), text("reason"))
    }

    fn copies(&self) -> Vec<Value> {
        let names = self.hub.names(kinds::ENDPOINT_SLICE_EXPORT).into_iter();
        let objects = names.map(|name| self.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap());
        objects.filter(|copy| copy["metadata"]["deletionTimestamp"].is_null()).cloned().collect()
    }

    fn internal(&self) -> Option<&Value> {
        self.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &on_hub())
    }
}

#[test]
fn an_export_says_what_and_whose_it_is() {
    // [MSE-2, MES-12]
    let world = World::exported();
    let internal = world.internal().unwrap();
    let uid = &world.own.get(kinds::SERVICE, &shop()).unwrap()["metadata"]["uid"];
    let reference = &internal["spec"]["serviceReference"];
    assert_eq!(reference["clusterId"], "a");
    assert_eq!(reference["namespacedName"], "team/shop");
    assert_eq!(&reference["uid"], uid);
    assert_eq!(internal["spec"]["ports"][0]["targetPort"], "http");
    assert_eq!(internal["metadata"]["finalizers"], json!([finalizers::INTERNAL_SERVICE_EXPORT]));
    assert_eq!(world.condition("Valid"), ("True".into(), "ServiceIsValid".into()));
    assert_eq!(world.condition("Conflict"), ("False".into(), "Decided".into()));

    let copies = world.copies();
    assert_eq!(copies.len(), 1);
    let name = copies[0]["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("a-team-shop-x1-"), "{name}");
    let ready = json!([{ "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"] }]);
    assert_eq!(copies[0]["spec"]["endpoints"], ready, "[MES-19]");
    assert_eq!(copies[0]["spec"]["ports"][0]["appProtocol"], "http");
    assert_eq!(copies[0]["spec"]["ownerServiceReference"]["namespacedName"], "team/shop");
    assert!(copies[0]["spec"]["endpointSliceReference"]["exportedSince"].is_string());
    assert!(world.plan().is_empty());
}

#[test]
fn the_finalizer_comes_before_the_export() {
    let mut world = World::with_service();
    world.export();
    let plan = world.plan();
    let verbs: Vec<_> = plan.steps.iter().map(|step| step.action.verb()).collect();
    assert_eq!(verbs, ["patch", "create"]);
    assert_eq!(plan.steps[1].after.len(), 1);
    assert_eq!(plan.later.len(), 0, "the object's version moves with the finalizer");
}

#[test]
fn the_users_slice_is_never_written() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.settle();
    let writes = world.own.take_writes();
    assert!(writes.iter().all(|write| write.kind == "ServiceExport"), "{writes:?}");
}

#[test]
fn without_a_service_the_export_says_so() {
    // [MSE-1, MSE-3]
    let mut world = World::new();
    world.export();
    world.settle();
    assert_eq!(world.condition("Valid"), ("False".into(), "ServiceNotFound".into()));
    assert!(world.internal().is_none());
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    world.settle();
    assert!(world.internal().is_some());
}

#[test]
fn some_services_cannot_be_exported() {
    // [MSE-11, MSE-12]
    for spec in [json!({ "clusterIP": "None" }), json!({ "type": "ExternalName" })] {
        let mut world = World::new();
        world.own.create(kinds::SERVICE, &shop(), service(&spec)).unwrap();
        world.export();
        world.settle();
        assert_eq!(world.condition("Valid"), ("False".into(), "ServiceIneligible".into()));
        assert!(world.internal().is_none(), "{spec}");
    }
}

#[test]
fn a_service_that_becomes_ineligible_is_withdrawn_and_comes_back() {
    // [MSE-13, MSE-14]
    let mut world = World::exported();
    let set = |text: &'static str| move |service: &mut Value| service["spec"]["type"] = json!(text);
    world.own.edit(kinds::SERVICE, &shop(), set("ExternalName")).unwrap();
    world.settle();
    world.release();
    world.settle();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
    assert_eq!(world.condition("Conflict").0, "Unknown", "the old verdict is about the past");
    let export = world.own.get(kinds::SERVICE_EXPORT, &shop()).unwrap();
    assert_eq!(export["metadata"]["finalizers"], json!([]));

    world.own.edit(kinds::SERVICE, &shop(), set("ClusterIP")).unwrap();
    world.settle();
    world.judge("False");
    world.settle();
    assert_eq!(world.copies().len(), 1);
}

#[test]
fn a_change_of_ports_follows() {
    // [MSE-5]
    let mut world = World::exported();
    let set = |service: &mut Value| service["spec"]["ports"][0]["port"] = json!(81);
    world.own.edit(kinds::SERVICE, &shop(), set).unwrap();
    world.settle();
    assert_eq!(world.internal().unwrap()["spec"]["ports"][0]["port"], json!(81));
    assert_eq!(world.copies().len(), 1, "slices go on meanwhile");
}

#[test]
fn other_changes_of_the_service_take_no_write() {
    let mut world = World::exported();
    let set = |service: &mut Value| service["status"] = json!({ "loadBalancer": {} });
    world.own.edit(kinds::SERVICE, &shop(), set).unwrap();
    assert!(world.plan().is_empty());
}

#[test]
fn slices_wait_for_the_verdict() {
    // [MES-4, MES-16]
    let mut world = World::with_service();
    world.export();
    world.settle();
    assert!(world.copies().is_empty());
    world.judge("False");
    world.settle();
    assert_eq!(world.copies().len(), 1);
}

#[test]
fn a_conflict_withdraws_the_slices_and_reaches_the_user() {
    // [MES-5, MES-18, MISE-4]
    let mut world = World::exported();
    world.judge("True");
    world.settle();
    assert!(world.copies().is_empty());
    assert!(world.internal().is_some(), "it may win later");
    assert_eq!(world.condition("Conflict").0, "True");
}

#[test]
fn the_hubs_silence_is_told_after_a_while() {
    let mut world = World::with_service();
    world.export();
    world.settle();
    let plan = world.plan();
    assert!(plan.steps.is_empty());
    assert_eq!(plan.later.len(), 1);
    assert_eq!(plan.later[0].step.action.verb(), "patch_status");
}

#[test]
fn only_ipv4_slices_of_the_service_travel() {
    // [MES-1, MES-2]
    for (address_type, labels) in [
        ("IPv6", json!({ "kubernetes.io/service-name": "shop" })),
        ("IPv4", json!({})),
        ("IPv4", json!({ "kubernetes.io/service-name": "" })),
        ("IPv4", json!({ "kubernetes.io/service-name": "other" })),
    ] {
        let mut world = World::exported();
        world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
        world.settle();
        world.release();
        world.add_slice(address_type, &labels);
        world.settle();
        assert!(world.copies().is_empty(), "{address_type} {labels}");
    }
}

#[test]
fn a_deleted_slice_leaves_at_once_and_first() {
    let mut world = World::exported();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1);
    assert!(plan.steps[0].urgent);
    assert_eq!(plan.steps[0].action.verb(), "delete");
}

#[test]
fn a_slice_held_by_a_foreign_finalizer_leaves_when_deleted() {
    // [MES-10]
    let mut world = World::exported();
    let hold = |slice: &mut Value| slice["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), hold).unwrap();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.settle();
    assert!(world.copies().is_empty());
}

#[test]
fn a_recreated_slice_travels_under_another_name() {
    let mut world = World::exported();
    let before = world.copies()[0]["metadata"]["name"].clone();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.add_slice("IPv4", &json!({ "kubernetes.io/service-name": "shop" }));
    world.settle();
    let after = world.copies();
    assert_eq!(after.len(), 1);
    assert_ne!(after[0]["metadata"]["name"], before);
}

#[test]
fn the_time_of_export_stays_with_its_generation() {
    let mut world = World::exported();
    let since = |world: &World| {
        world.copies()[0]["spec"]["endpointSliceReference"]["exportedSince"].clone()
    };
    let before = since(&world);
    world.own.advance(60);
    // Somebody tampers with the hub's copy: the same generation is sent again.
    let name = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
    let tamper = |copy: &mut Value| copy["spec"]["endpoints"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, tamper).unwrap();
    world.settle();
    assert_eq!(since(&world), before);
    let change = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), change).unwrap();
    world.settle();
    assert_ne!(since(&world), before);
}

#[test]
fn unexporting_withdraws_everything_before_the_finalizer_goes() {
    // [MSE-9, MES-7]
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    let plan = world.plan();
    let steps: Vec<_> =
        plan.steps.iter().map(|step| (step.action.verb(), step.kind.kind)).collect();
    assert_eq!(
        steps,
        [
            ("delete", "EndpointSliceExport"),
            ("delete", "InternalServiceExport"),
            ("patch", "ServiceExport")
        ]
    );
    assert_eq!(plan.steps[2].after.len(), 2);
    world.settle();
    assert!(world.own.get(kinds::SERVICE_EXPORT, &shop()).is_none());
}

#[test]
fn what_has_no_export_any_more_goes() {
    // [MISE-1, MESE-1]
    let mut world = World::exported();
    let gone = |export: &mut Value| export["metadata"]["finalizers"] = json!([]);
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), gone).unwrap();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.settle();
    world.release();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
}

#[test]
fn a_recreated_service_waits_for_its_predecessor() {
    // [MSE-15]
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE, &shop()).unwrap();
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    world.settle();
    assert!(!world.internal().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.release();
    world.settle();
    let uid = &world.own.get(kinds::SERVICE, &shop()).unwrap()["metadata"]["uid"];
    assert_eq!(&world.internal().unwrap()["spec"]["serviceReference"]["uid"], uid);
}

#[test]
fn a_taken_name_gives_way_to_the_next() {
    // Spec section 9, 24: "a-b/c" and "a/b-c" want the same name.
    let mut world = World::with_service();
    let other = json!({ "clusterId": "a", "kind": "Service", "namespace": "tea", "name": "m-shop",
        "namespacedName": "tea/m-shop", "resourceVersion": "1", "generation": 0, "uid": "u" });
    let object = json!({ "spec": { "ports": [], "serviceReference": other } });
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), object).unwrap();
    world.export();
    world.settle();
    let names = world.hub.names(kinds::INTERNAL_SERVICE_EXPORT);
    assert_eq!(names.len(), 2);
    assert!(names[1].name.starts_with("team-shop-"), "{names:?}");
}

#[test]
fn an_export_made_by_a_go_agent_is_adopted_as_it_is() {
    let mut world = World::with_service();
    let uid = world.own.get(kinds::SERVICE, &shop()).unwrap()["metadata"]["uid"].clone();
    let slice_uid =
        world.own.get(kinds::ENDPOINT_SLICE, &slice()).unwrap()["metadata"]["uid"].clone();
    let reference = |kind: &str, name: &str, uid: &Value| {
        json!({ "clusterId": "a", "kind": kind, "namespace": "team", "name": name,
            "namespacedName": format!("team/{name}"), "resourceVersion": "5", "generation": 1,
            "uid": uid, "exportedSince": "2025-12-31T00:00:00Z" })
    };
    let internal = json!({ "spec": {
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" }],
        "serviceReference": reference("Service", "shop", &uid),
    }});
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), internal).unwrap();
    world.judge("False");
    let exported = json!({ "spec": {
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"] }],
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" }],
        "endpointSliceReference": reference("EndpointSlice", "shop-x1", &slice_uid),
        "ownerServiceReference":
            { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
    }});
    let name = ObjectName::new("fleet-member-a", "a-team-shop-x1-1a2b3");
    world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &name, exported).unwrap();
    world.export();
    world.settle();
    assert_eq!(world.hub.take_writes(), []);
}
