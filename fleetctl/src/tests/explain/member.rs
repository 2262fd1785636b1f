//! Members that take no part, are not seen or cannot work, and what cannot be read.

use fleet_accumulator::SourceState;
use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::super::world::{World, home, namespace, web};
use super::{stops, told};
use crate::picture::Picture;
use crate::story::{Cause, State};

#[test]
fn a_member_that_does_not_take_part() {
    let story = told(World::shared(), |world| world.hub.advance(400));
    stops(&story, Cause::MemberSilent, &["was 6m ago", "its endpoints stay"]);

    let story = told(World::new(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
    });
    stops(&story, Cause::MemberSilent, &["in east", "never sent a heartbeat"]);

    let leave = |world: &mut World| {
        let at = ObjectName::new(home("west"), "west");
        let leave = |membership: &mut Value| membership["spec"]["state"] = json!("Leave");
        world.edit("hub", kinds::INTERNAL_MEMBER_CLUSTER, &at, leave);
    };
    stops(&told(World::shared(), leave), Cause::MemberLeaving, &["in west", "asked to leave"]);
    let story = told(World::shared(), |world| {
        leave(world);
        world.settle();
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::MemberLeft, &["in west", "has left"]);
    assert_eq!(story.advice.as_deref(), Some("fleetctl join west"));

    let story = told(World::new(), |world| {
        world.hub.delete(kinds::NAMESPACE, &namespace("fleet-member-east")).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
    });
    stops(&story, Cause::MemberHomeMissing, &["in east", "no namespace fleet-member-east"]);
}

/// The agent of a second cluster writes nothing, so nothing of it is late.
#[test]
fn a_second_cluster_of_one_name() {
    let story = told(World::shared(), World::give_the_name_of_west_away);
    stops(&story, Cause::OtherCluster, &["in west", "another cluster as west (uid other"]);
    assert!(story.advice.unwrap().contains("fleetctl join west --replace"));
}

#[test]
fn what_cannot_be_read_is_told_before_anything_else() {
    let since = std::time::Instant::now();
    let forbidden = SourceState::Forbidden { since, verb: "list", message: "not you".into() };
    let mut picture = World::shared().picture();
    picture.hub.slice_exports = picture.hub.slice_exports.clone().in_state(forbidden.clone());
    let story = crate::explain(&picture, &web());
    stops(&story, Cause::NoRight, &["on the hub", "endpointsliceexports", "not you"]);

    let mut picture = World::shared().picture();
    picture.hub.internal_exports =
        picture.hub.internal_exports.clone().in_state(SourceState::Missing { since });
    stops(
        &crate::explain(&picture, &web()),
        Cause::DefinitionMissing,
        &["internalserviceexports are not served"],
    );

    let mut picture = World::shared().picture();
    picture.hub.namespaces = picture.hub.namespaces.clone().in_state(SourceState::Listing);
    stops(&crate::explain(&picture, &web()), Cause::NotRead, &["no answer in time"]);

    let mut picture = World::shared().picture();
    let west = &mut picture.members.get_mut("west").unwrap().snapshot;
    west.multi_cluster_services = west.multi_cluster_services.clone().in_state(forbidden);
    stops(&crate::explain(&picture, &web()), Cause::NoRight, &["in west", "multiclusterservices"]);
}

#[test]
fn a_member_that_is_not_seen_is_told_from_the_hub() {
    let story = told(World::shared(), |world| world.blind = Some("west"));
    assert!(!story.stops(), "{story:#?}");
    assert!(story.hops.iter().any(|hop| hop.says == "granted, with 1 endpoint"), "{story:#?}");
    let unseen = story.hops.iter().filter(|hop| hop.state == State::Unseen);
    assert_eq!(unseen.map(|hop| hop.cluster.as_str()).collect::<Vec<_>>(), ["west"]);

    let story = told(World::shared(), |world| world.blind = Some("east"));
    assert_eq!(story.verdict, "shop/web works from east to west");

    let story = told(World::exported(), |world| world.blind = Some("west"));
    stops(
        &story,
        Cause::NotImported,
        &["no member that could be read imports it (not read: west)"],
    );
}

#[test]
fn an_agent_that_says_what_holds_it_up() {
    let mut world = World::exported();
    world.import("west");
    let mut picture = world.picture();
    let note = "cannot reconcile: endpointsliceimports: list is forbidden";
    picture.blocked.insert("west".to_owned(), note.to_owned());
    let story = crate::explain(&picture, &web());
    stops(&story, Cause::AgentBlocked, &["in west", "has yet to", "blocked", "list is forbidden"]);

    world.settle();
    let picture = Picture { blocked: picture.blocked, ..world.picture() };
    assert!(!crate::explain(&picture, &web()).stops(), "old Events do not matter");
}
