//! What lies on the hub without a reason to be there.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, events, kinds};
use fleet_model_server::execute;
use fleet_plan::{Controller, affected_keys};
use serde_json::{Value, json};

use super::super::{ExportController, Key};
use super::world::{World, on_hub, shop, slice};

fn without_export() -> World {
    let mut world = World::exported();
    let let_go = |export: &mut Value| export["metadata"]["finalizers"] = json!([]);
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), let_go).unwrap();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.rest();
    world
}

/// MISE-1: an InternalServiceExport without ServiceExport.
#[test]
fn an_internal_service_export_without_a_service_export_is_deleted() {
    let mut world = without_export();
    world.settle_with_hub();
    assert!(world.internal().is_none());
    assert_eq!(world.own.take_writes(), []);
}

/// MES-7: an exported slice whose ServiceExport is gone.
#[test]
fn an_endpoint_slice_export_without_a_service_export_is_deleted() {
    let mut world = without_export();
    world.settle_with_hub();
    assert!(world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).is_empty());
}

/// MESE-1: the slice does not exist. Here at once, where the original scans every five minutes.
#[test]
fn a_copy_without_its_slice_goes_at_once_and_first() {
    let mut world = World::exported();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1);
    assert!(plan.steps[0].urgent);
    assert_eq!(plan.steps[0].action.verb(), "delete");
}

fn copy_of(uid: &Value, endpoint: &str) -> Value {
    json!({ "spec": {
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [endpoint] }],
        "endpointSliceReference": { "clusterId": "a", "kind": "EndpointSlice",
            "namespace": "team", "name": "shop-x1", "namespacedName": "team/shop-x1",
            "resourceVersion": "1", "generation": 1, "uid": uid },
        "ownerServiceReference":
            { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
    }})
}

/// MESE-2: a second copy under another name. Which name is the right one is no longer read from the
/// slice: one copy per slice stays, and a copy of a slice that is gone goes.
#[test]
fn a_surplus_copy_goes() {
    let mut world = World::exported();
    let uid = world.uid(kinds::ENDPOINT_SLICE, &slice());
    for (name, uid) in [("z-surplus", uid), ("a-former", json!("some-other-uid"))] {
        let name = ObjectName::new("fleet-member-a", name);
        world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &name, copy_of(&uid, "10.9.9.9")).unwrap();
    }
    let before = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).len();
    assert_eq!(before, 3);
    world.settle();
    let left = world.copies();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["spec"]["endpoints"].as_array().unwrap().len(), 2);
}

/// MESE-3: the copy is the slice's own. Nothing happens to it, however often it is looked at.
#[test]
fn the_copy_of_a_slice_stays() {
    let world = World::exported();
    assert!(world.plan().is_empty());
}

/// MESE-4: which copy serves a slice: the one noted on it before others, a live one before one that
/// is going. A note that names no copy, or that of another slice, changes nothing.
#[test]
fn a_note_of_a_go_agent_prefers_a_copy() {
    for (note, kept) in [
        (Some("a-noted"), "a-noted"),
        (Some("z-noted"), "z-noted"),
        (Some("unknown"), "a-noted"),
        (Some("No Name"), "a-noted"),
        (None, "a-noted"),
    ] {
        let mut world = World::with_service();
        if let Some(note) = note {
            let set = |slice: &mut Value| {
                slice["metadata"]["annotations"] =
                    json!({ "networking.fleet.azure.com/fleet-unique-name": note });
            };
            world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
        }
        let uid = world.uid(kinds::ENDPOINT_SLICE, &slice());
        for name in ["a-noted", "z-noted"] {
            let name = ObjectName::new("fleet-member-a", name);
            world
                .hub
                .create(kinds::ENDPOINT_SLICE_EXPORT, &name, copy_of(&uid, "10.1.0.1"))
                .unwrap();
        }
        world.export();
        world.settle();
        world.judge("False");
        world.settle();
        let left = world.copies();
        assert_eq!(left.len(), 1, "{note:?}");
        assert_eq!(left[0]["metadata"]["name"], json!(kept), "{note:?}");
    }
}

#[test]
fn a_live_copy_serves_although_another_is_going() {
    let mut world = World::exported();
    let uid = world.uid(kinds::ENDPOINT_SLICE, &slice());
    let going = ObjectName::new("fleet-member-a", "a-0-going");
    let mut object = copy_of(&uid, "10.1.0.1");
    object["metadata"] = json!({ "finalizers": ["example.com/hold"] });
    world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &going, object).unwrap();
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &going).unwrap();
    world.rest();
    world.settle();
    assert_eq!(world.writes(), []);
}

#[test]
fn what_names_no_service_is_removed_and_reported() {
    let mut world = World::exported();
    let nothing = json!({ "clusterId": "a", "kind": "Service", "namespace": "team", "name": "shop",
        "namespacedName": "other/shop", "resourceVersion": "1", "generation": 0, "uid": "u" });
    let internal = ObjectName::new("fleet-member-a", "internal");
    let object = json!({ "spec": { "ports": [], "serviceReference": nothing } });
    world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &internal, object).unwrap();
    let copy = ObjectName::new("fleet-member-a", "copy");
    let mut object = copy_of(&json!("u"), "10.1.0.1");
    object["spec"]["ownerServiceReference"]["name"] = json!("other");
    world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &copy, object).unwrap();

    let controller = ExportController { settings: world.settings.clone() };
    let nothing = crate::snapshot::MemberSnapshot::default();
    let keys = affected_keys(&controller, &nothing, &world.snapshot());
    for (kind, name) in
        [(kinds::INTERNAL_SERVICE_EXPORT, internal), (kinds::ENDPOINT_SLICE_EXPORT, copy)]
    {
        let key = Key::InvalidReference(kind, name.clone());
        assert!(keys.contains(&key), "{keys:?}");
        let plan = controller.plan(&key, &world.snapshot(), world.own.now());
        assert_eq!(plan.events[0].reason, events::REFERENCE_REFUSED);
        assert_eq!(plan.events[0].cluster, ClusterId::Hub);
        assert_eq!(execute(&plan, &mut [&mut world.hub]), []);
        assert!(world.hub.get(kind, &name).is_none());
        assert!(controller.plan(&key, &world.snapshot(), world.own.now()).is_empty());
    }
    assert!(world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &on_hub()).is_some());
}
