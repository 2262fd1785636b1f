//! The fleet at a glance.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, home};
use crate::output::Paint;
use crate::render;
use crate::status::{MemberStatus, Status, status};

fn of(world: &World) -> Status {
    status(&world.picture())
}

fn member(world: &World, name: &str) -> MemberStatus {
    of(world).members.into_iter().find(|member| member.name == name).unwrap()
}

fn change_slice(world: &mut World) {
    world.edit("east", kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-1"), |slice| {
        slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    });
}

#[test]
fn members_and_services_at_rest() {
    let mut world = World::shared();
    world.hub.advance(7);
    let found = of(&world);
    let table = render::status(&found, true, Paint(false));
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["east", "Joined", "7s", "1", "0", "0/0", "0", "-", "east"]);
    assert_eq!(rows[2], ["west", "Joined", "7s", "0", "0", "1/1", "0", "-", "west"]);
    assert_eq!(rows[5], ["shop/web", "east", "-", "west", "-", "1"]);
    assert!(!render::status(&found, false, Paint(false)).contains("SERVICE"));
    assert!(render::status(&found, false, Paint(true)).contains("\u{1b}[1mMEMBER"));
}

/// A change is late wherever it has not arrived: first for the exporter, then for the importer.
#[test]
fn lag_counts_the_slices_that_plans_have_yet_to_write() {
    let mut world = World::shared();
    change_slice(&mut world);
    assert_eq!([member(&world, "east").lag.slices, member(&world, "west").lag.slices], [1, 0]);

    world.hub.advance(5);
    world.settle_all_but("hub");
    world.hub.advance(7);
    let lag = member(&world, "west").lag;
    assert_eq!([member(&world, "east").lag.slices, lag.slices], [0, 1]);
    assert!(lag.oldest_seconds.is_some_and(|seconds| seconds >= 7), "{lag:?}");

    world.settle_all_but("west");
    assert_eq!(member(&world, "west").lag.slices, 1);
    world.settle();
    assert_eq!(member(&world, "west").lag.slices, 0);
}

#[test]
fn states_of_members() {
    let mut world = World::new();
    assert_eq!(member(&world, "east").state, "Joining");
    world.settle();
    assert_eq!(member(&world, "east").state, "Joined");
    world.hub.advance(301);
    assert_eq!(member(&world, "east").state, "Silent");
    assert_eq!(member(&world, "east").heartbeat_seconds, Some(301));

    let at = |name: &str| ObjectName::new(home(name), name);
    let leave = |membership: &mut Value| membership["spec"]["state"] = json!("Leave");
    let mut world = World::shared();
    world.edit("hub", kinds::INTERNAL_MEMBER_CLUSTER, &at("west"), leave);
    assert_eq!(member(&world, "west").state, "Leaving");
    world.settle();
    assert_eq!(member(&world, "west").state, "Left");
    world.hub.delete(kinds::INTERNAL_MEMBER_CLUSTER, &at("west")).unwrap();
    assert_eq!(member(&world, "west").state, "Unmanaged");
    world.hub.delete(kinds::NAMESPACE, &ObjectName::cluster(home("west"))).unwrap();
    assert_eq!(member(&world, "west").state, "Unknown");
}

#[test]
fn a_conflict_counts_for_the_member_that_has_it() {
    let mut world = World::shared();
    world.serve("west", 8080, "10.2.0.1");
    world.export("west");
    world.settle();
    assert_eq!([member(&world, "east").conflicts, member(&world, "west").conflicts], [0, 1]);
    let service = &of(&world).services[0];
    assert_eq!(
        (&service.exporters[..], &service.conflicts[..]),
        (&["east".to_owned()][..], &["west".to_owned()][..])
    );
}

#[test]
fn a_member_that_is_not_seen_says_why() {
    let mut world = World::shared();
    world.blind = Some("west");
    let text = render::status(&of(&world), false, Paint(false));
    assert!(text.ends_with("west could not be read: no context\n"), "{text}");
    world.hub = fleet_model_server::ModelServer::new(fleet_accumulator::ClusterId::Hub);
    world.members.clear();
    assert!(render::status(&of(&world), false, Paint(false)).starts_with("No member has joined."));
}
