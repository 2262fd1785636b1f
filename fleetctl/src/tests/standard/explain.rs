//! The whole path, and fleets in which it is not, or not alone.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::super::world::{World, namespace, web};
use super::{explained, has_hop, stops};
use crate::story::{Cause, State};

const API: &str = "multicluster.x-k8s.io";

#[test]
fn a_service_that_crosses_is_followed_to_its_name() {
    let story = World::standard_shared().explain();
    assert_eq!(story.verdict, format!("shop/web works from east to west ({API})"), "{story:#?}");
    assert!(!story.stops(), "{story:#?}");
    assert_eq!((story.crossings.len(), story.crossings[0].endpoints), (1, 1));
    for (cluster, object, words) in [
        ("east", "ServiceExport.multicluster.x-k8s.io shop/web", "its Service has port 80/TCP"),
        ("east", "EndpointSlices", "1 ready endpoint"),
        ("east", "ExportedService", "the hub has 1 endpoint"),
        ("hub", "ResolvedService", "ClusterSetIP with port 80/TCP, from east; east decides"),
        (
            "west",
            "ServiceImport.multicluster.x-k8s.io shop/web",
            "ready, with the endpoints of east",
        ),
        ("west", "Service shop/derived-isrlchlhrq", "has the address 10."),
        ("west", "EndpointSlice", "1 ready endpoint from east"),
        ("west", "web.shop.svc.clusterset.local", "resolves to 10."),
        ("east", "web.shop.svc.clusterset.local", "resolves to 10."),
    ] {
        has_hop(&story, cluster, object, &[words]);
    }
}

/// The name is that of the whole clusterset, so a headless Service has it, too.
#[test]
fn a_headless_service_crosses_without_a_derived_one() {
    let story = explained(World::standard(), |world| {
        let service = json!({ "spec": { "type": "ClusterIP", "clusterIP": "None",
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80 }], "ipFamilies": ["IPv4"] } });
        world.own("east").create(kinds::SERVICE, &web(), service).unwrap();
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.1"] }],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        });
        let name = ObjectName::new("shop", "web-1");
        world.own("east").create(kinds::ENDPOINT_SLICE, &name, slice).unwrap();
        world.export_standard("east");
        world.settle();
    });
    assert!(!story.stops(), "{story:#?}");
    has_hop(&story, "hub", "ResolvedService", &["Headless"]);
    has_hop(&story, "west", "web.shop.svc.clusterset.local", &["its ready endpoints"]);
    assert!(!story.hops.iter().any(|hop| hop.object.contains("derived-")), "{story:#?}");
}

#[test]
fn both_paths_of_a_service_are_shown() {
    let story = World::both().explain();
    assert!(!story.stops(), "{story:#?}");
    assert_eq!(
        story.verdict,
        format!("shop/web works from east to west; from east to west ({API})")
    );
    has_hop(&story, "west", "MultiClusterService", &["bound to Service fleet-system/shop-web"]);
    has_hop(&story, "west", "ServiceImport.multicluster.x-k8s.io", &["ready"]);
}

/// On the way from one API to the other, what is left of the first one is no problem.
#[test]
fn an_export_of_the_other_api_that_is_not_imported_is_no_stop() {
    let story = explained(World::both(), |world| {
        world.own("west").delete(kinds::MULTI_CLUSTER_SERVICE, &web()).unwrap();
        world.settle();
    });
    assert!(!story.stops(), "{story:#?}");
}

#[test]
fn an_import_of_the_other_api_without_export_is_one() {
    let story = explained(World::standard_shared(), |world| {
        world.import("west");
        world.settle();
    });
    stops(
        &story,
        Cause::NotExported,
        &["works from east to west", "no ServiceExport for the Service in east"],
    );
}

#[test]
fn a_service_that_only_its_exporter_has_the_namespace_of() {
    let mut world = World::standard();
    world.own("west").delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
    let story = explained(world, |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::NotImported, &["at its beginning", "there is no namespace shop in west"]);
    assert!(story.advice.unwrap().contains("create namespace shop"));
}

#[test]
fn a_member_without_the_api_is_named() {
    let mut world = World::standard();
    world.serving.remove("west");
    let story = explained(world, |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::NotImported, &["the API is not served in west"]);
}

/// Where no agent serves the API, another implementation may.
#[test]
fn where_no_agent_serves_the_api_it_is_no_part_of_the_fleet() {
    let story = explained(World::shared(), |world| world.export_standard("east"));
    assert!(!story.stops(), "{story:#?}");
    assert!(!story.hops.iter().any(|hop| hop.object.contains(API)), "{story:#?}");

    let story = explained(World::new(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::StandardOff, &["in east", "does not serve multicluster.x-k8s.io"]);
}

#[test]
fn a_cluster_that_could_not_be_read_is_named() {
    for (blind, stops) in [("west", false), ("east", false)] {
        let mut world = World::standard_shared();
        world.blind = Some(blind);
        let story = world.explain();
        assert_eq!(story.stops(), stops, "{story:#?}");
        let unseen = story.hops.iter().find(|hop| hop.state == State::Unseen);
        assert_eq!(unseen.map(|hop| hop.cluster.as_str()), Some(blind), "{story:#?}");
    }
}

#[test]
fn nothing_is_concluded_from_kinds_that_could_not_be_read() {
    use fleet_accumulator::SourceState;

    let mut picture = World::standard_shared().picture();
    picture.hub.resolved_services =
        picture.hub.resolved_services.clone().in_state(SourceState::Listing);
    let story = crate::explain(&picture, &web());
    stops(&story, Cause::NotRead, &["on the hub", "resolvedservices could not be read"]);

    let mut picture = World::standard_shared().picture();
    let west = &mut picture.members.get_mut("west").unwrap().snapshot;
    west.standard_imports = west.standard_imports.clone().in_state(SourceState::Listing);
    let story = crate::explain(&picture, &web());
    stops(&story, Cause::NotRead, &["in west", "serviceimports.multicluster.x-k8s.io"]);
}
