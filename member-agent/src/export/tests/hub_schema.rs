//! What of a slice travels, by what the hub serves.

use fleet_api::kinds;
use fleet_model::hub_schema::HubSchema;
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::world::{World, backing, shop, slice, slice_object};
use crate::export::{ExportController, Key};
use crate::snapshot::MemberSnapshot;

const SCHEMAS: [Option<HubSchema>; 3] = [None, Some(HubSchema::ORIGINAL), Some(HubSchema::OURS)];

fn conditions(world: &mut World, at: usize, conditions: Value) {
    let set = |slice: &mut Value| slice["endpoints"][at]["conditions"] = conditions;
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), set).unwrap();
}

/// The Pod of an endpoint is terminating.
fn terminate(world: &mut World, at: usize) {
    conditions(world, at, json!({ "ready": false, "serving": true, "terminating": true }));
}

fn addresses(world: &World, list: &str) -> Vec<String> {
    let copies = world.copies();
    let list = copies[0]["spec"][list].as_array().cloned().unwrap_or_default();
    list.iter().map(|at| at["addresses"][0].as_str().unwrap().to_owned()).collect()
}

/// An exported member whose only slice is of this kind of addresses.
fn with_slice(address_type: &str) -> World {
    let mut world = World::exported();
    world.own.delete(kinds::ENDPOINT_SLICE, &slice()).unwrap();
    world.settle();
    world.release();
    let object = slice_object(address_type, &backing());
    world.own.create(kinds::ENDPOINT_SLICE, &slice(), object).unwrap();
    world
}

#[test]
fn a_draining_endpoint_moves_to_its_own_list_and_goes() {
    let mut world = World::exported();
    world.schema = Some(HubSchema::OURS);
    assert!(world.plan().is_empty(), "nothing drains yet");
    terminate(&mut world, 0);
    let plan = world.plan();
    assert!(plan.steps[0].urgent, "{plan:#?}");
    world.settle();
    assert_eq!(addresses(&world, "endpoints"), ["10.1.0.2"]);
    assert_eq!(addresses(&world, "drainingEndpoints"), ["10.1.0.1"]);

    conditions(&mut world, 0, json!({ "ready": false, "serving": false, "terminating": true }));
    world.settle();
    assert_eq!(addresses(&world, "endpoints"), ["10.1.0.2"]);
    assert!(world.copies()[0]["spec"].get("drainingEndpoints").is_none());
}

/// A Go importer takes every entry of `endpoints` for ready.
#[test]
fn what_is_not_ready_leaves_at_once_whatever_is_served() {
    for schema in SCHEMAS {
        for serving in [true, false] {
            let mut world = World::exported();
            world.schema = schema;
            let ended = json!({ "ready": false, "serving": serving, "terminating": true });
            conditions(&mut world, 0, ended);
            world.settle();
            assert_eq!(addresses(&world, "endpoints"), ["10.1.0.2"], "{schema:?}");
        }
    }
}

#[test]
fn the_originals_definition_gets_no_draining_endpoints_and_no_writes() {
    for schema in [None, Some(HubSchema::ORIGINAL)] {
        let mut world = World::exported();
        world.schema = schema;
        terminate(&mut world, 0);
        world.settle();
        assert!(world.copies()[0]["spec"].get("drainingEndpoints").is_none(), "{schema:?}");
        terminate(&mut world, 2);
        assert!(world.plan().is_empty(), "only what drains has changed");
    }
}

#[test]
fn what_drains_is_sent_once_it_is_served_and_stays_while_that_is_unknown() {
    let mut world = World::exported();
    terminate(&mut world, 0);
    world.settle();
    world.schema = Some(HubSchema::OURS);
    world.settle();
    assert_eq!(addresses(&world, "drainingEndpoints"), ["10.1.0.1"]);
    world.schema = None;
    assert!(world.plan().is_empty());
    terminate(&mut world, 1);
    world.settle();
    assert_eq!(addresses(&world, "drainingEndpoints"), ["10.1.0.1", "10.1.0.2"]);
}

/// MES-1: an IPv6 slice is not exported where the hub has the original's definition; ours carries it.
#[test]
fn ipv6_slices_travel_where_they_are_served() {
    let mut world = with_slice("IPv6");
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

/// The server takes any way to write an address, importers only the usual one.
#[test]
fn addresses_travel_as_everybody_writes_them() {
    let mut world = with_slice("IPv6");
    let odd = |slice: &mut Value| {
        slice["endpoints"] = json!([{ "addresses": ["FD08::5678:0000:0000:9abc:def0"] }]);
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &slice(), odd).unwrap();
    world.schema = Some(HubSchema::OURS);
    world.settle();
    assert_eq!(addresses(&world, "endpoints"), ["fd08::5678:0:0:9abc:def0"]);
    assert!(world.plan().is_empty());
}

#[test]
fn slices_of_names_never_travel() {
    for schema in SCHEMAS {
        let mut world = with_slice("FQDN");
        world.schema = schema;
        world.settle();
        assert!(world.copies().is_empty(), "{schema:?}");
    }
}

#[test]
fn another_schema_affects_every_service() {
    let world = World::exported();
    let controller = ExportController { settings: world.settings.clone() };
    let mut old = world.snapshot();
    for schema in [Some(HubSchema::ORIGINAL), Some(HubSchema::OURS), None] {
        let new = MemberSnapshot { schema: HubSchema::view(schema), ..old.clone() };
        let keys = affected_keys(&controller, &old, &new);
        assert!(keys.contains(&Key::Service(shop())), "{schema:?}");
        let same = MemberSnapshot { schema: HubSchema::view(schema), ..new.clone() };
        assert!(affected_keys(&controller, &new, &same).is_empty());
        old = new;
    }
}
