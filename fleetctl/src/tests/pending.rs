//! The missing writes, computed by the agents' own plans.

use fleet_accumulator::SourceState;
use fleet_api::traffic::APPLIED;
use fleet_api::{ObjectName, kinds, labels};

use fleet_model_server::ModelServer;
use serde_json::json;

use super::world::{World, home, web};
use crate::pending::{Pending, pending};

fn told(found: &[Pending]) -> Vec<String> {
    let writes = found.iter().flat_map(|pending| {
        pending.writes().map(move |step| {
            let (agent, controller, key) = (&pending.agent, pending.controller, &pending.key);
            format!(
                "{agent} {controller} {key}: {} {} {}",
                step.action.verb(),
                step.kind.label(),
                step.name
            )
        })
    });
    writes.collect()
}

#[test]
fn a_fleet_at_rest_has_nothing_to_write() {
    for mut world in [World::new(), World::exported(), World::shared()] {
        world.settle();
        let (found, unread) = pending(&world.picture());
        assert!(found.is_empty() && unread.is_empty(), "{found:?} {unread:?}");
    }
}

/// The command knows no flag of the agents; what they have skipped is not missing.
#[test]
fn what_the_member_agent_skips_is_not_to_be_written() {
    let mut world = World::shared();
    let skip = |own: &mut ModelServer| {
        let names = own.names(kinds::ENDPOINT_SLICE);
        let slice = names.into_iter().find(|name| *name.namespace == *"fleet-system").unwrap();
        own.edit(kinds::ENDPOINT_SLICE, &slice, |slice| slice["endpoints"] = json!([])).unwrap();
    };
    skip(world.own("west"));
    assert!(world.pending().is_empty(), "{:?}", told(&world.pending()));
}

/// A heartbeat that is due is no difference, the first report is one.
#[test]
fn heartbeats_are_left_out() {
    assert_eq!(
        told(&World::new().pending()),
        [
            "east membership Member: patch_status InternalMemberCluster fleet-member-east/east",
            "west membership Member: patch_status InternalMemberCluster fleet-member-west/west",
        ]
    );
    let mut world = World::shared();
    world.hub.advance(100);
    assert!(world.pending().is_empty());
}

#[test]
fn what_was_deleted_by_hand_is_to_be_written_by_whoever_made_it() {
    let mut world = World::shared();
    world.own("west").delete(kinds::SERVICE, &ObjectName::new("fleet-system", "shop-web")).unwrap();
    let written = told(&world.pending());
    assert_eq!(written[0], "west import shop/web: create Service fleet-system/shop-web");
    assert!(written.iter().all(|line| line.starts_with("west import")), "{written:?}");

    let mut world = World::shared();
    world.own("east").delete(kinds::SERVICE_EXPORT, &web()).unwrap();
    let written = told(&world.pending());
    let export =
        format!("east export shop/web: delete InternalServiceExport {}/shop-web", home("east"));
    assert!(written.contains(&export), "{written:?}");
}

/// The command does not read what the standard API exports; its slices are no surplus of the fleet's.
#[test]
fn slices_of_the_standard_api_are_not_to_be_deleted() {
    let mut world = World::exported();
    let copies = world.hub.names(kinds::ENDPOINT_SLICE_EXPORT);
    let [copy] = copies.as_slice() else { panic!("{copies:?}") };
    world.edit("hub", kinds::ENDPOINT_SLICE_EXPORT, copy, |copy| {
        copy["metadata"]["labels"] = json!({ (labels::MULTICLUSTER_NAMESPACE): "shop" });
    });
    world.own("east").delete(kinds::SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert!(world.pending().is_empty(), "{:?}", told(&world.pending()));
    assert_eq!(world.hub.names(kinds::ENDPOINT_SLICE_EXPORT), copies);
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT).is_empty());
}

/// On a partial view an agent plans nothing, and nor does this.
#[test]
fn nothing_is_told_of_what_could_not_be_read() {
    let mut world = World::shared();
    world.own("east").delete(kinds::SERVICE_EXPORT, &web()).unwrap();
    let mut picture = world.picture();
    let east = &mut picture.members.get_mut("east").unwrap().snapshot;
    east.services = east.services.clone().in_state(SourceState::Listing);
    let (found, unread) = pending(&picture);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(unread.len(), 1);

    let mut picture = world.picture();
    picture.hub.namespaces = picture.hub.namespaces.clone().in_state(SourceState::Listing);
    let (found, unread) = pending(&picture);
    assert!(found.is_empty() && unread[0].cluster == "hub", "{found:?} {unread:?}");
}

/// The agent of west directs traffic: places of endpoints are its own matter, and what comes or goes is not.
#[test]
fn places_of_endpoints_are_no_missing_writes() {
    let mut world = World::shared();
    let lease = ObjectName::new(home("west"), "fleet-member");
    let notes = json!({ "metadata": { "annotations": { APPLIED: "7" } } });
    world.hub.create(kinds::LEASE, &lease, notes).unwrap();
    let own = world.own("west");
    let names = own.names(kinds::ENDPOINT_SLICE);
    let imported = names.into_iter().find(|name| *name.namespace == *"fleet-system").unwrap();
    let drained = json!({ "ready": false, "serving": true, "terminating": true });
    let hints = json!({ "forZones": [{ "name": "fleet.remote" }] });
    own.edit(kinds::ENDPOINT_SLICE, &imported, |slice| {
        slice["endpoints"][0]["conditions"] = drained.clone();
        slice["endpoints"][0]["hints"] = hints.clone();
    })
    .unwrap();
    assert!(world.pending().is_empty(), "{:?}", told(&world.pending()));
    world.edit("east", kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-1"), |slice| {
        slice["endpoints"] = json!([{ "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"] }]);
    });
    world.settle_all_but("west");
    let missing = told(&world.pending());
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].starts_with("west import shop/web: update EndpointSlice"), "{missing:?}");
    world.settle();
    let slice = world.own("west").get(kinds::ENDPOINT_SLICE, &imported).unwrap();
    for endpoint in slice["endpoints"].as_array().unwrap() {
        assert_eq!((&endpoint["conditions"], &endpoint["hints"]), (&drained, &hints));
    }
}
