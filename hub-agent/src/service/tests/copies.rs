//! Content and origin of copies; a Service leaves the copies of other Services alone.

use fleet_api::{ObjectName, annotations, events, finalizers, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_plan::{Affected, Controller as _, affected_keys};
use serde_json::{Value, json};

use super::world::{World, in_member, shop};
use crate::service::{Key, plan};
use crate::snapshot::HubSnapshot;

const ANNOTATIONS: [&str; 2] = [annotations::ORIGIN_NAMESPACE, annotations::SLICE_EXPORT_UID];

fn copy(world: &World) -> &Value {
    world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s1")).unwrap()
}

fn edit_slice(world: &mut World, change: impl FnOnce(&mut Value)) {
    let name = in_member("a", "a-s1");
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, change).unwrap();
}

fn edit_copy(world: &mut World, change: impl FnOnce(&mut Value)) {
    let name = in_member("b", "a-s1");
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &name, change).unwrap();
}

fn drain(slice: &mut Value) {
    slice["spec"]["endpoints"] = json!([]);
    slice["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.1"] }]);
}

fn forget_origin(copy: &mut Value) {
    let seen = copy["metadata"]["annotations"].as_object_mut().unwrap();
    seen.retain(|key, _| !ANNOTATIONS.contains(&key.as_str()));
}

/// A slice of member "c" for shop with the same name as the slice of "a".
fn namesake(world: &mut World) {
    world.export("c", 80);
    world.slice("c", "s1", "10.3.0.1");
    let slice = in_member("c", "c-s1");
    let mut object = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &slice).unwrap().clone();
    object["metadata"] = json!({ "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT] });
    let bare = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice, bare).unwrap();
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &slice).unwrap();
    world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &in_member("c", "a-s1"), object).unwrap();
}

#[test]
fn draining_endpoints_are_copied_where_they_are_served() {
    for (schema, copied) in
        [(Some(HubSchema::OURS), true), (Some(HubSchema::ORIGINAL), false), (None, false)]
    {
        let mut world = World::shared();
        world.schema = schema;
        edit_slice(&mut world, drain);
        world.settle();
        let spec = &copy(&world)["spec"];
        assert_eq!(spec["endpoints"], json!([]), "{schema:?}");
        assert_eq!(spec.get("drainingEndpoints").is_some(), copied, "{schema:?}");
    }
}

