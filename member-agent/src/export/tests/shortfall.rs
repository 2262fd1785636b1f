//! What users read about endpoints that do not reach importers.

use fleet_api::names::slice_export_candidates;
use fleet_api::{ObjectName, annotations, kinds};
use fleet_model::hub_schema::HubSchema;
use serde_json::{Value, json};

use super::world::{World, backing, pair, shop, slice_object};

/// An export at rest that has one more slice, with this kind of addresses.
fn with_second(address_type: &str, schema: Option<HubSchema>) -> World {
    let mut world = World::exported();
    world.schema = schema;
    world.settle();
    world.rest();
    let object = slice_object(address_type, &backing());
    world.own.create(kinds::ENDPOINT_SLICE, &ObjectName::new("team", "shop-x2"), object).unwrap();
    world
}

/// The message of the condition `Valid`, which stays as the original has it.
fn message(world: &World) -> String {
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    world.whole_condition("Valid")["message"].as_str().unwrap().to_owned()
}

const FQDN: &str = "service team/shop is valid for export; endpoints with FQDN addresses are not exported: only IP \
    addresses are";
const IPV6: &str = "service team/shop is valid for export; endpoints with IPv6 addresses are not exported: the hub \
    does not store them";
const ALL: &str = "service team/shop is valid for export";

#[test]
fn slices_of_names_are_reported_while_they_last() {
    let mut world = with_second("FQDN", Some(HubSchema::OURS));
    world.settle();
    assert_eq!(message(&world), FQDN);
    assert_eq!(world.writes().len(), 1, "the status");
    assert_eq!(world.told(), ["Warning EndpointsNotExported"]);
    world.rest();

    let resize = |slice: &mut Value| slice["endpoints"] = json!([]);
    let name = ObjectName::new("team", "shop-x2");
    world.own.edit(kinds::ENDPOINT_SLICE, &name, resize).unwrap();
    let third = ObjectName::new("team", "shop-x3");
    let object = slice_object("FQDN", &backing());
    world.own.create(kinds::ENDPOINT_SLICE, &third, object).unwrap();
    assert!(world.plan().is_empty(), "the number of endpoints and slices costs no write");

    for name in [&name, &third] {
        world.own.delete(kinds::ENDPOINT_SLICE, name).unwrap();
    }
    world.settle();
    assert_eq!(message(&world), ALL);
    assert_eq!(world.told(), ["Normal ValidServiceExport"]);
}

/// What is there from the beginning is reported in the write that reports the export: no write more.
#[test]
fn a_first_export_takes_no_write_more() {
    let writes = |second: Option<&str>| {
        let mut world = World::with_service();
        if let Some(address_type) = second {
            let object = slice_object(address_type, &backing());
            let name = ObjectName::new("team", "shop-x2");
            world.own.create(kinds::ENDPOINT_SLICE, &name, object).unwrap();
        }
        world.export();
        world.settle();
        world.judge("False");
        world.settle();
        assert_eq!(message(&world) == FQDN, second.is_some());
        world.writes().len()
    };
    assert_eq!(writes(Some("FQDN")), writes(None));
}

#[test]
fn addresses_that_the_hub_does_not_store_are_reported_while_it_does_not() {
    let mut world = with_second("IPv6", None);
    world.settle();
    assert_eq!(message(&world), ALL, "it is not known yet");
    world.schema = Some(HubSchema::ORIGINAL);
    world.settle();
    assert_eq!(message(&world), IPV6);
    world.schema = None;
    assert!(world.plan().is_empty(), "a restart changes nothing");
    world.schema = Some(HubSchema::OURS);
    world.settle();
    assert_eq!(message(&world), ALL);
    assert_eq!(world.copies().len(), 2);
}

#[test]
fn imported_slices_are_not_missed() {
    let mut world = World::exported();
    let labels = json!({ "kubernetes.io/service-name": "shop",
        "endpointslice.kubernetes.io/managed-by": fleet_api::labels::MANAGED_BY_IMPORT });
    let name = ObjectName::new("team", "shop-x2");
    world.own.create(kinds::ENDPOINT_SLICE, &name, slice_object("FQDN", &labels)).unwrap();
    assert!(world.plan().is_empty(), "{:#?}", world.plan());
}

/// A user in the exporting cluster does not see the hub: neither the hub agent's Events nor the annotation.
#[test]
fn what_the_hub_does_not_distribute_is_reported_while_it_lasts() {
    let mut world = World::exported();
    let [name] = &world.hub.names(kinds::ENDPOINT_SLICE_EXPORT)[..] else { panic!("one slice") };
    let why = "not distributed: the member exports more than 3 endpoints";
    let annotate = |note: Option<&str>| {
        let note = note.map_or_else(|| json!({}), |note| json!({ annotations::REJECTED: note }));
        move |slice: &mut Value| slice["metadata"]["annotations"] = note
    };
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, name, annotate(Some(why))).unwrap();
    world.settle();
    let told = format!("{ALL}; the hub does not accept EndpointSliceExport {name}: {why}");
    assert_eq!(message(&world), told);
    assert_eq!(world.told(), ["Warning ExportRefused"]);
    assert!(world.plan().is_empty());
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, name, annotate(None)).unwrap();
    world.settle();
    assert_eq!(message(&world), ALL);
}

/// Objects that an administrator has put there by hand: none is a copy of the slice.
#[test]
fn a_slice_without_a_name_on_the_hub_is_reported_and_tried_again() {
    let mut world = with_second("IPv4", None);
    let second = ObjectName::new("team", "shop-x2");
    let uid = world.uid(kinds::ENDPOINT_SLICE, &second);
    let [first] = &world.hub.names(kinds::ENDPOINT_SLICE_EXPORT)[..] else { panic!("one slice") };
    let mut other = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, first).unwrap().clone();
    other["metadata"] = json!({});
    other["spec"]["ownerServiceReference"] =
        json!({ "namespace": "team", "name": "desk", "namespacedName": "team/desk" });
    other["spec"]["endpointSliceReference"]["uid"] = json!("another");
    let names = slice_export_candidates("a", "team", "shop-x2", uid.as_str().unwrap());
    let names: Vec<_> = names.map(|name| ObjectName::new("fleet-member-a", name)).collect();
    for name in &names {
        world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, name, other.clone()).unwrap();
    }
    world.settle();
    let why =
        "; EndpointSlice shop-x2 is not exported: other objects have all its names on the hub";
    assert_eq!(message(&world), format!("{ALL}{why}"));
    assert!(world.plan().wake_after.is_some(), "nothing about the Service changes with the name");

    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &names[0]).unwrap();
    world.settle_service(&shop());
    assert_eq!(message(&world), ALL);
    assert_eq!(world.plan().wake_after, None);
}

/// The messages of Go agents have no clauses, whatever they are about.
#[test]
fn messages_of_others_stay() {
    let mut world = World::exported();
    let reword = |export: &mut Value| {
        for condition in export["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Valid" {
                condition["message"] = json!("exported service team/shop");
            }
        }
    };
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), reword).unwrap();
    assert!(world.plan().is_empty());
}
