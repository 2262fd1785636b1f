//! Exact numbers of writes, in their order.

use fleet_accumulator::View;
use fleet_api::{ObjectName, kinds};
use fleet_plan::Controller as _;
use serde_json::json;

use super::super::{StandardImportController, plan};
use super::world::{World, port, web};
use crate::Settings;
use crate::measurement::Measurement;
use crate::snapshot::MemberSnapshot;

#[test]
fn a_first_import_takes_five_writes() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    let expected = [
        "create ServiceImport",
        "create Service",
        "create EndpointSlice",
        "update ServiceImport",
        "patch_status ServiceImport",
    ];
    let mut writes = world.writes();
    writes[1..3].sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(writes, expected);
    assert_eq!(world.ips(), json!(["10.96.0.2"]));
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    assert_eq!(world.ready(), "True Ready");
    world.rest();
}

#[test]
fn a_headless_import_takes_three_writes() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("type", json!("Headless"));
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    let mut writes = world.writes();
    writes.sort_unstable();
    let expected = ["create EndpointSlice", "create ServiceImport", "patch_status ServiceImport"];
    assert_eq!(writes, expected);
    assert_eq!(world.import().unwrap()["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(world.ready(), "True Ready");
    world.rest();
}

/// Gateways read slices as soon as the status shows that there are any.
#[test]
fn the_first_status_follows_the_first_slice() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("type", json!("Headless"));
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    for _ in 0..3 {
        let mut plan = world.plan();
        // The API server refuses it for now.
        plan.steps.retain(|step| step.kind != kinds::ENDPOINT_SLICE);
        world.execute(&plan);
    }
    assert_eq!(world.writes(), ["create ServiceImport"]);
    world.settle();
    assert_eq!(world.writes(), ["create EndpointSlice", "patch_status ServiceImport"]);
    assert_eq!(world.import().unwrap()["status"]["endpointSliceObjects"], "Present");
    world.rest();
}

/// A Service without endpoints is ready, too.
#[test]
fn without_slices_the_status_waits_for_none() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.respec("type", json!("Headless"));
    world.settle();
    assert_eq!(world.writes(), ["create ServiceImport", "patch_status ServiceImport"]);
    assert_eq!(world.ready(), "True Ready");
}

#[test]
fn a_change_of_endpoints_takes_one_write() {
    let mut world = World::imported();
    world.move_endpoints("b", "web-1", &["10.1.0.1", "10.1.0.2"]);
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    assert_eq!(world.slices(), ["b 10.1.0.1,10.1.0.2 http"]);
    world.rest();
}

/// A write that only puts something right is no arrival.
#[test]
fn each_generation_of_endpoints_is_measured_once() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    let plan = world.plan();
    world.execute(&plan);
    let measured = |world: &World| -> Vec<_> {
        let of = |what: &Measurement| match what {
            Measurement::Imported(it) => (it.origin.clone(), it.generation, it.first),
            other => panic!("{other:?}"),
        };
        world.plan().measurements.iter().map(|it| of(&it.what)).collect()
    };
    assert_eq!(measured(&world), [("b".to_owned(), 1, true)]);
    world.settle();
    world.rest();
    world.move_endpoints("b", "web-1", &["10.1.0.2"]);
    assert_eq!(measured(&world), [("b".to_owned(), 2, false)]);
    world.settle();
    let set = |slice: &mut serde_json::Value| slice["endpoints"] = json!([]);
    world.own.edit(kinds::ENDPOINT_SLICE, &World::here("b", "web-1"), set).unwrap();
    assert_eq!(measured(&world), []);
    assert_eq!(world.plan().steps.len(), 1);
}

/// An address that leads into this cluster must not be imported because its Nodes are not listed yet: what is imported
/// stays.
#[test]
fn nothing_is_imported_before_what_is_reserved_is_known() {
    let controller = StandardImportController::new(Settings::new("a"));
    for source in [MemberSnapshot::service_cidrs(), MemberSnapshot::node_addresses()] {
        assert!(controller.required().contains(source));
    }
}

