//! The ServiceImport of this cluster and the request for it on the hub.

use fleet_api::{ObjectName, annotations, events, finalizers, kinds};
use serde_json::{Value, json};

use super::{World, granted, on_hub, request, shop};

/// MISI-1: a request on the hub without ServiceImport here is deleted.
#[test]
fn a_request_without_import_goes() {
    let mut world = World::new();
    let reference = json!({
        "clusterId": "b", "kind": "ServiceImport", "namespace": "team", "name": "shop",
        "namespacedName": "team/shop", "uid": "u", "resourceVersion": "1", "generation": 1,
    });
    let object = json!({ "spec": { "serviceImportReference": reference } });
    world.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &request(), object).unwrap();
    world.settle();
    assert!(world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).is_none());
}

/// MISI-2: what the hub grants is the status of the ServiceImport.
#[test]
fn the_import_shows_what_is_granted() {
    let mut world = World::waiting();
    assert!(world.import().unwrap()["status"].is_null());
    world.grant(granted());
    world.settle();
    assert_eq!(world.import().unwrap()["status"], granted());
}

/// MISI-3: when the grant changes, the ServiceImport follows, to empty too.
#[test]
fn the_import_follows_the_grant() {
    let mut world = World::importing();
    let mut more = granted();
    more["clusters"] = json!([{ "cluster": "a" }, { "cluster": "c" }]);
    world.grant(more.clone());
    world.settle();
    assert_eq!(world.import().unwrap()["status"], more);
    world.grant(json!({}));
    world.settle();
    assert_eq!(world.import().unwrap()["status"], json!({}));
}

/// MSI-1: the request carries the full reference, after the ServiceImport has its finalizer. (A
/// ServiceImport that no MultiClusterService made is no request: see `holding`.)
#[test]
fn the_request_refers_to_the_import() {
    let mut world = World::new();
    world.create_mcs(&shop(), "shop");
    world.settle();
    let import = world.import().unwrap();
    assert_eq!(import["metadata"]["finalizers"], json!([finalizers::SERVICE_IMPORT]));
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap();
    assert_eq!(request["metadata"]["finalizers"], json!([finalizers::INTERNAL_SERVICE_IMPORT]));
    let reference = &request["spec"]["serviceImportReference"];
    assert_eq!(reference["clusterId"], "b");
    assert_eq!(reference["kind"], "ServiceImport");
    assert_eq!(reference["namespacedName"], "team/shop");
    assert_eq!(reference["uid"], import["metadata"]["uid"]);
    assert_eq!(reference["exportedSince"], import["metadata"]["creationTimestamp"]);
    assert!(reference["resourceVersion"].is_string() && reference["generation"].is_number());
}

/// MSI-2: the request follows another incarnation of the ServiceImport. Changes of its metadata
/// alone are no reason to write, unlike in the original, which admits that they are of no use.
#[test]
fn the_request_follows_another_incarnation_only() {
    let mut world = World::importing();
    let note = |import: &mut Value| import["metadata"]["annotations"] = json!({ "note": "x" });
    world.edit(kinds::SERVICE_IMPORT, &shop(), note);
    assert!(world.plan().is_empty());

    world
        .hub
        .edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), |request| {
            request["spec"]["serviceImportReference"]["uid"] = json!("of-an-earlier-one");
        })
        .unwrap();
    world.settle();
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap();
    let uid = &world.import().unwrap()["metadata"]["uid"];
    assert_eq!(&request["spec"]["serviceImportReference"]["uid"], uid);
}

/// MSI-3: a deleted ServiceImport goes after its request was deleted; the MultiClusterService then has another.
#[test]
fn a_deleted_import_takes_its_request_along() {
    let mut world = World::importing();
    let before = world.import().unwrap()["metadata"]["uid"].clone();
    world.own.delete(kinds::SERVICE_IMPORT, &shop()).unwrap();
    let plan = world.plan();
    let kinds: Vec<_> = plan.steps.iter().map(|step| step.kind.kind).collect();
    assert_eq!(kinds[..2], ["InternalServiceImport", "ServiceImport"], "{plan:#?}");
    assert_eq!(plan.steps[1].after.len(), 1);
    world.settle();
    let import = world.import().expect("another");
    assert_ne!(import["metadata"]["uid"], before);
    assert_eq!(world.hub.names(kinds::INTERNAL_SERVICE_IMPORT), [request()], "one at a time");
    world.let_go();
    world.settle();
    let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap();
    let uid = &world.import().unwrap()["metadata"]["uid"];
    assert_eq!(&request["spec"]["serviceImportReference"]["uid"], uid);
}

/// Two requests for one Service, as a crash of some agent may leave them: one is enough.
#[test]
fn one_request_is_enough() {
    let mut world = World::importing();
    let mut second = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap().clone();
    second["metadata"] = json!({});
    let name = on_hub("z-second");
    world.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &name, second).unwrap();
    world.settle();
    assert_eq!(world.hub.names(kinds::INTERNAL_SERVICE_IMPORT), [request()]);
}

/// An object that names no Service imports nothing: requests are deleted and
/// finalizers removed.
#[test]
fn objects_that_name_no_service_are_removed() {
    use super::super::invalid_reference;
    let mut world = World::new();
    let reference = json!({
        "clusterId": "b", "kind": "ServiceImport", "namespace": "", "name": "",
        "namespacedName": "", "uid": "u", "resourceVersion": "1", "generation": 1,
    });
    let object = json!({ "spec": { "serviceImportReference": reference } });
    let name = on_hub("invalid");
    world.hub.create(kinds::INTERNAL_SERVICE_IMPORT, &name, object).unwrap();
    let nobody = ObjectName::new("", "");
    let mut slice = super::copy_of(&nobody, &[], &[finalizers::ENDPOINT_SLICE_IMPORT]);
    slice["spec"]["ownerServiceReference"]["namespacedName"] = json!("");
    world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, slice).unwrap();
    let plan = |world: &World, kind| invalid_reference::plan(kind, &name, &world.snapshot());

    assert!(plan(&world, kinds::ENDPOINT_SLICE_IMPORT).is_empty(), "the hub's, not deleted");
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap();
    for kind in [kinds::ENDPOINT_SLICE_IMPORT, kinds::INTERNAL_SERVICE_IMPORT] {
        let steps = plan(&world, kind);
        fleet_model_server::execute(&steps, &mut [&mut world.own, &mut world.hub]);
        assert!(world.hub.get(kind, &name).is_none(), "{}", kind.kind);
        assert!(plan(&world, kind).is_empty());
    }
}

/// Users do not see the hub agent's Event on the hub, and a request has no conditions.
#[test]
fn why_the_hub_rejects_the_request_is_reported_to_the_user() {
    let mut world = World::waiting();
    assert_eq!(world.plan().events, []);
    let reject = |request: &mut Value| {
        let why = format!("rejected: no services of namespace team{}", "!".repeat(2000));
        request["metadata"]["annotations"] = json!({ annotations::REJECTED: why });
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), reject).unwrap();
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "no condition changes: {plan:#?}");
    let event = &plan.events[0];
    assert_eq!((event.kind, &event.name), (kinds::MULTI_CLUSTER_SERVICE, &shop()));
    assert_eq!(event.reason, events::IMPORT_REFUSED);
    let expected = "the hub does not accept the import of service team/shop: rejected: no services";
    assert!(event.note.starts_with(expected) && event.note.len() < 1000, "{}", event.note);

    let accept = |request: &mut Value| request["metadata"]["annotations"] = json!({});
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), accept).unwrap();
    assert_eq!(world.plan().events, []);
}
