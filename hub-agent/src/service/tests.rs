//! The hub's room against a model API server. Names in brackets are scenarios of the specification.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, annotations, finalizers, kinds};
use fleet_runtime::plan::Plan;
use fleet_runtime::room::Room;
use fleet_runtime::testing::{ModelServer, execute};
use serde_json::{Value, json};

use super::{Key, ServiceRoom, plan};
use crate::snapshot::HubSnapshot;

struct World {
    hub: ModelServer,
    room: ServiceRoom,
}

fn shop() -> ObjectName {
    ObjectName::new("team", "shop")
}

fn in_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{member}"), name)
}

fn reference(member: &str, kind: &str, name: &str) -> Value {
    json!({
        "clusterId": member, "kind": kind, "namespace": "team", "name": name,
        "namespacedName": format!("team/{name}"), "resourceVersion": "1", "generation": 1,
        "uid": format!("{member}-{name}"),
    })
}

fn port(number: i32) -> Value {
    json!([{ "name": "web", "protocol": "TCP", "port": number }])
}

impl World {
    fn new() -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        for name in ["team", "fleet-member-a", "fleet-member-b", "fleet-member-c"] {
            hub.create(kinds::NAMESPACE, &ObjectName::cluster(name), json!({})).unwrap();
        }
        Self { hub, room: ServiceRoom::default() }
    }

    /// "a" exports shop with one slice and "b" imports it.
    fn shared() -> Self {
        let mut world = Self::new();
        world.export("a", 80);
        world.slice("a", "s1", "10.1.0.1");
        world.request("b");
        world.settle();
        world
    }

    fn export(&mut self, member: &str, number: i32) {
        let object = json!({
            "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
            "spec": { "ports": port(number), "serviceReference": reference(member, "Service", "shop") },
        });
        let name = in_member(member, "team-shop");
        self.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &name, object).unwrap();
        self.hub.advance(1);
    }

    fn request(&mut self, member: &str) {
        let reference = reference(member, "ServiceImport", "shop");
        let object = json!({
            "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT] },
            "spec": { "serviceImportReference": reference },
        });
        let name = in_member(member, "team-shop");
        self.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &name, object).unwrap();
    }

    fn slice(&mut self, member: &str, name: &str, address: &str) {
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

    fn snapshot(&self) -> HubSnapshot {
        HubSnapshot::of(&self.hub)
    }

    fn plan(&self) -> Plan {
        plan(&self.room.settings, &shop(), &self.snapshot(), self.hub.now())
    }

    fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.steps.is_empty() {
                return;
            }
            execute(&plan, &mut [&mut self.hub]);
        }
        panic!("no rest: {:#?}", self.plan());
    }

    fn import(&self) -> Option<&Value> {
        self.hub.get(kinds::SERVICE_IMPORT, &shop())
    }

    fn clusters(&self) -> Vec<&str> {
        let clusters = self.import().and_then(|import| import["status"]["clusters"].as_array());
        let names = clusters.into_iter().flatten();
        names.map(|cluster| cluster["cluster"].as_str().unwrap()).collect()
    }

    fn claim(&self) -> Value {
        let text =
            &self.import().unwrap()["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY];
        text.as_str().map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
    }

    fn conflict(&self, member: &str) -> String {
        let name = in_member(member, "team-shop");
        let export = self.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &name).unwrap();
        export["status"]["conditions"][0]["status"].as_str().unwrap_or("none").to_owned()
    }

    fn copies(&self) -> Vec<String> {
        let names = self.hub.names(kinds::ENDPOINT_SLICE_IMPORT);
        let live = names.into_iter().filter(|name| {
            let copy = self.hub.get(kinds::ENDPOINT_SLICE_IMPORT, name).unwrap();
            copy["metadata"]["deletionTimestamp"].is_null()
        });
        live.map(|name| name.to_string()).collect()
    }

    fn status_of_request(&self, member: &str) -> &Value {
        let name = in_member(member, "team-shop");
        &self.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &name).unwrap()["status"]
    }

    fn delete_export(&mut self, member: &str) {
        let name = in_member(member, "team-shop");
        self.hub.delete(kinds::INTERNAL_SERVICE_EXPORT, &name).unwrap();
    }
}

#[test]
fn an_export_is_resolved_claimed_and_distributed() {
    // [HISE-6, HISE-7, HISI-4, HESE-8]
    let world = World::shared();
    let status = &world.import().unwrap()["status"];
    assert_eq!(status["type"], "ClusterSetIP");
    assert_eq!(status["ports"], port(80));
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.conflict("a"), "False");
    assert_eq!(world.claim(), json!({ "MemberClusters": { "fleet-member-b": "b" } }));
    let import = world.import().unwrap();
    assert_eq!(import["metadata"]["finalizers"], json!([finalizers::SERVICE_IMPORT]));
    assert_eq!(world.status_of_request("b"), status);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
    assert!(world.plan().is_empty());
}

