//! Where a Service stops on the hub.

use fleet_accumulator::Tracked as _;
use fleet_api::{ObjectName, kinds};
use fleet_model::objects::MemberPolicy;
use serde_json::{Value, json};

use super::super::world::{World, exported_by, home, namespace, resolved, web};
use super::{explained, has_hop, stops};
use crate::story::{Cause, Story};

/// The story has a stop for `cause` with these words.
#[track_caller]
fn has_stop(story: &Story, cause: Cause, words: &str) {
    let found = story.hops.iter().any(|hop| hop.cause == Some(cause) && hop.says.contains(words));
    assert!(found, "{cause:?} {words}: {story:#?}");
}

/// East exports, and the hub shows another port there.
fn with_port(number: i32, name: &str) -> World {
    let mut world = World::standard_shared();
    world.serve("west", number, "10.2.0.1");
    let name = json!(name);
    world
        .edit("west", kinds::SERVICE, &web(), |service| service["spec"]["ports"][0]["name"] = name);
    world.export_standard("west");
    world.settle();
    world
}

/// Endpoints of all exporters travel, whatever these differ in, so a conflict is no stop.
#[test]
fn exporters_that_differ_are_shown_with_the_reason() {
    let story = with_port(81, "other").explain();
    assert!(!story.stops(), "{story:#?}");
    has_hop(
        &story,
        "hub",
        "ResolvedService",
        &["ports 80/TCP, 81/TCP, from east, west; east decides"],
    );
    has_hop(&story, "hub", "ResolvedService", &["PortConflict: "]);
}

#[test]
fn ports_that_contradict_those_in_force_get_no_traffic() {
    let story = with_port(81, "http").explain();
    stops(&story, Cause::PortsWithheld, &["in west", "\"http\" contradict those in force"]);
    // West's endpoints have no other port.
    let crossings: Vec<_> = story.crossings.iter().map(|it| (&it.from[..], &*it.to)).collect();
    assert_eq!(crossings, [(&["east".to_owned()][..], "west")]);
}

#[test]
fn exports_that_the_hub_agent_rejects() {
    type Way = (fn(&mut Value), Cause, &'static str);
    let table: Vec<Way> = vec![
        (
            |export| export["spec"]["ports"][0]["port"] = json!(0),
            Cause::ExportRefused,
            "no Service can have",
        ),
        (
            |export| {
                let port = export["spec"]["ports"][0].clone();
                export["spec"]["ports"] = json!([port.clone(), port]);
            },
            Cause::ExportRefused,
            "same name",
        ),
        (
            |export| export["spec"]["ports"][0]["name"] = json!("x".repeat(64)),
            Cause::LimitExceeded,
            "the hub agent rejects it",
        ),
        (
            |export| export["spec"]["service"]["name"] = json!("No_Name"),
            Cause::ExportRefused,
            "no Service can have the name",
        ),
    ];
    for (spoil, cause, words) in table {
        let story = explained(World::standard_shared(), |world| {
            world.edit("hub", kinds::EXPORTED_SERVICE, &exported_by("east"), spoil);
        });
        has_stop(&story, cause, words);
    }
}

#[test]
fn a_second_export_of_one_member() {
    let story = explained(World::standard_shared(), |world| {
        let mut second =
            world.hub.get(kinds::EXPORTED_SERVICE, &exported_by("east")).unwrap().clone();
        second["metadata"] = json!({});
        world.hub.advance(1);
        let name = ObjectName::new(home("east"), "second");
        world.hub.create(kinds::EXPORTED_SERVICE, &name, second).unwrap();
    });
    has_stop(&story, Cause::DuplicateExport, "the member has an older export");
}

#[test]
fn a_policy_that_does_not_list_the_service() {
    let story = explained(World::standard(), |world| {
        let policy =
            json!({ "data": { "cidrs": "0.0.0.0/0", "exports": "other/*", "imports": "*" } });
        let name = ObjectName::new(home("east"), "member-policy");
        world.hub.create(MemberPolicy::KIND, &name, policy).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::PolicyDenied, &["in east", "does not list the service"]);
    assert!(story.advice.unwrap().contains("edit configmap member-policy"));
}

/// The flags of the hub agent are known by what it has refused.
#[test]
fn flags_of_the_hub_agent_are_known_by_what_it_refused() {
    let refuse = |reason: &'static str, message: &'static str| {
        move |world: &mut World| {
            world.hub.delete(kinds::RESOLVED_SERVICE, &resolved()).unwrap();
            let condition = json!({ "type": "Ready", "status": "False", "reason": reason, "message": message,
                "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1 });
            world.edit("hub", kinds::EXPORTED_SERVICE, &exported_by("east"), |export| {
                export["status"] = json!({ "conditions": [condition] });
            });
        }
    };
    let message = "the hub shares no services of this namespace";
    let story = explained(World::standard_shared(), refuse("NamespaceDenied", message));
    has_stop(&story, Cause::NamespaceDenied, message);

    let message = "the member exports as many services as the hub accepts of a member (--max-services-per-member=0)";
    let story = explained(World::standard_shared(), refuse("LimitExceeded", message));
    has_stop(&story, Cause::LimitExceeded, "max-services-per-member=0");
}

#[test]
fn a_hub_agent_that_is_behind() {
    let story = explained(World::standard(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle_all_but("hub");
    });
    stops(
        &story,
        Cause::HubAgentBehind,
        &["on the hub", "create ResolvedService fleet-system/shop-web"],
    );
}

#[test]
fn a_hub_without_the_namespace_that_all_members_read() {
    let mut world = World::standard();
    world.hub.delete(kinds::NAMESPACE, &namespace("fleet-system")).unwrap();
    let story = explained(world, |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(
        &story,
        Cause::SystemNamespaceMissing,
        &["on the hub", "namespace fleet-system of the hub"],
    );
}

#[test]
fn a_service_that_was_withdrawn_and_came_back_at_once() {
    let story = explained(World::standard_shared(), |world| {
        world.own("east").delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
        world.settle();
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::HubAgentBehind, &["on the hub", "withdrawn a moment ago"]);
}

/// Only for an export that is not in force yet: an accident takes no endpoints away.
#[test]
fn a_member_that_the_hub_agent_has_not_accepted() {
    let story = explained(World::standard(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle_all_but("hub");
        let report = ObjectName::new(home("east"), "east");
        world.edit("hub", kinds::CLUSTER_REPORT, &report, |report| {
            report["status"]["conditions"] = json!([]);
        });
    });
    has_stop(&story, Cause::NotAccepted, "so its export does not count");
}