/// Two watches read EndpointSlices, and either may be the first to show what was written.
#[test]
fn nothing_is_made_twice_while_one_of_two_watches_is_behind() {
    let world = World::imported();
    let mut snapshot = world.snapshot();
    snapshot.managed_slices = View::of([]);
    let plan = plan(&world.settings, &web(), &snapshot, world.own.now());
    assert!(plan.is_empty(), "{plan:#?}");
}

#[test]
fn a_second_exporter_takes_two_writes() {
    let mut world = World::imported();
    world.resolve(&["b", "c"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    let mut writes = world.writes();
    writes.sort_unstable();
    assert_eq!(writes, ["create EndpointSlice", "patch_status ServiceImport"]);
    assert_eq!(world.slices(), ["b 10.1.0.1 http", "c 10.2.0.1 http"]);
    let clusters = world.import().unwrap()["status"]["clusters"].clone();
    assert_eq!(clusters, json!([{ "cluster": "b" }, { "cluster": "c" }]));
}

#[test]
fn one_of_several_unexports_takes_two_writes() {
    let mut world = World::imported();
    world.resolve(&["b", "c"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    world.rest();
    world.unexport_slice("b", "web-1");
    world.resolve(&["c"]);
    world.settle();
    assert_eq!(world.writes(), ["delete EndpointSlice", "patch_status ServiceImport"]);
    assert_eq!(world.slices(), ["c 10.2.0.1 http"]);
    world.rest();
}

/// The import goes first: names stop before what is behind them. The garbage collector may be faster with the rest.
#[test]
fn the_last_unexport_takes_everything() {
    let mut world = World::imported();
    world.unexport_slice("b", "web-1");
    world.withdraw();
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 3);
    assert!(plan.steps[1..].iter().all(|step| step.after.iter().any(|id| id.index() == 0)));
    world.settle();
    assert_eq!(world.writes(), ["delete ServiceImport"]);
    assert!(world.is_clean());
    world.rest();
}

/// Five for each namespace that appears, none where there is none.
#[test]
fn a_namespace_that_appears_gets_its_imports() {
    let mut world = World::new();
    let shop = ObjectName::cluster("shop");
    world.own.delete(kinds::NAMESPACE, &shop).unwrap();
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.rest();
    world.add(kinds::NAMESPACE, &shop, json!({}));
    world.settle();
    assert_eq!(world.writes().len(), 5);
    world.rest();
}

#[test]
fn nothing_is_written_into_a_namespace_that_is_being_deleted() {
    let mut world = World::new();
    world.resolve(&["b"]);
    let shop = ObjectName::cluster("shop");
    let set = |object: &mut serde_json::Value| {
        object["metadata"]["finalizers"] = json!(["kubernetes"]);
    };
    world.own.edit(kinds::NAMESPACE, &shop, set).unwrap();
    world.own.delete(kinds::NAMESPACE, &shop).unwrap();
    world.rest();
}

/// And one that goes is taken from clients first.
#[test]
fn a_port_that_comes_reaches_slices_before_clients_learn_of_it() {
    let mut world = World::imported();
    world.respec("ports", json!([port("http", 80), port("admin", 81)]));
    let set = |object: &mut serde_json::Value| {
        let admin = json!({ "name": "admin", "protocol": "TCP", "port": 8081 });
        object["spec"]["ports"].as_array_mut().unwrap().push(admin);
    };
    let slice = World::on_hub("b", "web-1");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice, set).unwrap();
    world.settle();
    let writes = world.writes();
    let expected = [
        "update EndpointSlice",
        "patch Service",
        "update ServiceImport",
        "patch_status ServiceImport",
    ];
    assert_eq!(writes, expected);
    assert_eq!(world.slices(), ["b 10.1.0.1 http,admin"]);
    world.rest();
    world.respec("ports", json!([port("http", 80)]));
    world.settle();
    let expected = [
        "update ServiceImport",
        "patch Service",
        "update EndpointSlice",
        "patch_status ServiceImport",
    ];
    assert_eq!(world.writes(), expected);
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    world.rest();
}

#[test]
fn a_start_over_the_same_objects_writes_nothing() {
    let mut world = World::imported();
    for (heard, settled) in [(false, false), (true, false), (true, true)] {
        (world.heard, world.settled) = (heard, settled);
        world.rest();
    }
    let import = world.own.get(kinds::MCS_SERVICE_IMPORT, &web());
    assert!(import.is_some());
}