#[test]
fn a_copy_equals_the_exported_slice_and_carries_the_importers_finalizer() {
    let world = World::shared();
    let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s1")).unwrap();
    assert_eq!(copy["spec"], slice["spec"]);
    assert_eq!(copy["metadata"]["finalizers"], json!([finalizers::ENDPOINT_SLICE_IMPORT]));
}

#[test]
fn several_importers_hold_the_claim_at_once() {
    let mut world = World::shared();
    world.request("c");
    world.settle();
    let claim = json!({ "fleet-member-b": "b", "fleet-member-c": "c" });
    assert_eq!(world.claim(), json!({ "MemberClusters": claim }));
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-c/a-s1"]);
}

#[test]
fn an_importer_that_leaves_takes_only_its_own_along() {
    // [HISI-7, HESE-10]
    let mut world = World::shared();
    world.request("c");
    world.settle();
    let name = in_member("b", "team-shop");
    world.hub.delete(kinds::INTERNAL_SERVICE_IMPORT, &name).unwrap();
    world.settle();
    assert_eq!(world.claim(), json!({ "MemberClusters": { "fleet-member-c": "c" } }));
    assert_eq!(world.copies(), ["fleet-member-c/a-s1"]);
    assert!(world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &name).is_none());
}

#[test]
fn the_last_importer_takes_claim_and_finalizer_along() {
    // [HISI-3, HESE-7]
    let mut world = World::shared();
    let name = in_member("b", "team-shop");
    world.hub.delete(kinds::INTERNAL_SERVICE_IMPORT, &name).unwrap();
    world.settle();
    assert_eq!(world.claim(), Value::Null);
    assert_eq!(world.import().unwrap()["metadata"]["finalizers"], json!([]));
    assert_eq!(world.clusters(), ["a"], "the export stays");
}

#[test]
fn an_unreadable_claim_is_rewritten_from_the_requests() {
    // [HESE-6, HISI-11]
    let mut world = World::shared();
    for text in ["{", "[]", "{}", "null", r#"{"MemberClusters":{"fleet-member-x":"x"}}"#] {
        let tamper = |import: &mut Value| {
            import["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY] = json!(text);
        };
        world.hub.edit(kinds::SERVICE_IMPORT, &shop(), tamper).unwrap();
        world.settle();
        let claim = json!({ "MemberClusters": { "fleet-member-b": "b" } });
        assert_eq!(world.claim(), claim, "{text}");
        assert_eq!(world.copies(), ["fleet-member-b/a-s1"], "{text}");
    }
}

#[test]
fn an_equal_exporter_joins_and_leaves() {
    // [HISE-3]
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-b/c-s2"]);
    world.delete_export("a");
    world.settle();
    assert_eq!(world.clusters(), ["c"]);
    assert_eq!(world.copies(), ["fleet-member-b/c-s2"], "only accepted exporters' slices stay");
}

#[test]
fn an_exporter_with_other_ports_conflicts_whatever_its_name() {
    // [HISE-8, HSI-2]
    let mut world = World::new();
    world.export("c", 80);
    world.export("a", 81);
    world.slice("a", "s1", "10.1.0.1");
    world.request("b");
    world.settle();
    assert_eq!(world.clusters(), ["c"], "the oldest export decides");
    assert_eq!((world.conflict("a"), world.conflict("c")), ("True".into(), "False".into()));
    assert_eq!(world.copies(), Vec::<String>::new(), "a conflicting exporter sends nothing");
}

#[test]
fn the_next_exporter_takes_over_when_the_winner_goes() {
    let mut world = World::new();
    world.export("c", 80);
    world.export("a", 81);
    world.settle();
    world.delete_export("c");
    world.settle();
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.conflict("a"), "False");
    assert_eq!(world.import().unwrap()["status"]["ports"], port(81));
}

#[test]
fn the_order_of_ports_says_nothing() {
    let mut world = World::new();
    world.export("a", 80);
    world.export("c", 80);
    let two = |turn: bool| {
        let mut ports = vec![json!({ "name": "a", "protocol": "TCP", "port": 1 })];
        ports.push(json!({ "name": "b", "protocol": "TCP", "port": 2 }));
        if turn {
            ports.reverse();
        }
        ports
    };
    for (member, turn) in [("a", false), ("c", true)] {
        let name = in_member(member, "team-shop");
        let set = |export: &mut Value| export["spec"]["ports"] = json!(two(turn));
        world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &name, set).unwrap();
    }
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
}

#[test]
fn a_lone_exporter_changes_its_ports_at_will() {
    // [HISE-11]
    let mut world = World::shared();
    let name = in_member("a", "team-shop");
    let set = |export: &mut Value| export["spec"]["ports"] = port(81);
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &name, set).unwrap();
    world.settle();
    assert_eq!(world.import().unwrap()["status"]["ports"], port(81));
    assert_eq!(world.status_of_request("b")["ports"], port(81));
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"], "its slices never left");
}

