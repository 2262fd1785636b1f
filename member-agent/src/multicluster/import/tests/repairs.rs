//! What others change is put right, or respected where it is theirs.

use fleet_api::{ObjectName, annotations, events, kinds, labels};
use fleet_plan::Action;
use serde_json::{Value, json};

use super::super::ImportState;
use super::super::count;
use super::world::{World, derived, port, web};

fn edit(
    world: &mut World,
    kind: fleet_api::ResourceKind,
    name: &ObjectName,
    field: &str,
    value: Value,
) {
    let set = |object: &mut Value| *object.pointer_mut(field).unwrap() = value;
    world.own.edit(kind, name, set).unwrap();
}

#[test]
fn the_derived_service_is_patched_back() {
    let table = [
        ("/spec", "selector", json!({ "app": "evil" })),
        ("/spec", "externalIPs", json!(["192.0.2.1"])),
        ("/spec", "ports", json!([{ "name": "http", "protocol": "TCP", "port": 81 }])),
        ("/spec", "sessionAffinity", json!("ClientIP")),
        ("/spec", "internalTrafficPolicy", json!("Local")),
        ("/spec", "trafficDistribution", json!("PreferClose")),
        ("/spec", "type", json!("NodePort")),
        ("/metadata", "annotations", json!({ "note": "x" })),
        ("/metadata", "ownerReferences", json!([])),
    ];
    for (part, field, value) in table {
        let mut world = World::imported();
        let set = |object: &mut Value| object.pointer_mut(part).unwrap()[field] = value;
        world.own.edit(kinds::SERVICE, &derived(), set).unwrap();
        world.settle();
        assert_eq!(world.writes(), ["patch Service"], "{field}");
        world.rest();
        let service = world.own.get(kinds::SERVICE, &derived()).unwrap();
        assert!(service["spec"]["selector"].is_null() && service["spec"]["externalIPs"].is_null());
        assert_eq!(service["metadata"]["annotations"][annotations::FLEET_SERVICE], "shop/web");
    }
}

#[test]
fn a_derived_service_that_is_deleted_gets_the_same_address() {
    for heard in [true, false] {
        let mut world = World::imported();
        world.heard = heard;
        let before = world.ips();
        world.own.delete(kinds::SERVICE, &derived()).unwrap();
        world.settle();
        assert_eq!(world.writes(), ["create Service"]);
        assert_eq!(
            world.own.get(kinds::SERVICE, &derived()).unwrap()["spec"]["clusterIPs"],
            before
        );
        world.rest();
    }
}

/// A user's finalizer holds it back: its clients keep the endpoints that there are.
#[test]
fn endpoints_follow_while_the_derived_service_is_being_deleted() {
    let mut world = World::imported();
    let set = |object: &mut Value| object["metadata"]["finalizers"] = json!(["x/y"]);
    world.own.edit(kinds::SERVICE, &derived(), set).unwrap();
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.move_endpoints("b", "web-1", &["10.1.0.2"]);
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    assert_eq!(world.slices(), ["b 10.1.0.2 http"]);
}

#[test]
fn an_address_that_somebody_took_is_replaced_after_a_while() {
    let mut world = World::imported();
    let before = world.ips();
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    let thief = json!({ "spec": { "type": "ClusterIP", "clusterIPs": before } });
    world.add(kinds::SERVICE, &ObjectName::new("shop", "thief"), thief);
    assert!(world.plan().steps.is_empty(), "the address is taken");
    world.wait();
    world.settle();
    assert_ne!(world.ips(), before);
    assert_eq!(world.told(), [events::ADDRESS_REPLACED]);
    assert_eq!(
        world.writes(),
        ["create Service", "update ServiceImport", "patch_status ServiceImport"]
    );
    world.rest();
}

/// The administrator gives the cluster another range. Of one that ends, API servers give no address any more, not even one that was in
/// use.
#[test]
fn an_address_of_a_range_that_ends_is_replaced() {
    let mut world = World::imported();
    let (before, former) = (world.ips(), ObjectName::cluster("kubernetes"));
    let hold = |range: &mut Value| range["metadata"]["finalizers"] = json!(["x/y"]);
    world.own.edit(kinds::SERVICE_CIDR, &former, hold).unwrap();
    world.own.delete(kinds::SERVICE_CIDR, &former).unwrap();
    let range = json!({ "spec": { "cidrs": ["10.97.0.0/16"] } });
    world.add(kinds::SERVICE_CIDR, &ObjectName::cluster("other"), range);
    world.rest();
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.settle();
    assert_ne!(world.ips(), before);
    assert_eq!(world.told(), [events::ADDRESS_REPLACED]);
    world.rest();
}

