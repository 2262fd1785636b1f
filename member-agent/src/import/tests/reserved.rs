//! Addresses of this cluster are no endpoints of others.

use std::time::Instant;

use fleet_accumulator::{SourceState, View};
use fleet_api::{ObjectName, annotations, events, finalizers, kinds};
use fleet_plan::{Controller as _, affected_keys};
use serde_json::{Value, json};

use super::{World, copy, copy_of, on_hub, shop, system};
use crate::import::keys::Key;
use crate::import::{ImportController, plan};
use crate::snapshot::MemberSnapshot;

impl World {
    fn reserve_services(&mut self, cidrs: &[&str]) {
        let name =
            ObjectName::cluster(format!("services-{}", self.own.names(kinds::SERVICE_CIDR).len()));
        self.own.create(kinds::SERVICE_CIDR, &name, json!({ "spec": { "cidrs": cidrs } })).unwrap();
    }

    fn add_node(&mut self, name: &str, addresses: &[&str]) {
        let address = |address: &&str| json!({ "type": "InternalIP", "address": address });
        let addresses: Vec<_> = addresses.iter().map(address).collect();
        let node = json!({ "status": { "addresses": addresses } });
        self.own.create(kinds::NODE, &ObjectName::cluster(name), json!({})).unwrap();
        self.own
            .edit(kinds::NODE, &ObjectName::cluster(name), |it| {
                it["status"] = node["status"].clone();
            })
            .unwrap();
    }

    fn serve_api(&mut self, addresses: &[&str]) {
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "kubernetes" } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": addresses }],
        });
        let name = ObjectName::new("default", "kubernetes");
        self.own.create(kinds::ENDPOINT_SLICE, &name, slice).unwrap();
    }

    fn endpoints(&mut self, addresses: &[&str]) {
        let endpoints: Value = addresses.iter().map(|at| json!({ "addresses": [at] })).collect();
        self.change_copy(|copy| copy["spec"]["endpoints"] = endpoints);
    }

    /// The addresses that are imported from the first copy.
    fn imported(&self) -> Vec<&str> {
        let endpoints = self.slice().map(|slice| slice["endpoints"].as_array().unwrap().iter());
        let addresses =
            endpoints.into_iter().flatten().flat_map(|one| one["addresses"].as_array().unwrap());
        addresses.map(|address| address.as_str().unwrap()).collect()
    }

    fn only_note(&self, reason: &str) -> String {
        let events = self.plan().events;
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.reason, &event.name), (reason, &shop()));
        event.note.clone()
    }
}

#[test]
fn services_nodes_and_the_api_server_are_no_endpoints() {
    let mut world = World::importing();
    world.reserve_services(&["10.96.0.0/16", "fd00:96::/112"]);
    world.reserve_services(&["10.97.0.0/24"]);
    world.add_node("node-1", &["192.168.0.4", "fd00::4"]);
    world.serve_api(&["192.168.0.2"]);
    world.settings.reserved_addresses.api_server = Some("192.168.0.1".parse().unwrap());
    world.settings.reserved_addresses.cidrs = "198.51.100.0/24".parse().unwrap();
    for (address, reason) in [
        ("10.96.0.10", "in the Service range 10.96.0.0/16 of this cluster"),
        ("10.97.0.10", "in the Service range 10.97.0.0/24 of this cluster"),
        ("192.168.0.4", "the address of this cluster's Node node-1"),
        ("192.168.0.2", "the address of this cluster's API server"),
        ("192.168.0.1", "the address of this cluster's API server"),
        ("198.51.100.7", "in the range 198.51.100.0/24 of --reserved-cidrs"),
    ] {
        world.endpoints(&["10.1.0.1", address]);
        world.settle();
        assert_eq!(world.imported(), ["10.1.0.1"], "{address}");
        let note = world.only_note(events::ENDPOINTS_REFUSED);
        let expected = format!(
            "skipped 1 endpoints of EndpointSlice {} from cluster \"a\": {address} is {reason};",
            copy().name
        );
        assert!(note.starts_with(&expected), "{note}");
    }
    world.endpoints(&["10.1.0.1", "10.98.0.1", "192.168.0.3", "10.97.1.0"]);
    world.settle();
    assert_eq!(world.imported().len(), 4, "neighbours of what is reserved");
}

