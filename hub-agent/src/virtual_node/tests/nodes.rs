//! Offers become virtual nodes.

use fleet_accumulator::{SourceState, View};
use fleet_api::offload::LinkState;
use fleet_api::traffic::SilenceState;
use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::world::{World, in_member};
use crate::tests::verdicts::{found, never};
use crate::virtual_node::VirtualNodeController;
use crate::virtual_node::link::link;

#[test]
fn an_offer_makes_a_node_for_each_member_that_it_selects() {
    let mut world = World::new();
    world.offer("offer", &["east", "west", "south"]);
    world.settle();
    assert_eq!(world.hub.names(kinds::VIRTUAL_NODE), [in_member("east", "west")]);
    assert_eq!(world.phase("east"), Some("Offered"));
    let node = world.node("east").unwrap();
    assert_eq!(node["spec"]["podCidrs"], json!(["10.2.0.0/16"]));
    assert_eq!(node["status"]["executor"]["state"], "Connected");
    world.accept("east", true);
    world.settle();
    assert_eq!(world.phase("east"), Some("Accepted"));
    assert_eq!(world.node("east").unwrap()["status"]["node"]["name"], "fleet-west");
}

#[test]
fn labels_of_the_hubs_administrators_select_too() {
    let mut world = World::new();
    world.offer("offer", &[]);
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"] = json!({ "matchLabels": { "tier": "burst" } });
    });
    world.settle();
    assert_eq!(world.hub.names(kinds::VIRTUAL_NODE).len(), 0);
    let labelled = json!({ "metadata": { "labels": { "tier": "burst" } } });
    world.hub.create(kinds::MEMBER_CLUSTER, &ObjectName::cluster("north"), labelled).unwrap();
    world.settle();
    assert_eq!(world.phase("north"), Some("Offered"));
}

#[test]
fn members_whose_addresses_overlap_are_not_connected() {
    let mut world = World::new();
    world.join("twin", "10.2.0.0/24");
    world.offer("offer", &["twin", "east"]);
    world.settle();
    assert!(world.node("twin").is_none() && world.node("east").is_some());
}

#[test]
fn an_executor_that_drains_takes_no_further_pods() {
    let mut world = World::accepted();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["draining"] = json!(true);
    });
    world.settle();
    assert_eq!(world.phase("east"), Some("Draining"));
}

#[test]
fn a_member_that_is_selected_no_longer_loses_its_node_and_others_do_not() {
    let mut world = World::accepted();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"]["clusters"] = json!(["north"]);
    });
    world.settle();
    assert_eq!((world.phase("east"), world.phase("north")), (Some("Withdrawn"), Some("Offered")));
}

/// A hub that has lost the offer gets it back from its executor. Without one, all Pods there would be driven away.
#[test]
fn an_offer_that_is_only_gone_withdraws_nothing_for_a_while() {
    let mut world = World::accepted();
    world.lose(kinds::OFFLOAD_OFFER);
    world.settle();
    assert_eq!(world.phase("east"), Some("Accepted"));
    assert_eq!(world.waiting(), [(600, "the offer is gone and was not deleted")]);
    world.offer("offer", &["east"]);
    assert_eq!(world.waiting(), []);
    world.lose(kinds::OFFLOAD_OFFER);
    world.rest();
    assert_eq!(world.phase("east"), Some("Withdrawn"));
}

#[test]
fn nothing_is_withdrawn_on_a_view_that_may_lack_something() {
    let mut world = World::accepted();
    world.lose(kinds::OFFLOAD_OFFER);
    let mut seen = world.snapshot();
    seen.offload_offers = View::default().in_state(SourceState::Listing);
    assert!(world.plans(&seen).iter().all(fleet_plan::Plan::is_empty));
    seen.offload_offers = View::of([]).unsettled();
    assert!(world.plans(&seen).iter().all(fleet_plan::Plan::is_empty));
    let sources = VirtualNodeController::cautious();
    assert!(sources.contains(crate::snapshot::HubSnapshot::offload_offers()));
}

#[test]
fn a_withdrawn_node_goes_when_its_origin_does_not_use_it() {
    let mut world = World::accepted();
    world.export("east", "u1");
    world.rest();
    world.hub.delete(kinds::OFFLOAD_OFFER, &in_member("west", "offer")).unwrap();
    world.rest();
    assert_eq!(world.phase("east"), Some("Withdrawn"));
    world.edit(kinds::VIRTUAL_NODE, &in_member("east", "west"), |node| {
        node["status"] = json!({ "accepted": false });
    });
    world.rest();
    assert_eq!(world.phase("east"), Some("Withdrawn"), "it has a Pod there");
    world.stop("east", "u1", 0);
    world.rest();
    assert_eq!(world.node("east"), None);
}

