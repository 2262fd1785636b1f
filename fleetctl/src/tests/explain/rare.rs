//! What hardly ever happens.

use fleet_api::{ObjectName, finalizers, kinds};
use serde_json::json;

use super::super::world::{World, home, namespace, web};
use super::{stops, told};
use crate::story::Cause;

/// Cases that are no ordinary use.
#[test]
fn rare_ways_to_get_no_further() {
    let story = told(World::exported(), |world| {
        let name = ObjectName::new("fleet-system", "shop-web");
        world.own("west").create(kinds::SERVICE, &name, json!({ "spec": {} })).unwrap();
        for name in fleet_api::names::derived_service_candidates(&web()).skip(1) {
            let name = ObjectName::new("fleet-system", name);
            world.own("west").create(kinds::SERVICE, &name, json!({ "spec": {} })).unwrap();
        }
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::NoFreeName, &["in west", "every name for its derived Service"]);

    let mut world = World::new();
    world.settle();
    for name in fleet_api::names::internal_export_candidates(&web()) {
        let export = json!({ "spec": { "ports": [], "serviceReference": {
            "clusterId": "east", "kind": "Service", "namespace": "shop", "name": "other",
            "namespacedName": "shop/other", "resourceVersion": "1", "generation": 1, "uid": "u",
        } } });
        let name = ObjectName::new(home("east"), name);
        world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &name, export).unwrap();
    }
    world.serve("east", 80, "10.1.0.1");
    let guarded = json!({ "metadata": { "finalizers": [finalizers::SERVICE_EXPORT] } });
    world.own("east").create(kinds::SERVICE_EXPORT, &web(), guarded).unwrap();
    stops(
        &world.explain(),
        Cause::NoFreeName,
        &["in east", "fleet-member-east of the hub is taken"],
    );

    let story = told(World::shared(), |world| {
        world.edit("west", kinds::NAMESPACE, &namespace("shop"), |namespace| {
            namespace["metadata"]["finalizers"] = json!(["x"]);
        });
        world.own("west").delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
    });
    stops(&story, Cause::NamespaceTerminating, &["in west", "being deleted"]);

    let request = ObjectName::new(home("west"), "shop-web");
    let story = told(World::shared(), |world| {
        world.edit("hub", kinds::INTERNAL_SERVICE_IMPORT, &request, |request| {
            request["status"] = json!({});
        });
    });
    assert!(story.hops.iter().any(|hop| hop.cause == Some(Cause::NotGranted)), "{story:#?}");
    stops(&story, Cause::HubAgentBehind, &["patch status InternalServiceImport"]);
}

/// Nothing leaves or enters the agents' own namespace.
#[test]
fn the_agents_namespace_takes_no_part() {
    let service = ObjectName::new("fleet-system", "web");
    let mut world = World::new();
    world.settle();
    let spec = json!({ "spec": { "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{ "port": 80 }] } });
    world.own("east").create(kinds::SERVICE, &service, spec).unwrap();
    world.own("east").create(kinds::SERVICE_EXPORT, &service, json!({})).unwrap();
    let import = json!({ "spec": { "serviceImport": { "name": "web" } } });
    world.own("west").create(kinds::MULTI_CLUSTER_SERVICE, &service, import).unwrap();
    let story = crate::explain(&world.picture(), &service);
    let causes: Vec<_> = story.hops.iter().filter_map(|hop| hop.cause).collect();
    assert_eq!(causes, [Cause::SystemNamespace, Cause::SystemNamespace], "{story:#?}");
}