/// S03: while the watch of the exports lags behind that of the copies, no older generation is written, unless the lag
/// lasts.
#[test]
fn a_copy_of_a_later_generation_is_not_replaced_at_once() {
    let mut world = World::shared();
    for (generation, at_once) in [(99, false), (0, true)] {
        edit_copy(&mut world, |copy| {
            copy["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
            copy["spec"]["endpointSliceReference"]["generation"] = json!(generation);
        });
        let plan = world.plan();
        let found = (plan.steps.len(), plan.debounced.len());
        assert_eq!(found, (at_once.into(), (!at_once).into()), "{plan:#?}");
    }
}

#[test]
fn draining_endpoints_stay_while_the_schema_is_unknown() {
    let mut world = World::shared();
    world.schema = Some(HubSchema::OURS);
    edit_slice(&mut world, drain);
    world.settle();
    world.schema = None;
    assert!(world.plan().is_empty());
    edit_slice(&mut world, |slice| {
        slice["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
    });
    world.settle();
    let draining = &copy(&world)["spec"]["drainingEndpoints"];
    assert_eq!(*draining, json!([{ "addresses": ["10.1.0.2"] }]));
}

#[test]
fn ipv6_begins_when_it_is_served_and_ends_when_it_is_not() {
    let mut world = World::new();
    world.export("a", 80);
    world.slice("a", "s1", "2001:db8::1");
    edit_slice(&mut world, |slice| slice["spec"]["addressType"] = json!("IPv6"));
    world.request("b");
    for (schema, copies) in [
        (None, 0),
        (Some(HubSchema::ORIGINAL), 0),
        (Some(HubSchema::OURS), 1),
        (None, 1),
        (Some(HubSchema::ORIGINAL), 0),
    ] {
        world.schema = schema;
        world.settle();
        assert_eq!(world.copies().len(), copies, "{schema:?}");
    }
}

#[test]
fn another_schema_affects_every_service() {
    let world = World::shared();
    let mut old = world.snapshot();
    for schema in [Some(HubSchema::ORIGINAL), Some(HubSchema::OURS), None] {
        let new = HubSnapshot { schema: HubSchema::view(schema), ..old.clone() };
        let keys = affected_keys(&world.controller, &old, &new);
        assert!(keys.contains(&Key::Service(shop())), "{schema:?}");
        let same = HubSnapshot { schema: HubSchema::view(schema), ..new.clone() };
        assert!(affected_keys(&world.controller, &new, &same).is_empty());
        old = new;
    }
}

#[test]
fn slices_of_host_names_are_not_distributed() {
    let mut world = World::new();
    world.schema = Some(HubSchema::OURS);
    world.export("a", 80);
    world.slice("a", "s1", "example.com");
    edit_slice(&mut world, |slice| slice["spec"]["addressType"] = json!("FQDN"));
    world.request("b");
    world.settle();
    assert!(world.copies().is_empty());
}

/// S05: the copy records which member's endpoints it has.
#[test]
fn a_copy_records_its_origin() {
    let world = World::shared();
    let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    let recorded = &copy(&world)["metadata"]["annotations"];
    assert_eq!(recorded[annotations::ORIGIN_NAMESPACE], "fleet-member-a");
    assert_eq!(recorded[annotations::SLICE_EXPORT_UID], slice["metadata"]["uid"]);
}

#[test]
fn an_altered_origin_is_corrected_in_place() {
    for key in ANNOTATIONS {
        let mut world = World::shared();
        let before = copy(&world)["metadata"]["annotations"].clone();
        for value in [json!("fleet-member-c"), Value::Null] {
            edit_copy(&mut world, |copy| {
                let seen = copy["metadata"]["annotations"].as_object_mut().unwrap();
                seen.remove(key);
                if !value.is_null() {
                    seen.insert(key.to_owned(), value.clone());
                }
            });
            let plan = world.plan();
            let verbs: Vec<_> = plan.steps.iter().map(|step| step.action.verb()).collect();
            assert_eq!(verbs, ["update"], "{key} {value}");
            world.settle();
            assert_eq!(copy(&world)["metadata"]["annotations"], before);
        }
    }
}

#[test]
fn a_copy_made_by_a_go_hub_gets_its_origin_with_the_next_change() {
    let mut world = World::shared();
    edit_copy(&mut world, forget_origin);
    assert!(world.plan().is_empty());
    edit_slice(&mut world, |slice| slice["spec"]["endpoints"] = json!([]));
    world.settle();
    assert_eq!(copy(&world)["metadata"]["annotations"][ANNOTATIONS[0]], "fleet-member-a");
}

/// S07: the first slice keeps the name, the other one is reported, and neither changes the other's copy.
#[test]
fn slices_of_one_name_do_not_touch_each_other() {
    let mut world = World::shared();
    let before = copy(&world).clone();
    namesake(&mut world);
    world.settle();
    assert_eq!(*copy(&world), before);
    let events = world.plan().events;
    let taken: Vec<_> = events.iter().map(|event| (event.reason, event.name.clone())).collect();
    assert_eq!(taken, [(events::NAME_TAKEN, in_member("c", "a-s1"))]);

    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("c", "a-s1")).unwrap();
    world.settle();
    assert_eq!(*copy(&world), before, "the loser goes alone");
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &in_member("c", "a-s1")).is_none());
}

#[test]
fn a_name_is_handed_over_once_the_importer_has_released_the_copy() {
    let mut world = World::shared();
    namesake(&mut world);
    world.settle();
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    world.settle();
    assert!(world.copies().is_empty(), "the importer still holds the old copy");
    edit_copy(&mut world, |copy| copy["metadata"]["finalizers"] = json!([]));
    world.settle();
    assert_eq!(copy(&world)["spec"]["endpoints"], json!([{ "addresses": ["10.3.0.1"] }]));
}

/// Keys that a change of the copy affects.
fn touched(world: &World, change: impl FnOnce(&mut World)) -> Vec<Key> {
    let mut changed =
        World { hub: world.hub.clone(), controller: world.controller.clone(), ..World::new() };
    change(&mut changed);
    let mut keys = Affected::new();
    world.controller.affected_keys(&world.snapshot(), &changed.snapshot(), &mut keys);
    keys.drain().map(|(key, _)| key).collect()
}

#[test]
fn a_copy_altered_to_name_another_service_is_corrected_and_not_deleted() {
    let desk = ObjectName::new("team", "desk");
    let mut world = World::shared();
    let before = copy(&world)["spec"].clone();
    edit_copy(&mut world, |copy| {
        copy["spec"]["ownerServiceReference"] =
            json!({ "namespace": "team", "name": "desk", "namespacedName": "team/desk" });
    });
    let other = plan(&world.controller.settings, &desk, &world.snapshot(), world.hub.now());
    assert!(other.is_empty(), "{other:#?}");
    let keys = touched(&world, |world| {
        edit_copy(world, |copy| {
            copy["metadata"]["labels"] = json!({ "touched": "yes" });
        });
    });
    assert!(keys.contains(&Key::Service(shop())), "{keys:?}");
    world.settle();
    assert_eq!(copy(&world)["spec"], before);
}

#[test]
fn a_deleted_slice_takes_its_altered_copy_along() {
    let mut world = World::shared();
    edit_copy(&mut world, |copy| {
        copy["spec"]["ownerServiceReference"] =
            json!({ "namespace": "team", "name": "desk", "namespacedName": "team/desk" });
    });
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    world.settle();
    assert!(world.copies().is_empty());
    assert!(world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).is_empty());
}
