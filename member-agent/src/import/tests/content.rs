//! What an imported slice carries, and what of a slice from the hub is not imported.

use fleet_api::{annotations, events};

use super::*;

const ORIGIN: [&str; 2] = [annotations::ORIGIN_CLUSTER, annotations::SLICE_EXPORT_UID];

fn drained() -> Value {
    let conditions = json!({ "ready": false, "serving": true, "terminating": true });
    json!({ "addresses": ["10.1.0.2"], "conditions": conditions })
}

fn draining(copy: &mut Value) {
    copy["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
}

/// What our hub agent records on each copy.
fn recorded(copy: &mut Value) {
    copy["metadata"]["annotations"] = json!({
        annotations::ORIGIN_NAMESPACE: "fleet-member-a",
        annotations::SLICE_EXPORT_UID: "export-1",
    });
}

fn endpoints(world: &World) -> &Value {
    &world.slice().unwrap()["endpoints"]
}

fn edit_slice(world: &mut World, change: impl FnOnce(&mut Value)) {
    world.edit(kinds::ENDPOINT_SLICE, &imported(), change);
}

#[test]
fn draining_endpoints_are_imported_as_such_and_go() {
    let mut world = World::importing();
    world.change_copy(draining);
    world.settle();
    assert_eq!(*endpoints(&world), json!([{ "addresses": ["10.1.0.1"] }, drained()]));
    world.change_copy(|copy| {
        copy["spec"].as_object_mut().unwrap().remove("drainingEndpoints");
    });
    let plan = world.plan();
    assert!(plan.steps[0].urgent, "{plan:#?}");
    world.settle();
    assert_eq!(*endpoints(&world), json!([{ "addresses": ["10.1.0.1"] }]));
}

/// S03: whose watch of the copies lags behind that of the slices takes nothing back, unless that stays so.
#[test]
fn a_slice_of_a_later_generation_is_not_replaced_at_once() {
    let mut world = World::importing();
    world.change_copy(recorded);
    world.settle();
    for (generation, at_once) in [("99", false), ("0", true)] {
        edit_slice(&mut world, |slice| {
            slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
            slice["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION] =
                json!(generation);
        });
        let plan = world.plan();
        let found = (plan.steps.len(), plan.debounced.len());
        assert_eq!(found, (at_once.into(), (!at_once).into()), "{plan:#?}");
    }
}

#[test]
fn tampering_with_what_drains_is_undone() {
    let edits: [fn(&mut Value); 3] = [
        |slice| slice["endpoints"][1]["conditions"] = json!({}),
        |slice| slice["endpoints"][1]["conditions"]["serving"] = json!(false),
        |slice| slice["endpoints"].as_array_mut().unwrap().reverse(),
    ];
    for edit in edits {
        let mut world = World::importing();
        world.change_copy(draining);
        world.settle();
        edit_slice(&mut world, edit);
        world.settle();
        assert_eq!(endpoints(&world)[1], drained());
    }
}

#[test]
fn ipv6_slices_are_imported() {
    let mut world = World::importing();
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    world.settle();
    world.distribute(&["2001:db8::1"]);
    world.change_copy(|copy| copy["spec"]["addressType"] = json!("IPv6"));
    world.settle();
    assert_eq!(world.slice().unwrap()["addressType"], "IPv6");
    assert_eq!(*endpoints(&world), json!([{ "addresses": ["2001:db8::1"] }]));
}

/// The API refuses to change the kind of addresses of a slice.
#[test]
fn a_copy_that_changes_its_kind_of_addresses_gets_a_new_slice() {
    let mut world = World::importing();
    world.change_copy(|copy| {
        copy["spec"]["addressType"] = json!("IPv6");
        copy["spec"]["endpoints"] = json!([{ "addresses": ["2001:db8::1"] }]);
    });
    let verbs: Vec<_> = world.plan().steps.iter().map(|step| step.action.verb()).collect();
    assert_eq!(verbs, ["delete"]);
    world.settle();
    assert_eq!(world.slice().unwrap()["addressType"], "IPv6");
}

/// S05: a slice names the origin of its endpoints as the hub recorded it, not as the copy claims.
#[test]
fn a_slice_records_its_origin() {
    let mut world = World::new();
    world.create_mcs(&shop(), "shop");
    world.settle();
    world.grant(granted());
    world.settle();
    world.distribute(&["10.1.0.1"]);
    world.change_copy(recorded);
    world.change_copy(|copy| copy["spec"]["endpointSliceReference"]["clusterId"] = json!("z"));
    assert_eq!(world.samples()[0].origin, "a");
    world.settle();
    let seen = world.slice().unwrap()["metadata"]["annotations"].clone();
    assert_eq!((&seen[ORIGIN[0]], &seen[ORIGIN[1]]), (&json!("a"), &json!("export-1")));
}

#[test]
fn an_altered_origin_is_corrected() {
    for key in ORIGIN {
        let mut world = World::importing();
        world.change_copy(recorded);
        world.change_copy(|copy| copy["spec"]["endpoints"] = json!([]));
        world.settle();
        let before = world.slice().unwrap()["metadata"]["annotations"].clone();
        // On a hub that was rebuilt all exported slices have other uids: that alone is no reason to write.
        edit_slice(&mut world, |slice| {
            let annotations = slice["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.insert(key.to_owned(), json!("z"));
            annotations.retain(|name, value| name != ORIGIN[1] || value != "z");
        });
        world.settle();
        assert_eq!(world.slice().unwrap()["metadata"]["annotations"], before, "{key}");
    }
    let mut world = World::importing();
    world.change_copy(recorded);
    world.change_copy(|copy| copy["spec"]["endpoints"] = json!([]));
    world.settle();
    edit_slice(&mut world, |slice| slice["metadata"]["annotations"][ORIGIN[1]] = json!("earlier"));
    assert!(world.plan().steps.is_empty());
}

#[test]
fn a_copy_of_a_go_hub_is_of_the_cluster_that_it_names() {
    let world = World::importing();
    let seen = &world.slice().unwrap()["metadata"]["annotations"];
    assert_eq!(seen[ORIGIN[0]], "a");
    assert!(seen.get(ORIGIN[1]).is_none());
}

#[test]
fn origins_alone_are_not_worth_a_write() {
    let mut world = World::importing();
    world.change_copy(recorded);
    edit_slice(&mut world, |slice| {
        slice["metadata"]["annotations"].as_object_mut().unwrap().remove(ORIGIN[0]);
    });
    assert!(world.plan().is_empty());
}

/// C6, S26: invalid entries are skipped, with an Event, and the slice is written once.
#[test]
fn bad_endpoints_are_left_out_and_the_user_is_told() {
    let mut world = World::importing();
    world.change_copy(|copy| {
        copy["spec"]["endpoints"] =
            json!([{ "addresses": ["127.0.0.1"] }, { "addresses": ["10.1.0.9"] }]);
        copy["spec"]["drainingEndpoints"] = json!([{ "addresses": ["169.254.169.254"] }]);
    });
    world.settle();
    assert_eq!(*endpoints(&world), json!([{ "addresses": ["10.1.0.9"] }]));
    let plan = world.plan();
    assert!(plan.is_empty(), "{plan:#?}");
    let event = &plan.events[0];
    assert_eq!((event.reason, &event.name), (events::ENDPOINTS_REFUSED, &shop()));
    assert!(event.note.contains("endpoints: 2, ports: 0"), "{}", event.note);
}

#[test]
fn slices_of_names_are_not_imported() {
    let mut world = World::importing();
    world.change_copy(|copy| {
        copy["spec"]["addressType"] = json!("FQDN");
        copy["spec"]["endpoints"] = json!([{ "addresses": ["example.com"] }]);
    });
    world.settle();
    assert!(world.slice().is_none());
    assert_eq!(world.plan().events[0].reason, events::ENDPOINTS_REFUSED);
}
