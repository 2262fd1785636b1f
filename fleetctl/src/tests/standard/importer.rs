//! Where an import stops in its own cluster.

use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::super::world::{World, derived, namespace, resolved, web};
use super::{explained, has_hop, stops};
use crate::story::{Cause, State};

#[test]
fn another_implementation_serves_the_service_there() {
    let story = explained(World::standard(), |world| {
        let import = json!({ "spec": { "type": "ClusterSetIP", "ports": [] } });
        world.own("west").create(kinds::MCS_SERVICE_IMPORT, &web(), import).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::ImportForeign, &["in west", "another implementation"]);
}

#[test]
fn an_agent_that_is_behind() {
    let story = explained(World::standard(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle_all_but("west");
    });
    stops(
        &story,
        Cause::AgentBehind,
        &["in west", "create ServiceImport.multicluster.x-k8s.io shop/web"],
    );

    let story = explained(World::standard_shared(), |world| {
        world.own("west").delete(kinds::SERVICE, &derived()).unwrap();
    });
    stops(&story, Cause::AgentBehind, &["in west", "create Service shop/derived-isrlchlhrq"]);
}

/// What a running agent has not imported for a minute it leaves out.
#[test]
fn a_service_that_an_agent_leaves_out_is_no_stop() {
    let mut world = World::standard();
    world.serve("east", 80, "10.1.0.1");
    world.export_standard("east");
    world.settle_all_but("west");
    let name = ObjectName::new("fleet-member-west", "west");
    world.hub.advance(120);
    let now = world.hub.now();
    world.edit("hub", kinds::INTERNAL_MEMBER_CLUSTER, &name, |member| {
        for agent in member["status"]["agentStatus"].as_array_mut().unwrap() {
            agent["lastReceivedHeartbeat"] = json!(now.to_string());
        }
    });
    let story = world.explain();
    let left_out = story.hops.iter().find(|hop| hop.state == State::Unseen).unwrap();
    assert!(left_out.says.contains("--multicluster-import-namespaces"), "{story:#?}");
    stops(&story, Cause::NotImported, &["no member beside its exporter imports it"]);
    assert!(!world.pending().iter().any(|pending| pending.agent == "west"));
}

#[test]
fn an_import_that_is_being_deleted() {
    let story = explained(World::standard_shared(), |world| {
        world.edit("west", kinds::MCS_SERVICE_IMPORT, &web(), |import| {
            import["metadata"]["finalizers"] = json!(["example.com/mine"]);
        });
        world.own("west").delete(kinds::MCS_SERVICE_IMPORT, &web()).unwrap();
    });
    stops(&story, Cause::ImportTerminating, &["in west", "being deleted"]);
}

#[test]
fn a_namespace_that_is_being_deleted() {
    let mut world = World::standard();
    world.edit("west", kinds::NAMESPACE, &namespace("shop"), |namespace| {
        namespace["metadata"]["finalizers"] = json!(["x"]);
    });
    world.own("west").delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
    let story = explained(world, |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::NamespaceTerminating, &["in west", "being deleted"]);
}

#[test]
fn a_cluster_without_the_families_of_the_exporters() {
    let story = explained(World::standard_shared(), |world| {
        world.edit("east", kinds::SERVICE, &web(), |service| {
            service["spec"]["ipFamilies"] = json!(["IPv6"]);
        });
        world.settle();
    });
    stops(&story, Cause::FamilyNotSupported, &["no address of a family"]);
}

#[test]
fn every_name_of_the_derived_service_is_taken() {
    let mut world = World::standard();
    for name in fleet_api::names::derived_import_candidates(&web()) {
        let name = ObjectName::new("shop", name);
        world.own("west").create(kinds::SERVICE, &name, json!({ "spec": {} })).unwrap();
    }
    let story = explained(world, |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::NoFreeName, &["in west", "every name for its derived Service"]);
}

#[test]
fn a_hub_that_lost_the_service() {
    let story = explained(World::standard_shared(), |world| {
        world.own("east").delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
        world.settle_all_but("west");
        world.hub.delete(kinds::RESOLVED_SERVICE, &resolved()).unwrap();
        world.edit("west", kinds::MCS_SERVICE_IMPORT, &web(), |import| {
            import["metadata"]["annotations"][fleet_api::annotations::MULTICLUSTER_HUB] =
                json!("other/0");
        });
    });
    has_hop(&story, "west", "ServiceImport", &["the hub is another one than before"]);
    assert!(story.hops.iter().any(|hop| hop.cause == Some(Cause::ImportKept)), "{story:#?}");
}

#[test]
fn endpoints_with_addresses_of_this_cluster_are_skipped() {
    let story = explained(World::standard(), |world| {
        world.serve("east", 80, "10.96.0.7");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::EndpointsRefused, &["in west"]);
}

#[test]
fn an_exporter_without_ready_endpoints() {
    let story = explained(World::standard_shared(), |world| {
        let slice = ObjectName::new("shop", "web-1");
        world.edit("east", kinds::ENDPOINT_SLICE, &slice, |slice| slice["endpoints"] = json!([]));
        world.settle();
    });
    stops(&story, Cause::NoEndpoints, &["in east", "no ready endpoint"]);
    assert!(story.crossings.is_empty());
}

#[test]
fn a_cluster_whose_dns_server_cannot_read_imports() {
    let mut world = World::standard_shared();
    world.names_served = Some(false);
    let story = world.explain();
    stops(&story, Cause::NamesNotServed, &["works from east to west", "v1alpha1"]);
    world.names_served = None;
    let story = world.explain();
    assert!(!story.stops(), "{story:#?}");
    has_hop(&story, "west", "clusterset.local", &["it is not known"]);
}

/// The command knows no flag of the agents; what they have skipped is not missing.
#[test]
fn what_the_member_agent_skips_is_not_to_be_written() {
    let mut world = World::standard_shared();
    let slices = world.own("west").names(kinds::ENDPOINT_SLICE);
    let [slice] = slices.as_slice() else { panic!("{slices:?}") };
    world.edit("west", kinds::ENDPOINT_SLICE, slice, |slice| slice["endpoints"] = json!([]));
    assert!(world.pending().is_empty(), "{:?}", world.pending());
}
