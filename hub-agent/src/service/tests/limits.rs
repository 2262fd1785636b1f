//! Objects of members that exceed a bound are rejected, and no other member's export waits for them.

use fleet_api::{annotations, finalizers, kinds};
use prometheus::proto::LabelPair;
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, reference};
use crate::metrics;
use crate::service::Key;

fn ports(count: usize) -> Value {
    let port = |number| json!({ "name": format!("p{number}"), "protocol": "TCP", "port": number });
    (1..=count).map(port).collect()
}

/// The ports that a condition `Valid` names as too many.
fn rejection(world: &World, member: &str) -> Option<String> {
    let condition = world.condition(member, "Valid")?;
    assert_eq!(condition["status"], "False");
    assert_eq!(condition["reason"], "LimitExceeded");
    Some(condition["message"].as_str().unwrap().to_owned())
}

#[test]
fn an_export_with_too_many_ports_does_not_count() {
    let mut world = World::new();
    world.export_ports("a", ports(12_000));
    world.export("c", 80);
    world.slice("c", "s1", "10.3.0.1");
    world.request("b");
    world.settle_all();
    assert_eq!(world.clusters(), ["c"], "the other one is served");
    assert_eq!(
        (world.granted(), world.copies()),
        (vec!["b".into()], vec!["fleet-member-b/c-s1".into()])
    );
    let message = rejection(&world, "a").unwrap();
    let expected = "spec.ports has 12000 entries, but at most 100 are accepted";
    assert!(message.contains(expected), "{message}");
    assert_eq!(world.condition("a", "Conflict"), None);

    let key = Key::InvalidReference(kinds::INTERNAL_SERVICE_EXPORT, of_shop("a"));
    let plan = world.plan_of(&key);
    assert!(plan.steps.is_empty(), "reported once: {plan:#?}");
    assert_eq!((plan.events[0].reason, &plan.events[0].name), ("LimitExceeded", &of_shop("a")));
    world.delete_export("a");
    world.settle_all();
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
    assert_eq!(world.clusters(), ["c"]);
}

#[test]
fn an_export_that_no_longer_exceeds_a_bound_is_accepted() {
    let mut world = World::exported();
    world.export_ports("c", ports(101));
    world.settle_all();
    assert!(rejection(&world, "c").is_some());
    world.set_ports("c", port(80));
    world.settle_all();
    assert_eq!((world.clusters(), world.conflict("c")), (vec!["a", "c"], "False"));
    assert_eq!(rejection(&world, "c"), None);
}

/// The hub agent of an earlier version, or that of the original, has accepted it: an upgrade withdraws nothing.
#[test]
fn an_accepted_export_stays_in_force_until_it_changes() {
    let mut world = World::shared();
    world.set_ports("a", ports(150));
    let accepted = json!([{
        "type": "Conflict", "status": "False", "reason": "NoConflictFound", "message": "",
        "observedGeneration": 2, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let accept = |export: &mut Value| export["status"]["conditions"] = accepted;
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a"), accept).unwrap();
    world.settle_all();
    assert_eq!((world.clusters(), rejection(&world, "a")), (vec!["a"], None));
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);

    world.set_ports("a", ports(151));
    world.settle_all();
    assert!(rejection(&world, "a").is_some());
    assert!(world.copies().is_empty());
}

#[test]
fn a_request_and_a_slice_beyond_a_bound_are_rejected_and_released() {
    let mut long = reference("c", "ServiceImport", "shop");
    long["kind"] = json!("k".repeat(64));
    let request = json!({ "serviceImportReference": long });
    let endpoints = vec![json!({ "addresses": ["10.1.0.9"] }); 1001];
    let slice = json!({
        "addressType": "IPv4", "endpoints": endpoints,
        "endpointSliceReference": reference("a", "EndpointSlice", "x"),
        "ownerServiceReference":
            { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
    });
    for (kind, name, finalizer, spec) in [
        (
            kinds::INTERNAL_SERVICE_IMPORT,
            of_shop("c"),
            finalizers::INTERNAL_SERVICE_IMPORT,
            request,
        ),
        (
            kinds::ENDPOINT_SLICE_EXPORT,
            in_member("a", "x"),
            finalizers::ENDPOINT_SLICE_EXPORT,
            slice,
        ),
    ] {
        let mut world = World::shared();
        let object = json!({ "metadata": { "finalizers": [finalizer] }, "spec": spec });
        world.hub.create(kind, &name, object).unwrap();
        world.settle_all();
        let events = world.plan_of(&Key::InvalidReference(kind, name.clone())).events;
        assert_eq!(events[0].reason, "LimitExceeded");
        assert_eq!((world.granted(), world.copies().len()), (vec!["b".to_owned()], 1));
        let annotations = &world.hub.get(kind, &name).unwrap()["metadata"]["annotations"];
        assert_eq!(annotations[annotations::REJECTED], events[0].note, "members read that");
        world.delete(kind, &name);
        world.settle_all();
        assert!(!world.exists(kind, &name));
    }
}

/// The annotation goes when the object is corrected, and is no reason for a second write of an object in one plan.
#[test]
fn a_slice_that_is_corrected_is_no_longer_annotated() {
    let mut world = World::shared();
    let slice = in_member("a", "a-s1");
    let set_endpoints = |count: usize| {
        let endpoints = vec![json!({ "addresses": ["10.1.0.9"] }); count];
        move |slice: &mut Value| slice["spec"]["endpoints"] = json!(endpoints)
    };
    let kind = kinds::ENDPOINT_SLICE_EXPORT;
    let rejected = |world: &World| {
        let slice = world.hub.get(kind, &slice).unwrap();
        !slice["metadata"]["annotations"][annotations::REJECTED].is_null()
    };
    world.hub.edit(kind, &slice, set_endpoints(1001)).unwrap();
    world.settle_all();
    assert!(rejected(&world) && world.copies().is_empty());
    world.release_copies();
    world.hub.edit(kind, &slice, set_endpoints(1)).unwrap();
    let bare = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kind, &slice, bare).unwrap();
    let plan = world.plan();
    let writes = plan.steps.iter().filter(|step| step.kind == kind && step.name == slice);
    assert_eq!(writes.count(), 1, "the finalizer: {plan:#?}");
    world.settle_all();
    assert_eq!((rejected(&world), world.copies().len()), (false, 1));
}

#[test]
fn what_exceeds_a_bound_is_counted_by_member_and_kind() {
    let mut world = World::shared();
    world.export_ports("c", ports(101));
    let gauges = metrics::over_limit(&world.snapshot(), &[]).unwrap();
    let families: Vec<_> = gauges.iter().flat_map(|gauge| gauge.collect()).collect();
    let [series] = families[0].get_metric() else { panic!("one series: {families:?}") };
    let labels: Vec<_> = series.get_label().iter().map(LabelPair::value).collect();
    assert_eq!(labels, ["InternalServiceExport", "c"]);
    assert!((series.get_gauge().get_value() - 1.0).abs() < f64::EPSILON);
}