/// A quota keeps slices from being made: the Service gets a port all the same, and so does the import.
#[test]
fn a_slice_that_cannot_be_made_holds_no_port_up() {
    let mut world = World::imported();
    world.export_slice("b", "web-2", &["10.1.0.5"]);
    world.respec("ports", json!([port("http", 80), port("more", 81)]));
    world.write_but(|step| matches!(step.action, Action::Create(_)));
    let ports = |object: &Value| object["spec"]["ports"].as_array().unwrap().len();
    assert_eq!(ports(world.own.get(kinds::SERVICE, &derived()).unwrap()), 2);
    assert_eq!(ports(world.import().unwrap()), 2);
}

#[test]
fn addresses_of_the_import_are_put_back() {
    let mut world = World::imported();
    let before = world.ips();
    edit(&mut world, kinds::MCS_SERVICE_IMPORT, &web(), "/spec/ips", json!(["192.0.2.1"]));
    world.settle();
    assert_eq!(world.ips(), before);
    assert_eq!(world.told(), [""; 0], "its address was never another");
    assert_eq!(world.writes()[0], "update ServiceImport");
    world.rest();
}

#[test]
fn slices_are_put_back() {
    let mut world = World::imported();
    let slice = World::here("b", "web-1");
    edit(&mut world, kinds::ENDPOINT_SLICE, &slice, "/endpoints", json!([]));
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    world.own.delete(kinds::ENDPOINT_SLICE, &slice).unwrap();
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice", "create EndpointSlice"]);
    world.rest();
}

#[test]
fn a_foreign_service_costs_the_first_name_alone() {
    let mut world = World::new();
    world.add(kinds::SERVICE, &derived(), json!({ "spec": { "selector": { "app": "x" } } }));
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    world.rest();
    let foreign = world.own.get(kinds::SERVICE, &derived()).unwrap();
    assert_eq!(foreign["spec"]["selector"]["app"], "x");
    let named = &world.import().unwrap()["metadata"]["annotations"];
    let name = named[annotations::MULTICLUSTER_DERIVED_SERVICE].as_str().unwrap();
    assert!(name.starts_with("derived-isrlchlhrq-"), "{name}");
    let slice = world.own.get(kinds::ENDPOINT_SLICE, &World::here("b", "web-1")).unwrap();
    assert_eq!(slice["metadata"]["labels"][labels::SERVICE_NAME], name);
}

#[test]
fn an_import_of_another_implementation_is_left_alone() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    let object = json!({ "spec": { "type": "ClusterSetIP", "ports": [port("http", 80)] } });
    world.add(kinds::MCS_SERVICE_IMPORT, &web(), object);
    world.rest();
    let counts = count(&world.settings, &world.snapshot(), world.own.now());
    assert!(counts.states.contains(&(ImportState::Foreign, 1)));
    world.own.delete(kinds::MCS_SERVICE_IMPORT, &web()).unwrap();
    world.settle();
    assert_eq!(world.slices().len(), 1, "deleting it heals");
}

/// Cilium rewrites an import and drops the mark.
#[test]
fn an_import_that_loses_our_mark_is_another_implementations() {
    let mut world = World::imported();
    edit(&mut world, kinds::MCS_SERVICE_IMPORT, &web(), "/metadata/annotations", json!({}));
    world.withdraw();
    world.rest();
}

#[test]
fn exported_labels_and_annotations_are_exact() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("labels", json!({ "team": "a", "kubernetes.io/x": "y" }));
    world.respec("annotations", json!({ "note": "n", "networking.fleet.azure.com/x": "y" }));
    world.settle();
    let texts = |world: &World, field: &str| {
        let texts = world.import().unwrap()["metadata"][field].clone();
        texts.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    assert_eq!(texts(&world, "labels"), ["team"]);
    let ours = [
        annotations::MULTICLUSTER_DERIVED_SERVICE,
        annotations::MULTICLUSTER_EXPORTED,
        annotations::MULTICLUSTER_HUB,
    ];
    assert_eq!(texts(&world, "annotations"), [&ours[..], &["note"]].concat());
    edit(
        &mut world,
        kinds::MCS_SERVICE_IMPORT,
        &web(),
        "/metadata/labels",
        json!({ "other": "b" }),
    );
    world.respec("annotations", json!({}));
    world.settle();
    assert_eq!(texts(&world, "labels"), ["team"]);
    assert_eq!(texts(&world, "annotations"), ours);
    let service = world.own.get(kinds::SERVICE, &derived()).unwrap();
    assert!(service["metadata"]["labels"].is_null(), "they never go to the derived Service");
}

