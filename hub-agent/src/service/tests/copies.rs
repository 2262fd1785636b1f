//! Content and origin of copies; a Service leaves the copies of other Services alone.

use fleet_api::{ObjectName, ResourceKind, annotations, finalizers, kinds, names};
use fleet_model::hub_schema::HubSchema;
use fleet_plan::{Affected, Controller as _, Plan, affected_keys};
use serde_json::{Value, json};

use super::world::{World, in_member, port, reference, shop};
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

/// A Go importer drops the field with each of its writes, and a hostile one can do so without end.
#[test]
fn what_an_importer_alters_is_restored_on_its_account() {
    let mut world = World::shared();
    world.schema = Some(HubSchema::OURS);
    let account = |world: &World| {
        let plan = world.plan();
        assert_eq!(plan.steps.len(), 1, "{plan:#?}");
        plan.steps[0].account.to_string()
    };
    let drop_draining = |copy: &mut Value| {
        copy["spec"].as_object_mut().unwrap().remove("drainingEndpoints");
    };
    edit_slice(&mut world, drain);
    assert_eq!(account(&world), "fleet-member-a");
    world.settle();
    for _ in 0..2 {
        edit_copy(&mut world, drop_draining);
        assert_eq!(account(&world), "fleet-member-b");
        world.settle();
        assert!(copy(&world)["spec"]["drainingEndpoints"].is_array());
    }
    // The exporter pays for a change of its own, whatever the importer has done before.
    edit_copy(&mut world, drop_draining);
    edit_slice(&mut world, |slice| slice["spec"]["endpoints"] = json!([]));
    edit_slice(&mut world, |slice| {
        slice["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
    });
    assert_eq!(account(&world), "fleet-member-a");
    world.settle();
    // A copy of an earlier hub agent has no generation.
    edit_copy(&mut world, |copy| {
        drop_draining(copy);
        let seen = copy["metadata"]["annotations"].as_object_mut().unwrap();
        seen.remove(annotations::SLICE_EXPORT_GENERATION);
    });
    assert_eq!(account(&world), "fleet-member-a");
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

/// The name of the copy of the slice of "c" that [`namesake`] makes.
fn hashed(world: &World) -> ObjectName {
    let name = in_member("c", "a-s1");
    let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    let uid = slice["metadata"]["uid"].as_str().unwrap();
    let [_, hashed] = names::slice_import_candidates(&name, uid);
    in_member("b", &hashed)
}

/// S07: the first slice keeps the name, the other one gets the next, and neither changes the other's copy.
#[test]
fn slices_of_one_name_do_not_touch_each_other() {
    let mut world = World::shared();
    let before = copy(&world).clone();
    namesake(&mut world);
    let hashed = hashed(&world);
    world.settle();
    assert_eq!(*copy(&world), before);
    let second = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &hashed).unwrap();
    assert_eq!(second["spec"]["endpoints"], json!([{ "addresses": ["10.3.0.1"] }]));
    assert_eq!(second["metadata"]["annotations"][annotations::SLICE_EXPORT_NAME], "a-s1");
    assert_eq!(world.plan(), Plan::default(), "nothing to report");

    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("c", "a-s1")).unwrap();
    world.settle();
    assert_eq!(*copy(&world), before, "the loser goes alone");
    assert!(world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &in_member("c", "a-s1")).is_none());
    world.release_copies();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
}

/// A member that exports first under the name of another one's slice does not keep that away.
#[test]
fn a_name_is_not_kept_from_those_who_come_later() {
    let mut world = World::new();
    world.export("a", 80);
    world.request("b");
    namesake(&mut world);
    world.settle();
    world.slice("a", "s1", "10.1.0.1");
    world.settle();
    let copies = world.hub.names(kinds::ENDPOINT_SLICE_IMPORT);
    let endpoints = copies.iter().map(|name| {
        let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, name).unwrap();
        copy["spec"]["endpoints"][0]["addresses"][0].as_str().unwrap()
    });
    assert_eq!(endpoints.collect::<Vec<_>>(), ["10.3.0.1", "10.1.0.1"]);
    // A change reaches the copy under its name.
    edit_slice(&mut world, |slice| slice["spec"]["endpoints"] = json!([]));
    world.settle();
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &copies[1]).unwrap();
    assert_eq!(copy["spec"]["endpoints"], json!([]));
}

#[test]
fn both_names_are_given_in_one_plan() {
    let mut world = World::exported();
    namesake(&mut world);
    world.settle();
    world.request("b");
    let hashed = hashed(&world);
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1".to_owned(), hashed.to_string()]);
}

#[test]
fn a_name_once_given_stays() {
    let mut world = World::shared();
    namesake(&mut world);
    let hashed = hashed(&world);
    world.settle();
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    world.settle();
    edit_copy(&mut world, |copy| copy["metadata"]["finalizers"] = json!([]));
    world.settle();
    assert_eq!(world.copies(), [hashed.to_string()]);
}

