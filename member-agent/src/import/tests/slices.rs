//! What the hub distributed becomes slices of this cluster.

use fleet_api::{annotations, finalizers, kinds, labels};
use serde_json::{Value, json};

use super::{World, copy, derived, imported, on_hub, shop, system};

/// MESI-1: an imported slice whose copy on the hub is deleted goes, and the copy with it.
#[test]
fn a_deleted_copy_takes_the_slice_along() {
    let mut world = World::importing();
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    let plan = world.plan();
    assert!(plan.steps[0].urgent, "endpoints leave first");
    assert_eq!(plan.steps[1].after.len(), 1, "the finalizer goes after them");
    world.settle();
    assert!(world.slice().is_none());
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_none());
}

/// F32: a user removed the finalizer from the copy, which then could be deleted before its imported slice.
#[test]
fn a_copy_gets_its_finalizer_back() {
    let mut world = World::importing();
    world.change_copy(|copy| copy["metadata"]["finalizers"] = json!([]));
    world.settle();
    let again = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    assert_eq!(again["metadata"]["finalizers"], json!([finalizers::ENDPOINT_SLICE_IMPORT]));
    assert!(world.own.take_writes().is_empty(), "the slice is as it has to be");
}

/// MESI-2: without a MultiClusterService for the Service nothing is imported.
#[test]
fn nothing_is_imported_that_nobody_asked_for() {
    let mut world = World::new();
    world.distribute(&["10.1.0.1"]);
    world.settle();
    assert!(world.slice().is_none());
}

/// MESI-4: without derived Service nothing is imported; when it comes, the slice does.
#[test]
fn nothing_is_imported_before_the_derived_service() {
    let mut world = World::new();
    world.create_mcs(&shop(), "shop");
    world.distribute(&["10.1.0.1"]);
    world.settle();
    assert!(world.slice().is_none());
    world.grant(super::granted());
    world.settle();
    assert!(world.slice().is_some());
}

/// MESI-5: nothing is imported into a derived Service that is being deleted.
#[test]
fn nothing_is_imported_into_a_terminating_derived_service() {
    let mut world = World::importing();
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.change_copy(|copy| copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]));
    world.rest();
    let slice = world.slice().expect("what was imported stays until the Service is back");
    assert_eq!(slice["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    assert!(message.contains("fleet-system/team-shop is being deleted"), "{message}");

    world.edit(kinds::SERVICE, &derived(), |service| {
        service["metadata"]["finalizers"] = json!([]);
    });
    world.settle();
    assert_eq!(world.slice().unwrap()["endpoints"], json!([{ "addresses": ["10.1.0.9"] }]));
    assert_eq!(world.valid(&shop()).0, "True");
}

/// MESI-6: an imported slice has addresses, ports with appProtocol and both labels; its copy has
/// the finalizer. The mark of what was measured is on the slice, not on the copy (docs/design/rules.md#latency).
#[test]
fn an_import_binds_addresses_ports_and_labels() {
    let world = World::importing();
    let slice = world.slice().expect("imported");
    assert_eq!(slice["metadata"]["labels"][labels::SERVICE_NAME], "team-shop");
    assert_eq!(slice["metadata"]["labels"][labels::MANAGED_BY], labels::MANAGED_BY_IMPORT);
    assert_eq!(slice["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION], "1");
    assert_eq!(slice["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));
    assert_eq!(slice["ports"][0]["appProtocol"], "http");
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    assert_eq!(copy["metadata"]["finalizers"], json!([finalizers::ENDPOINT_SLICE_IMPORT]));
    assert!(world.plan().is_empty());
}

/// MESI-7: ports of several protocols arrive unchanged.
#[test]
fn ports_of_several_protocols_arrive() {
    let world = World::importing();
    let expected = json!([
        { "name": "web", "protocol": "TCP", "port": 8080, "appProtocol": "http" },
        { "name": "dns", "protocol": "UDP", "port": 53 },
    ]);
    assert_eq!(world.slice().unwrap()["ports"], expected);
}

/// MESI-8: endpoints of the slice follow those of the copy.
#[test]
fn changes_of_the_copy_follow() {
    let mut world = World::importing();
    world.change_copy(|copy| copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]));
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1, "{plan:#?}");
    assert!(plan.steps[0].urgent, "an address that is gone must leave first");
    world.settle();
    assert_eq!(world.slice().unwrap()["endpoints"], json!([{ "addresses": ["10.1.0.2"] }]));
}

/// MESI-9: a deleted copy is released whether its slice is there (MESI-1), gone already, or the copy
/// never had our finalizer.
#[test]
fn a_deleted_copy_whose_slice_is_gone_is_let_go() {
    let mut world = World::importing();
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.settle();
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_none());

    let mut world = World::new();
    world.distribute(&["10.1.0.1"]);
    let foreign = json!(["example.com/hold"]);
    world.change_copy(|copy| copy["metadata"]["finalizers"] = foreign.clone());
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    assert!(world.plan().is_empty(), "it is held by somebody else alone");
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
fn a_deleted_slice_comes_back() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    world.settle();
    assert!(world.slice().is_some());
    assert!(world.plan().is_empty());
}

#[test]
fn a_slice_whose_copy_is_gone_goes() {
    let mut world = World::importing();
    world.change_copy(|copy| copy["metadata"]["finalizers"] = json!([]));
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_none());
    world.settle();
    assert!(world.slice().is_none());
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
    // Nor is the copy kept from going.
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    world.settle();
    assert_eq!(world.slice().cloned(), before);
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copy()).is_none());
}