#[test]
fn the_last_exporter_takes_the_import_along_and_goes_last() {
    // [HISE-2, HSI-4]
    let mut world = World::shared();
    world.delete_export("a");
    let name = in_member("a", "a-s1");
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    world.hub.take_writes();
    world.settle();
    assert!(world.import().is_none());
    assert_eq!(world.status_of_request("b"), &json!({}));
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT).is_empty());
    assert!(world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).is_empty());
    let last = world.hub.take_writes().pop().unwrap();
    assert_eq!((last.verb, last.kind), ("patch", "InternalServiceExport"));
}

#[test]
fn an_export_whose_import_is_gone_already_is_let_go() {
    // [HISE-1]
    let mut world = World::new();
    world.export("a", 80);
    world.delete_export("a");
    world.settle();
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT).is_empty());
}

#[test]
fn an_import_that_nobody_exports_goes() {
    // [HSI-1]
    let mut world = World::new();
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.settle();
    assert!(world.import().is_none());
}

#[test]
fn an_import_made_for_a_multi_cluster_service_is_not_ours() {
    let mut world = World::new();
    let owner = json!([{ "apiVersion": "networking.fleet.azure.com/v1alpha1",
        "kind": "MultiClusterService", "name": "shop", "uid": "u", "controller": true }]);
    let object = json!({ "metadata": { "ownerReferences": owner } });
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), object).unwrap();
    world.settle();
    assert!(world.import().is_some());
}

#[test]
fn an_export_into_a_missing_namespace_waits_and_says_so() {
    let mut world = World::new();
    world.export("a", 80);
    world.hub.delete(kinds::NAMESPACE, &ObjectName::cluster("team")).unwrap();
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "{plan:#?}");
    assert_eq!(plan.later.len(), 1);
    assert!(format!("{:?}", plan.later[0].step).contains("namespace team does not exist"));
    world.hub.create(kinds::NAMESPACE, &ObjectName::cluster("team"), json!({})).unwrap();
    world.settle();
    assert_eq!(world.conflict("a"), "False");
}

#[test]
fn a_member_cannot_speak_for_another() {
    let mut world = World::shared();
    let object = json!({
        "metadata": { "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT] },
        "spec": { "ports": port(80), "serviceReference": reference("b", "Service", "shop") },
    });
    let name = in_member("c", "team-shop");
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &name, object).unwrap();
    world.settle();
    assert_eq!(world.clusters(), ["a"]);

    let mut keys = Vec::new();
    world.room.dirty(&HubSnapshot::default(), &world.snapshot(), &mut |key| keys.push(key));
    let stray = Key::Stray(kinds::INTERNAL_SERVICE_EXPORT, name.clone());
    assert!(keys.contains(&stray));
    let plan = world.room.plan(&stray, &world.snapshot(), world.hub.now());
    assert_eq!((plan.steps.len(), plan.events.len()), (0, 1));

    world.hub.delete(kinds::INTERNAL_SERVICE_EXPORT, &name).unwrap();
    let plan = world.room.plan(&stray, &world.snapshot(), world.hub.now());
    execute(&plan, &mut [&mut world.hub]);
    assert!(
        world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &name).is_none(),
        "a deletion gets through"
    );
}

#[test]
fn objects_of_go_members_get_the_hubs_finalizers_first() {
    let mut world = World::shared();
    let bare = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    let slice = in_member("a", "a-s1");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice, bare).unwrap();
    world.hub.create(kinds::NAMESPACE, &ObjectName::cluster("fleet-member-d"), json!({})).unwrap();
    world.request("d");
    let request = in_member("d", "team-shop");
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, bare).unwrap();
    world.settle();
    let held = |kind, name: &ObjectName| {
        world.hub.get(kind, name).unwrap()["metadata"]["finalizers"].clone()
    };
    assert_eq!(
        held(kinds::ENDPOINT_SLICE_EXPORT, &slice),
        json!([finalizers::ENDPOINT_SLICE_EXPORT])
    );
    let wanted = json!([finalizers::INTERNAL_SERVICE_IMPORT]);
    assert_eq!(held(kinds::INTERNAL_SERVICE_IMPORT, &request), wanted);
    assert_eq!(world.copies().len(), 2);
}

#[test]
fn a_tampered_copy_is_restored_and_a_deleted_one_replaced() {
    let mut world = World::shared();
    let name = in_member("b", "a-s1");
    let tamper = |copy: &mut Value| copy["spec"]["endpoints"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, tamper).unwrap();
    world.settle();
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap();
    assert_eq!(copy["spec"]["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));

    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap();
    assert!(world.plan().is_empty(), "a terminating copy blocks its successor");
    let release = |copy: &mut Value| copy["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, release).unwrap();
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

#[test]
fn removals_of_endpoints_are_urgent() {
    let mut world = World::shared();
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    let plan = world.plan();
    assert!(plan.steps[0].urgent, "{plan:#?}");
    assert_eq!(plan.steps[0].action.verb(), "delete");
    assert_eq!(plan.steps[1].after.len(), 1, "the finalizer goes after the copy");
}