/// An administrator has made objects under the names by hand. The exporter's users do not see the hub's Events, but the annotation.
#[test]
fn a_slice_without_a_name_is_reported_until_there_is_one() {
    let mut world = World::shared();
    namesake(&mut world);
    let hashed = hashed(&world);
    let mut other = copy(&world).clone();
    other["metadata"] = json!({ "annotations": { ANNOTATIONS[0]: "fleet-member-d" } });
    other["spec"]["ownerServiceReference"] =
        json!({ "namespace": "team", "name": "desk", "namespacedName": "team/desk" });
    world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &hashed, other).unwrap();
    let notice = |world: &World| {
        let name = in_member("c", "a-s1");
        let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
        slice["metadata"]["annotations"][annotations::REJECTED].clone()
    };
    world.settle();
    let events = world.plan().events;
    assert_eq!(events.iter().map(|event| event.reason).collect::<Vec<_>>(), ["NameTaken"]);
    assert_eq!(notice(&world), json!(events[0].note));
    assert!(events[0].note.contains("slices of other members under all its names"));

    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &hashed).unwrap();
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1".to_owned(), hashed.to_string()]);
    assert_eq!(notice(&world), json!(null));
    assert_eq!(world.plan(), Plan::default());
}

/// A copy under the second name that names another Service is restored by the Service of its slice.
#[test]
fn an_altered_copy_under_the_second_name_is_corrected() {
    let mut world = World::shared();
    namesake(&mut world);
    let hashed = hashed(&world);
    world.settle();
    let before = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &hashed).unwrap()["spec"].clone();
    let alter = |copy: &mut Value| copy["spec"]["ownerServiceReference"] = json!({});
    let keys = touched(&world, |world| {
        world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &hashed, alter).unwrap();
    });
    assert!(keys.contains(&Key::Service(shop())), "{keys:?}");
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &hashed, alter).unwrap();
    world.settle_all();
    let restored = &world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &hashed).unwrap()["spec"];
    assert_eq!(*restored, before);
}

/// Keys that a change of the copy affects.
fn touched(world: &World, change: impl FnOnce(&mut World)) -> Vec<Key> {
    let mut changed =
        World { hub: world.hub.clone(), controller: world.controller.clone(), ..World::new() };
    change(&mut changed);
    let mut keys = Affected::new();
    world.controller.affected_keys(&world.snapshot(), &changed.snapshot(), &mut keys);
    keys.drain().map(|affected| affected.key).collect()
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

fn desk_reference() -> Value {
    json!({ "namespace": "team", "name": "desk", "namespacedName": "team/desk" })
}

/// "a" exports, and these members import the Service "team/desk", which has no slice yet.
fn add_desk(world: &mut World, importers: &[&str]) {
    let mut create = |kind: ResourceKind, member: &str, finalizer: &str, spec: Value| {
        let object = json!({ "metadata": { "finalizers": [finalizer] }, "spec": spec });
        world.hub.create(kind, &in_member(member, "team-desk"), object).unwrap();
    };
    let export =
        json!({ "ports": port(80), "serviceReference": reference("a", "Service", "desk") });
    let kind = kinds::INTERNAL_SERVICE_EXPORT;
    create(kind, "a", finalizers::INTERNAL_SERVICE_EXPORT, export);
    for member in importers {
        let request =
            json!({ "serviceImportReference": reference(member, "ServiceImport", "desk") });
        let kind = kinds::INTERNAL_SERVICE_IMPORT;
        create(kind, member, finalizers::INTERNAL_SERVICE_IMPORT, request);
    }
    world.settle_all();
}

/// A Go member writes the owner of a slice in place, where ours makes another one: its copies leave the importers of the
/// first Service, but for those that import the second one, too.
#[test]
fn copies_of_a_slice_follow_it_to_another_service() {
    let mut world = World::shared();
    world.request("c");
    add_desk(&mut world, &["c", "d"]);
    let [of_b, of_c, of_d] = ["b", "c", "d"].map(|member| in_member(member, "a-s1"));
    let kind = kinds::ENDPOINT_SLICE_IMPORT;
    let before = world.hub.get(kind, &of_c).unwrap()["metadata"]["uid"].clone();
    edit_slice(&mut world, |slice| slice["spec"]["ownerServiceReference"] = desk_reference());
    world.settle_all();
    assert_eq!(world.copies(), [of_c.to_string(), of_d.to_string()], "{of_b} is deleted");
    for copy in [&of_c, &of_d] {
        let copy = world.hub.get(kind, copy).unwrap();
        assert_eq!(copy["spec"]["ownerServiceReference"], desk_reference());
    }
    assert_eq!(world.hub.get(kind, &of_c).unwrap()["metadata"]["uid"], before, "none is lost");
}

#[test]
fn copies_of_a_slice_end_with_it_in_a_service_that_is_not_exported() {
    let mut world = World::shared();
    edit_slice(&mut world, |slice| slice["spec"]["ownerServiceReference"] = desk_reference());
    world.settle_all();
    assert_eq!(world.copies(), Vec::<String>::new());
}

#[test]
fn copies_carry_the_weight_of_their_exporter() {
    let mut world = World::shared();
    for weight in ["7", "1"] {
        let weigh = |slice: &mut Value| {
            slice["metadata"]["annotations"][annotations::WEIGHT] = json!(weight);
        };
        edit_slice(&mut world, weigh);
        world.settle();
        assert_eq!(copy(&world)["metadata"]["annotations"][annotations::WEIGHT], weight);
    }
    world.hub.take_writes();
    world.settle();
    assert!(world.hub.take_writes().is_empty());
}