/// MCS-17: what scales up and down behind the exporter does so here.
#[test]
fn addresses_follow_a_scaled_workload() {
    let mut world = World::importing();
    for addresses in [&["10.1.0.1", "10.1.0.2", "10.1.0.3"][..], &["10.1.0.3"], &[]] {
        let endpoints: Value = addresses.iter().map(|at| json!({ "addresses": [at] })).collect();
        world.change_copy(|copy| copy["spec"]["endpoints"] = endpoints.clone());
        world.settle();
        assert_eq!(world.slice().unwrap()["endpoints"], endpoints);
    }
}

/// MCS-18: when one of two exporters falls into conflict, its slice alone leaves; the other one,
/// the derived Service and the condition stay.
#[test]
fn the_slices_of_one_exporter_leave_alone() {
    let mut world = World::importing();
    let other = "c-team-shop-z9-def";
    world.distribute_as(&on_hub(other), &["10.3.0.1"]);
    world.settle();
    let service = world.derived().unwrap().clone();
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &on_hub(other)).unwrap();
    world.rest();
    assert!(world.own.get(kinds::ENDPOINT_SLICE, &system(other)).is_none());
    assert_eq!(world.slice().unwrap()["endpoints"], json!([{ "addresses": ["10.1.0.1"] }]));
    assert_eq!(world.derived(), Some(&service));
    assert_eq!(world.valid(&shop()).0, "True");
}

/// The winner of a conflict has gone, and the slices of the next one come: clients always have an
/// endpoint. Where another slice serves, or the next one's cannot be made for long, nothing waits.
#[test]
fn the_last_slice_leaves_after_its_successor_has_come() {
    let next = "c-team-shop-z9-def";
    for (another_serves, late, waits) in
        [(false, false, true), (true, false, false), (false, true, false)]
    {
        let mut world = World::importing();
        if another_serves {
            world.distribute_as(&on_hub("d-team-shop-y8-ghi"), &["10.4.0.1"]);
            world.settle();
        }
        world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
        world.distribute_as(&on_hub(next), &["10.3.0.1"]);
        if late {
            world.own.advance(super::super::slices::HANDOVER.as_secs().try_into().unwrap());
        }
        let plan = world.plan();
        let delete = plan.steps.iter().find(|step| step.name == imported()).unwrap();
        let successors: Vec<_> =
            delete.after.iter().map(|step| &*plan.steps[step.index()].name.name).collect();
        let expected = if waits { vec![next] } else { Vec::new() };
        assert_eq!(successors, expected);
        world.settle();
        assert!(world.slice().is_none());
        assert!(world.own.get(kinds::ENDPOINT_SLICE, &system(next)).is_some());
        assert!(world.plan().is_empty());
    }
}