#[test]
fn both_families_are_reserved() {
    let mut world = World::importing();
    world.reserve_services(&["10.96.0.0/16", "fd00:96::/112"]);
    world.add_node("node-1", &["192.168.0.4", "fd00::4"]);
    let mut six = copy_of(
        &shop(),
        &["fd00:96::9", "fd00::4", "fd00::5"],
        &[finalizers::ENDPOINT_SLICE_IMPORT],
    );
    six["spec"]["addressType"] = json!("IPv6");
    let name = "a-team-shop-x6-abc";
    world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &on_hub(name), six).unwrap();
    world.settle();
    let slice = world.own.get(kinds::ENDPOINT_SLICE, &system(name)).unwrap();
    assert_eq!(slice["endpoints"], json!([{ "addresses": ["fd00::5"] }]));
}

/// An upgrade, or a range that is reserved later, ends no import: what uses the range goes on, and may change.
#[test]
fn what_is_in_force_stays_and_may_change() {
    let mut world = World::new();
    world.create_mcs(&shop(), "shop");
    world.settle();
    world.grant(super::granted());
    world.distribute(&["10.96.0.10", "192.168.0.4"]);
    world.settle();
    world.reserve_services(&["10.96.0.0/16"]);
    world.add_node("node-1", &["192.168.0.4"]);
    world.add_node("node-2", &["192.168.0.5"]);
    assert!(world.plan().is_empty(), "{:#?}", world.plan());
    world.endpoints(&["10.96.0.11", "192.168.0.4", "192.168.0.5"]);
    world.settle();
    assert_eq!(world.imported(), ["10.96.0.11", "192.168.0.4"], "no further Node");
    let reasons: Vec<_> = world.plan().events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, [events::ENDPOINTS_REFUSED, events::ENDPOINTS_RESERVED]);

    // The same in another slice, as when the exporter packs its endpoints anew.
    world.distribute_as(&on_hub("a-team-shop-x2-abc"), &["10.96.0.12"]);
    // Of another cluster it is new.
    let foreign = on_hub("c-team-shop-x3-abc");
    world.distribute_as(&foreign, &["10.96.0.13"]);
    world
        .hub
        .edit(kinds::ENDPOINT_SLICE_IMPORT, &foreign, |copy| {
            copy["spec"]["endpointSliceReference"]["clusterId"] = json!("c");
        })
        .unwrap();
    world.settle();
    let endpoints = |name: &str| {
        world.own.get(kinds::ENDPOINT_SLICE, &system(name)).unwrap()["endpoints"].clone()
    };
    assert_eq!(endpoints("a-team-shop-x2-abc"), json!([{ "addresses": ["10.96.0.12"] }]));
    assert_eq!(endpoints("c-team-shop-x3-abc"), json!([]));

    // What was withdrawn comes back as something new.
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &on_hub("a-team-shop-x2-abc")).unwrap();
    world.endpoints(&["10.1.0.1"]);
    world.settle();
    world.endpoints(&["10.1.0.1", "10.96.0.11"]);
    world.settle();
    assert_eq!(world.imported(), ["10.1.0.1"]);
}

/// A Go agent notes no origin in the slices that it imports.
#[test]
fn what_a_go_agent_imported_is_in_force() {
    let mut world = World::importing();
    world.endpoints(&["10.96.0.10"]);
    world.settle();
    world.edit(kinds::ENDPOINT_SLICE, &super::imported(), |slice| {
        slice["metadata"]["annotations"] = json!({});
    });
    world.reserve_services(&["10.96.0.0/16"]);
    world.endpoints(&["10.96.0.11"]);
    world.settle();
    assert_eq!(world.imported(), ["10.96.0.11"]);
}