#[test]
fn the_link_to_the_executor_is_written_on_change() {
    let mut world = World::accepted();
    world.hear("west", Some(LinkState::Silent));
    world.hub.advance(7);
    world.settle();
    let status = world.node("east").unwrap()["status"].clone();
    assert_eq!(status["executor"]["state"], "Silent");
    assert_eq!((&status["accepted"], &status["node"]["uid"]), (&json!(true), &json!("n")));
    world.hear("west", None);
    world.settle();
    assert_eq!(world.node("east").unwrap()["status"], status);
}

/// Its Lease goes with its namespace, and what it ran with its agent.
#[test]
fn an_executor_that_has_left_is_silent() {
    let mut world = World::accepted();
    world.settle();
    let state = |world: &World| world.node("east").unwrap()["status"]["executor"]["state"].clone();
    assert_eq!(state(&world), "Connected");
    let namespace = ObjectName::cluster("fleet-member-west");
    world.edit(kinds::NAMESPACE, &namespace, |it| it["metadata"]["finalizers"] = json!(["k"]));
    world.hub.delete(kinds::NAMESPACE, &namespace).unwrap();
    world.settle();
    assert_eq!(state(&world), "Connected", "it renews its Lease yet");
    world.hear("west", None);
    world.settle();
    assert_eq!(state(&world), "Silent");
    let snapshot = world.snapshot();
    assert_eq!(link("west", None, &snapshot, world.hub.now()), None, "to a hub built anew");
}

/// Whether the Lease is renewed is one thing, and what is decided about it another: not so many members fail at once.
#[test]
fn the_verdict_about_the_executor_is_written_where_there_is_one() {
    let mut world = World::accepted();
    let link = |world: &World| {
        let link = world.node("east").unwrap()["status"]["executor"].clone();
        (link["state"].clone(), link["verdict"].clone())
    };
    assert_eq!(link(&world), (json!("Connected"), json!(null)));
    for (renews, verdict, expected) in [
        (true, SilenceState::Heard, ("Connected", Some("Connected"))),
        (false, SilenceState::Heard, ("Silent", Some("Connected"))),
        (false, SilenceState::Held, ("Silent", Some("Connected"))),
        (false, SilenceState::Silent, ("Silent", Some("Silent"))),
        (true, SilenceState::Silent, ("Connected", Some("Silent"))),
        (false, SilenceState::Unmanaged, ("Silent", None)),
    ] {
        world.hear("west", Some(if renews { LinkState::Connected } else { LinkState::Silent }));
        found(&mut world.hub, "west", verdict);
        world.settle();
        assert_eq!(link(&world), (json!(expected.0), json!(expected.1)), "{verdict:?}");
    }
    found(&mut world.hub, "west", SilenceState::Heard);
    never(&mut world.hub, "west");
    world.settle();
    assert_eq!(link(&world), (json!("Silent"), json!(null)), "it is not judged");
}

/// The time of a link is that of what counts: it decides how long an origin is waited for.
#[test]
fn a_verdict_that_agrees_with_the_lease_changes_no_time() {
    let mut world = World::accepted();
    let since = |world: &World| world.node("east").unwrap()["status"]["executor"]["since"].clone();
    world.hear("west", Some(LinkState::Silent));
    found(&mut world.hub, "west", SilenceState::Silent);
    world.settle();
    let begin = since(&world);
    for state in [SilenceState::Unmanaged, SilenceState::Silent] {
        world.hub.advance(100);
        found(&mut world.hub, "west", state);
        world.settle();
        assert_eq!(since(&world), begin, "{state:?}");
    }
    // An API server with an older definition does not store the verdict.
    for state in [SilenceState::Held, SilenceState::Heard] {
        world.edit(kinds::VIRTUAL_NODE, &in_member("east", "west"), |node| {
            node["status"]["executor"].as_object_mut().unwrap().remove("verdict");
        });
        world.hub.advance(100);
        found(&mut world.hub, "west", state);
        world.settle();
        assert_eq!(since(&world), begin, "{state:?}");
    }
    found(&mut world.hub, "west", SilenceState::Silent);
    world.settle();
    assert_ne!(since(&world), begin);
}

#[test]
fn a_verdict_affects_the_nodes_of_its_executor() {
    let mut world = World::accepted();
    found(&mut world.hub, "west", SilenceState::Heard);
    world.settle();
    let before = world.snapshot();
    found(&mut world.hub, "west", SilenceState::Held);
    let controller = VirtualNodeController::default();
    let keys = |before| fleet_plan::affected_keys(&controller, before, &world.snapshot());
    assert!(keys(&before).is_empty(), "nothing has changed for it");
    found(&mut world.hub, "west", SilenceState::Silent);
    let keys = fleet_plan::affected_keys(&controller, &before, &world.snapshot());
    assert!(keys.iter().any(|key| key.to_string().contains("west")), "{keys:?}");
}
