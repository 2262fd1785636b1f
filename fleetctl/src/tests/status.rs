//! The fleet at a glance.

use std::collections::BTreeMap;

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::{World, home};
use crate::output::Paint;
use crate::quotas::QuotaUse;
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

#[test]
fn a_member_that_waits_for_a_confirmation_is_named_with_the_command() {
    let mut world = World::shared();
    let at = ObjectName::new(home("east"), "east");
    let asks = |object: &mut Value| {
        object["spec"]["state"] = json!("Leave");
        let waits = json!({ "type": "LeaveConfirmed", "status": "False", "reason": "ConfirmationRequired",
            "message": "any text of the member", "observedGeneration": 2,
            "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let conditions = &mut object["status"]["agentStatus"][0]["conditions"];
        conditions.as_array_mut().unwrap().push(waits);
    };
    world.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &at, asks).unwrap();
    assert_eq!(member(&world, "east").state, "Unconfirmed");
    let told = render::status(&of(&world), false, Paint(false));
    let command = "kubectl -n fleet-member-east annotate --overwrite internalmembercluster east \
                   networking.fleet.azure.com/confirm-leave=2";
    assert!(told.contains(command) && !told.contains("any text"), "{told}");
}

#[test]
fn quotas_that_are_missing_or_nearly_full_are_named() {
    let world = World::shared();
    let told = |quotas: Option<BTreeMap<String, QuotaUse>>| {
        render::status(&of(&world).with_quotas(quotas), false, Paint(false))
    };
    let plain = told(None);
    assert_eq!(plain.lines().count(), 3, "{plain}");
    let of_both = |percent| {
        let quota = QuotaUse { resource: "count/things".to_owned(), percent };
        Some(["east", "west"].map(|member| (member.to_owned(), quota.clone())).into())
    };
    assert_eq!(told(of_both(79)), plain);
    let full = told(of_both(80));
    assert!(full.contains("west uses 80 % of its quota of count/things"), "{full}");
    let none = told(Some(BTreeMap::new()));
    assert!(none.contains("No quota on the hub limits what is created by: east, west"), "{none}");
}

/// What the agent of a second cluster does not write is not late.
#[test]
fn a_second_cluster_of_one_name_is_reported() {
    let mut world = World::shared();
    assert_eq!(member(&world, "west").fence, "unrecorded");
    change_slice(&mut world);
    world.settle_all_but("west");
    world.give_the_name_of_west_away();
    let west = member(&world, "west");
    assert_eq!((west.fence, west.lag.slices), ("taken", 0));
    let text = render::status(&of(&world), false, Paint(false));
    assert!(text.contains("west writes nothing: the hub has recorded another cluster"), "{text}");
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