#[test]
fn an_administrator_allows_what_is_reserved_for_one_cluster() {
    let mut world = World::importing();
    world.reserve_services(&["10.96.0.0/16"]);
    world.settings.reserved_addresses.allowed = "a=10.96.1.0/24".parse().unwrap();
    world.endpoints(&["10.96.0.10", "10.96.1.10"]);
    world.settle();
    assert_eq!(world.imported(), ["10.96.1.10"]);
    let note = world.only_note(events::ENDPOINTS_REFUSED);
    assert!(note.ends_with("can allow them with --allowed-reserved-cidrs"), "{note}");
    world.settings.reserved_addresses.allowed = "c=10.96.0.0/16".parse().unwrap();
    world.endpoints(&["10.1.0.1"]);
    world.settle();
    world.endpoints(&["10.1.0.1", "10.96.1.10"]);
    world.settle();
    assert_eq!(world.imported(), ["10.1.0.1"], "allowed for another cluster");
}

/// Its own Nodes are endpoints of what a cluster exports to itself, for example with the host's network.
#[test]
fn a_cluster_may_import_what_it_exports() {
    let mut world = World::importing();
    world.add_node("node-1", &["192.168.0.4"]);
    world.change_copy(|copy| {
        copy["metadata"]["annotations"] =
            json!({ annotations::ORIGIN_NAMESPACE: "fleet-member-b" });
    });
    world.endpoints(&["192.168.0.4"]);
    world.settle();
    assert_eq!(world.imported(), ["192.168.0.4"]);
}

/// The role of an older chart allows to list neither kind.
#[test]
fn what_cannot_be_listed_reserves_nothing() {
    let mut world = World::importing();
    world.endpoints(&["192.168.0.4", "10.96.0.10"]);
    let forbidden =
        || SourceState::Forbidden { since: Instant::now(), verb: "list", message: "no".into() };
    let snapshot = MemberSnapshot {
        node_addresses: View::default().in_state(forbidden()),
        service_cidrs: View::default().in_state(forbidden()),
        ..world.snapshot()
    };
    let plan = plan(&world.settings, &shop(), &snapshot, world.own.now());
    assert_eq!((plan.steps.len(), plan.events.len()), (1, 0));
}

/// A Node that is gone takes its address along: what was refused is imported.
#[test]
fn a_change_of_what_is_reserved_affects_those_with_such_addresses() {
    let mut world = World::importing();
    world.add_node("node-1", &["192.168.0.4"]);
    world.add_node("node-2", &["192.168.0.5"]);
    world.endpoints(&["192.168.0.4"]);
    world.settle();
    let controller = ImportController::new(world.settings.clone());
    let affected = |old: &MemberSnapshot, new: &MemberSnapshot| -> Vec<_> {
        affected_keys(&controller, old, new).into_iter().collect()
    };
    let changed = |change: &dyn Fn(&mut World), world: &mut World| {
        let old = world.snapshot();
        change(world);
        affected(&old, &world.snapshot())
    };
    let node = |name: &'static str| ObjectName::cluster(name);
    let delete = |name: &'static str| {
        move |world: &mut World| {
            world.own.delete(kinds::NODE, &node(name)).unwrap();
        }
    };
    assert_eq!(changed(&delete("node-2"), &mut world), []);
    let found = changed(&delete("node-1"), &mut world);
    assert_eq!(found, [Key::Service(shop())]);
    world.settle();
    assert_eq!(world.imported(), ["192.168.0.4"]);
    assert_eq!(changed(&|world| world.reserve_services(&["10.96.0.0/16"]), &mut world), []);
    let found = changed(&|world| world.reserve_services(&["192.168.0.0/16"]), &mut world);
    assert_eq!(found, [Key::Service(shop())]);
    let found = changed(&|world| world.serve_api(&["192.168.0.4"]), &mut world);
    assert_eq!(found, [Key::Service(shop())]);
    assert!(
        controller.required().contains(MemberSnapshot::node_addresses()),
        "a term begins with them"
    );
}