/// Definitions of the kind before the field: writing it again and again would be a loop.
#[test]
fn fields_that_a_definition_lacks_are_not_written_over_and_over() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("trafficDistribution", json!("PreferClose"));
    world.settle();
    let drop = |object: &mut Value| {
        let spec = object["spec"].as_object_mut().unwrap();
        for field in ["trafficDistribution", "internalTrafficPolicy", "ipFamilies"] {
            spec.remove(field);
        }
        object["status"].as_object_mut().unwrap().remove("endpointSliceObjects");
    };
    world.own.edit(kinds::MCS_SERVICE_IMPORT, &web(), drop).unwrap();
    world.settle();
    world.rest();
    assert_eq!(world.ready(), "True Ready");
}

/// A webhook adds labels to whatever is written: nothing of the import waits for that to end.
#[test]
fn labels_of_others_are_no_obstacle() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    for _ in 0..20 {
        let plan = world.plan();
        world.execute(&plan);
        let label = |object: &mut Value| object["metadata"]["labels"]["cost"] = json!("42");
        let there = |world: &World, kind, name: &ObjectName| world.own.get(kind, name).is_some();
        if there(&world, kinds::MCS_SERVICE_IMPORT, &web()) {
            world.own.edit(kinds::MCS_SERVICE_IMPORT, &web(), label).unwrap();
        }
        let slice = World::here("b", "web-1");
        if there(&world, kinds::ENDPOINT_SLICE, &slice) {
            world.own.edit(kinds::ENDPOINT_SLICE, &slice, label).unwrap();
        }
    }
    assert_eq!(world.ready(), "True Ready");
    world.rest();
    // What is exported no longer goes, also beside those.
    world.respec("labels", json!({ "team": "a" }));
    world.settle();
    assert_eq!(world.import().unwrap()["metadata"]["labels"], json!({ "team": "a" }));
    world.respec("labels", json!({}));
    world.settle();
    assert!(world.import().unwrap()["metadata"]["labels"]["team"].is_null());
    world.rest();
}

/// Tools adopt or delete what carries their labels: a cluster need not take those of others.
#[test]
fn a_cluster_that_takes_no_labels_of_others_loses_those_that_it_has() {
    let mut world = World::imported();
    world.respec("labels", json!({ "argocd.argoproj.io/instance": "x" }));
    world.respec("annotations", json!({ "team": "a" }));
    world.settle();
    let metadata = |world: &World| world.import().unwrap()["metadata"].clone();
    assert_eq!(metadata(&world)["annotations"]["team"], "a");
    assert_eq!(metadata(&world)["labels"], json!({ "argocd.argoproj.io/instance": "x" }));
    world.settings.multicluster.exported_metadata = false;
    world.settle();
    assert!(metadata(&world)["annotations"]["team"].is_null());
    assert!(metadata(&world)["labels"].get("argocd.argoproj.io/instance").is_none());
    assert_eq!(world.ready(), "True Ready");
    world.rest();
}

/// One that exists is kept, whatever names are free.
#[test]
fn a_derived_service_stays_when_the_first_name_becomes_free() {
    let mut world = World::new();
    world.add(kinds::SERVICE, &derived(), json!({ "spec": { "selector": { "app": "x" } } }));
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    world.rest();
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.rest();
}

/// With the hub away no other source has them.
#[test]
fn an_edited_import_keeps_its_derived_service_without_the_hub() {
    for (field, value) in
        [("type", json!("Headless")), ("ipFamilies", json!(["IPv6"])), ("ips", json!([]))]
    {
        let mut world = World::imported();
        let before = world.ips();
        let uid = |world: &World| {
            world.own.get(kinds::SERVICE, &derived()).unwrap()["metadata"]["uid"].clone()
        };
        let service = uid(&world);
        world.heard = false;
        let set = |import: &mut Value| {
            import["spec"][field] = value;
            import["spec"]["ips"] = json!([]);
        };
        world.own.edit(kinds::MCS_SERVICE_IMPORT, &web(), set).unwrap();
        world.settle();
        assert_eq!((world.ips(), uid(&world)), (before, service), "{field}");
        assert_eq!(world.import().unwrap()["spec"]["type"], "ClusterSetIP");
    }
}
