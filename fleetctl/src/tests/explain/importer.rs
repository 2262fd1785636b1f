//! What stops an import.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::super::world::{World, namespace, web};
use super::{stops, told};
use crate::story::Cause;

#[test]
fn the_importer_stops_it() {
    let derived = || ObjectName::new("fleet-system", "shop-web");
    let story = told(World::exported(), |world| {
        world.own("west").delete(kinds::NAMESPACE, &namespace("fleet-system")).unwrap();
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::SystemNamespaceMissing, &["in west", "fleet-system", "does not exist"]);

    let story = told(World::shared(), |world| {
        world.own("west").delete(kinds::SERVICE, &derived()).unwrap();
    });
    stops(&story, Cause::DerivedServiceMissing, &["in west", "fleet-system/shop-web is missing"]);

    let story = told(World::shared(), |world| {
        world.import_as("west", "again");
        world.settle();
    });
    stops(&story, Cause::ImportHeldHere, &["shop/web already imports the Service"]);

    let story = told(World::exported(), |world| {
        world.own("west").create(kinds::SERVICE_IMPORT, &web(), json!({})).unwrap();
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::ImportForeign, &["belongs to no MultiClusterService"]);

    let story = told(World::shared(), |world| {
        world.own("west").delete(kinds::MULTI_CLUSTER_SERVICE, &web()).unwrap();
    });
    stops(&story, Cause::ImportTerminating, &["in west", "being deleted"]);

    let story = told(World::exported(), |world| {
        world.import("west");
        world.settle_all_but("west");
    });
    stops(&story, Cause::AgentBehind, &["in west", "has yet to"]);

    let story = told(World::shared(), |world| {
        let mut slices = world.own("west").names(kinds::ENDPOINT_SLICE);
        let slice = slices.pop().unwrap();
        world.own("west").delete(kinds::ENDPOINT_SLICE, &slice).unwrap();
    });
    stops(&story, Cause::AgentBehind, &["in west", "create EndpointSlice"]);
}

#[test]
fn an_import_that_another_cluster_holds_alone() {
    let story = told(World::exported(), |world| {
        world.exclusive = true;
        world.import("east");
        world.settle();
        world.import("west");
        world.settle();
        // As fleetctl reads it: no object of the hub shows the agent's flag.
        world.exclusive = false;
    });
    stops(
        &story,
        Cause::ImportHeldByCluster,
        &["in west", "cluster east imports the Service exclusively"],
    );
}
