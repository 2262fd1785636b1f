//! What an action would do, and what it does when the agents of a fleet act on it.

mod random;
mod real;

use fleet_api::traffic::PUBLISHED;
use fleet_api::{ObjectName, kinds};
use serde_json::json;

use super::world::{World, home, web};
use crate::output::Paint;
use crate::recorded::{KindObjects, KindState};
use crate::traffic::Refused;
use crate::what_if::{Action, Answer, refused, what_if};
use real::Agents;

fn answer(world: &World, action: &Action) -> Answer {
    what_if(&world.objects(), action).unwrap().0
}

fn unexport() -> Action {
    Action::Unexport { service: web(), from: None }
}

/// East and north export web, west imports it.
fn two_exporters() -> World {
    let mut world = World::with_members(&["east", "north", "west"]);
    for (member, address) in [("east", "10.1.0.1"), ("north", "10.2.0.1")] {
        world.serve(member, 80, address);
        world.export(member);
    }
    world.import("west");
    world.settle();
    world
}

fn percents(shares: &[crate::view::Share]) -> Vec<(&str, usize)> {
    shares.iter().map(|share| (share.member.as_str(), share.percent)).collect()
}

#[test]
fn a_fleet_at_rest_changes_nothing_by_itself() {
    let world = World::shared();
    let found = answer(&world, &Action::Lose("west".to_owned()));
    assert_eq!(found.changes, [], "no member imports from west");
    assert!(found.without_endpoints.is_empty() && found.traffic.is_empty());
}

#[test]
fn the_end_of_the_only_export_leaves_an_importer_without() {
    let found = answer(&World::shared(), &unexport());
    assert_eq!(found.without_endpoints, ["shop/web"]);
    let [traffic] = &found.traffic[..] else { panic!("{found:?}") };
    assert_eq!((traffic.importer.as_str(), traffic.without), ("west", true));
    assert_eq!(percents(&traffic.before), [("east", 100)]);
    assert!(traffic.after.is_empty(), "{traffic:?}");
    let deleted = |cluster: &str, kind: &str| {
        found
            .changes
            .iter()
            .any(|it| it.cluster == cluster && it.kind == kind && it.verb == "delete")
    };
    assert!(deleted("east", "ServiceExport"), "{:?}", found.changes);
    assert!(deleted("hub", "InternalServiceExport") && deleted("hub", "EndpointSliceExport"));
    assert!(deleted("west", "EndpointSlice"), "{:?}", found.changes);
}

#[test]
fn the_end_of_one_of_two_exports_moves_its_share() {
    let from = Some("east".to_owned());
    let found = answer(&two_exporters(), &Action::Unexport { service: web(), from });
    assert!(found.without_endpoints.is_empty(), "{found:?}");
    let [traffic] = &found.traffic[..] else { panic!("{found:?}") };
    assert_eq!(percents(&traffic.before), [("east", 50), ("north", 50)]);
    assert_eq!(percents(&traffic.after), [("north", 100)]);
}

/// Where the hub agent does not decide about silent members, endpoints of a lost cluster stay in use.
#[test]
fn a_lost_cluster_is_counted_as_lost() {
    let found = answer(&World::shared(), &Action::Lose("east".to_owned()));
    assert_eq!(found.without_endpoints, ["shop/web"]);
    assert_eq!(found.traffic[0].lost_endpoints, 1);
    assert_eq!(found.changes, []);
    let found = answer(&two_exporters(), &Action::Lose("east".to_owned()));
    assert!(found.without_endpoints.is_empty());
    assert_eq!(found.traffic[0].lost_endpoints, 1);
}

#[test]
fn a_silent_member_becomes_last_resort() {
    let mut world = two_exporters();
    world.direct_traffic();
    becomes_last_resort(&world);
}

/// However late the verdict comes, the answer has it.
#[test]
fn a_member_is_found_silent_as_late_as_administrators_have_set() {
    for seconds in [600, 3600] {
        let mut world = two_exporters();
        world.direct_traffic();
        world.edit("hub", kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), |fleet| {
            fleet["spec"]["silentAfterSeconds"] = json!(seconds);
        });
        becomes_last_resort(&world);
    }
}

fn becomes_last_resort(world: &World) {
    let found = answer(world, &Action::Lose("east".to_owned()));
    assert!(found.without_endpoints.is_empty(), "{found:?}");
    let [traffic] = &found.traffic[..] else { panic!("{found:?}") };
    assert_eq!(percents(&traffic.after), [("east", 0), ("north", 100)], "{found:#?}");
    assert_eq!(traffic.after[0].last_resort, 1);
    let is_verdict = |it: &&crate::what_if::ObjectChange| it.kind == "MemberTraffic";
    assert!(found.changes.iter().any(|it| is_verdict(&it) && it.name == "east"));
}

fn drain_of_east(services: &[&str], force: bool) -> Action {
    let services = services.iter().map(|name| ObjectName::new("shop", *name)).collect();
    Action::Drain { member: "east".to_owned(), services, force }
}

/// East and north export web, and east alone exports db.
fn alone_with_db() -> World {
    let mut world = two_exporters();
    random::serve(&mut world, "east", "db", 3, 1);
    let db = ObjectName::new("shop", "db");
    world.own("east").create(kinds::SERVICE_EXPORT, &db, json!({})).unwrap();
    world.hub.advance(1);
    world.settle();
    world.direct_traffic();
    world
}

#[test]
fn a_drain_moves_shares() {
    let mut world = two_exporters();
    world.direct_traffic();
    let found = answer(&world, &drain_of_east(&[], false));
    assert_eq!(percents(&found.traffic[0].after), [("east", 0), ("north", 100)], "{found:#?}");
}

/// `fleetctl drain` writes nothing then, so that there is no other fleet to show.
#[test]
fn a_drain_of_what_no_other_member_serves_is_refused() {
    let world = alone_with_db();
    let all: [&[&str]; 3] = [&[], &["db"], &["web", "db"]];
    for services in all {
        let action = drain_of_east(services, false);
        let error = what_if(&world.objects(), &action).unwrap_err();
        let refused = error.downcast_ref::<Refused>().unwrap();
        let sentence = "Refused: these Services would have no ready endpoint. With --force they are drained all the same";
        let line = "shop/db: 1 ready endpoints here, none of another member";
        assert_eq!(refused::text(refused, Paint(false)), format!("{sentence}\n{line}\n"));
        let data = json!({
            "action": action.to_string(), "refused": sentence, "services": ["shop/db"],
        });
        assert_eq!(refused::data(&action, refused), data);
        // As the map shows it.
        assert_eq!(format!("{error:#}"), format!("{sentence}: {line}"));
    }
}

#[test]
fn what_others_serve_or_is_forced_is_drained() {
    let world = alone_with_db();
    for action in [drain_of_east(&["web"], false), drain_of_east(&[], true)] {
        let found = answer(&world, &action);
        let [traffic] = &found.traffic[..] else { panic!("{found:#?}") };
        assert_eq!(traffic.service, "shop/web");
        assert_eq!(percents(&traffic.after), [("east", 0), ("north", 100)], "{found:#?}");
    }
}

/// It is last resort, and serves all the same, since nothing else does.
#[test]
fn what_is_drained_by_force_is_not_lost() {
    let mut world = World::shared();
    world.direct_traffic();
    let found = answer(&world, &drain_of_east(&[], true));
    assert!(found.changes.iter().any(|it| it.cluster == "hub" && it.kind == "MemberTraffic"));
    assert!(found.without_endpoints.is_empty(), "{found:#?}");
}

/// Nothing would change, which is no reason to call it good.
#[test]
fn a_drain_of_a_mistyped_service_has_no_answer() {
    let mut world = two_exporters();
    world.direct_traffic();
    let error = what_if(&world.objects(), &drain_of_east(&["wbe"], false)).unwrap_err();
    assert!(!error.is::<Refused>(), "the exit code is that of a command that cannot run");
    let missing = "east has no ready endpoint of shop/wbe; --force drains it all the same";
    assert_eq!(error.to_string(), missing);
    let found = answer(&world, &drain_of_east(&["wbe"], true));
    assert!(found.traffic.is_empty(), "{found:#?}");
}

/// An agent that has started anew has noted what it publishes, and nothing applied yet.
#[test]
fn an_agent_that_has_applied_nothing_yet_directs_traffic() {
    let mut world = two_exporters();
    world.direct_traffic();
    for member in ["east", "north", "west"] {
        let lease = ObjectName::new(home(member), fleet_api::names::MEMBER_LEASE);
        world.edit("hub", kinds::LEASE, &lease, |lease| {
            lease["metadata"]["annotations"] = json!({ (PUBLISHED): "hub/0" });
        });
    }
    let drain = Action::Drain { member: "east".to_owned(), services: vec![], force: false };
    let found = answer(&world, &drain);
    let [traffic] = &found.traffic[..] else { panic!("{found:#?}") };
    assert_eq!(percents(&traffic.after), [("east", 0), ("north", 100)], "{found:#?}");
}

/// Endpoints that a weight keeps out of use are not taken for addresses that the agent refuses.
#[test]
fn what_a_weight_has_put_out_of_use_can_return() {
    let mut world = two_exporters();
    world.direct_traffic();
    let policy = |weight: u16| {
        let weights = json!([{ "cluster": "north", "weight": weight }]);
        let object = json!({ "spec": { "preference": "None", "weights": weights } });
        Action::Apply { to: None, objects: vec![(kinds::SERVICE_TRAFFIC, web(), object)] }
    };
    let (found, _) = what_if(&world.objects(), &policy(0)).unwrap();
    assert_eq!(percents(&found.traffic[0].after), [("east", 100), ("north", 0)], "{found:#?}");

    let mut agents = Agents::new(world, 1);
    let Action::Apply { objects, .. } = policy(0) else { unreachable!() };
    let (kind, name, object) = objects[0].clone();
    agents.world.hub.create(kind, &name, object).unwrap();
    agents.pass(60);
    let (pending, unread) = crate::pending::pending(&agents.world.picture());
    assert!(pending.is_empty() && unread.is_empty(), "{pending:#?}, {unread:#?}");
    let found = answer(&agents.world, &policy(1));
    let [traffic] = &found.traffic[..] else { panic!("{found:#?}") };
    assert_eq!(percents(&traffic.before), [("east", 100), ("north", 0)], "{found:#?}");
    assert_eq!(percents(&traffic.after), [("east", 50), ("north", 50)], "{found:#?}");
}

/// Two exporters, of which north has no weight.
fn without_north(preference: &str) -> Agents {
    let mut world = two_exporters();
    world.direct_traffic();
    let weights = json!([{ "cluster": "north", "weight": 0 }]);
    let spec = json!({ "spec": { "preference": preference, "weights": weights } });
    world.hub.create(kinds::SERVICE_TRAFFIC, &web(), spec).unwrap();
    let mut agents = Agents::new(world, 1);
    agents.pass(80);
    agents
}

/// The other one has no weight, and stays out of use: what is last resort serves then, since nothing else does.
#[test]
fn the_drain_of_the_only_exporter_in_use_is_foreseen() {
    for preference in ["None", "LocalFirst"] {
        for is_other_drained in [false, true] {
            let mut agents = without_north(preference);
            let drain = |member: &str, force| Action::Drain {
                member: member.to_owned(),
                services: vec![],
                force,
            };
            if is_other_drained {
                random::compare(&mut agents, &drain("north", false), 0).unwrap();
            }
            random::compare(&mut agents, &drain("east", true), 0).unwrap();
        }
    }
}

/// API servers spell out what an agent leaves away: a slice that has become what it was is no other one for that.
#[test]
fn a_slice_that_is_as_before_has_not_changed() {
    let agents = without_north("None");
    let mut fleet = agents.world.objects();
    let west = fleet.members.get_mut("west").unwrap();
    let slices = west.objects.kinds.get_mut(&kinds::ENDPOINT_SLICE).unwrap();
    for text in slices.objects.values_mut() {
        let mut slice: serde_json::Value = serde_json::from_str(text).unwrap();
        slice.as_object_mut().unwrap().retain(|name, _| name != "apiVersion" && name != "kind");
        let endpoints = slice["endpoints"].as_array_mut().unwrap();
        for endpoint in endpoints.iter_mut().filter(|it| it.get("conditions").is_none()) {
            endpoint["conditions"] = json!({});
        }
        if endpoints.is_empty() {
            slice["endpoints"] = json!(null);
        }
        *text = slice.to_string().into();
    }
    let drain = Action::Drain { member: "east".to_owned(), services: vec![], force: true };
    let (found, _) = what_if(&fleet, &drain).unwrap();
    let kinds: Vec<_> = found.changes.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, ["MemberTraffic"], "{found:#?}");
}

#[test]
fn a_policy_is_applied_to_the_hub_or_to_a_member() {
    let mut world = two_exporters();
    world.direct_traffic();
    let policy = json!({ "spec": { "preference": "None", "weighting": "Clusters",
        "weights": [{ "cluster": "east", "weight": 0 }] } });
    for to in [None, Some("west".to_owned())] {
        let objects = vec![(kinds::SERVICE_TRAFFIC, web(), policy.clone())];
        let found = answer(&world, &Action::Apply { to, objects });
        let after = &found.traffic[0].after;
        assert_eq!(percents(after), [("east", 0), ("north", 100)], "{found:#?}");
    }
}

#[test]
fn what_does_not_exist_is_named() {
    let objects = World::shared().objects();
    let error = |action: &Action| what_if(&objects, action).unwrap_err().to_string();
    assert!(
        error(&Action::Lose("mars".to_owned()))
            .contains("no member \"mars\"; the members: east, west")
    );
    let other = Action::Unexport { service: ObjectName::new("shop", "api"), from: None };
    assert!(error(&other).contains("shop/api is not exported"));
    let drain = Action::Drain { member: "east".to_owned(), services: vec![], force: false };
    assert!(error(&drain).contains("no MemberTraffic east"));
}

/// Where agents do not look, an object would change nothing: no reason to call that good.
#[test]
fn what_is_applied_to_the_wrong_cluster_is_refused() {
    let mut world = two_exporters();
    world.direct_traffic();
    let fleet = world.objects();
    let error = |kind, name, to: Option<&str>| {
        let objects = vec![(kind, name, json!({ "spec": {} }))];
        let action = Action::Apply { to: to.map(str::to_owned), objects };
        what_if(&fleet, &action).unwrap_err().to_string()
    };
    let policy = ObjectName::new("fleet-member-west", "member-policy");
    let traffic = ObjectName::cluster("west");
    for (kind, name) in [
        (kinds::CONFIG_MAP, policy),
        (kinds::FLEET_TRAFFIC, traffic.clone()),
        (kinds::MEMBER_TRAFFIC, traffic),
    ] {
        assert!(error(kind, name, Some("west")).contains("is read on the hub, not in west"));
    }
}

#[test]
fn a_member_policy_is_applied_on_the_hub() {
    let fleet = two_exporters().objects();
    let policy = ObjectName::new("fleet-member-east", "member-policy");
    let objects = vec![(kinds::CONFIG_MAP, policy, json!({ "data": { "exports": "other/*" } }))];
    let (found, _) = what_if(&fleet, &Action::Apply { to: None, objects }).unwrap();
    assert!(!found.changes.is_empty(), "{found:#?}");
}

/// A kind that may not be read is no kind without objects.
#[test]
fn what_may_not_be_read_is_no_absence() {
    let forbid = |objects: &mut crate::recorded::ClusterObjects, kind| {
        let state = KindState::Forbidden("you may not".to_owned());
        objects.kinds.insert(kind, KindObjects { state, ..KindObjects::default() });
    };
    let mut fleet = World::shared().objects();
    forbid(&mut fleet.members.get_mut("west").unwrap().objects, kinds::ENDPOINT_SLICE);
    let (found, _) = what_if(&fleet, &unexport()).unwrap();
    assert_eq!(found.unread, ["west"], "{found:#?}");
    assert!(!found.is_good() && found.none_without().ends_with("could be read."));
    forbid(&mut fleet.hub, kinds::INTERNAL_SERVICE_EXPORT);
    let error = what_if(&fleet, &unexport()).unwrap_err().to_string();
    assert!(error.contains("internalserviceexports") && error.contains("you may not"), "{error}");

    // What is not served is known to be absent.
    let mut fleet = two_exporters().objects();
    let missing = KindObjects { state: KindState::Missing, ..KindObjects::default() };
    fleet.members.get_mut("west").unwrap().objects.kinds.insert(kinds::SERVICE_TRAFFIC, missing);
    let from = Some("east".to_owned());
    let (found, _) = what_if(&fleet, &Action::Unexport { service: web(), from }).unwrap();
    assert!(found.is_good(), "{found:#?}");
}

/// Nothing of the fleet that is asked about is changed, and what could not be read is named.
#[test]
fn a_member_that_was_not_read_is_named() {
    let mut world = World::shared();
    world.blind = Some("west");
    let found = answer(&world, &unexport());
    assert_eq!(found.unread, ["west"]);
    let on_hub = |it: &&crate::what_if::ObjectChange| it.name.contains(&home("west"));
    assert!(found.changes.iter().any(|it| on_hub(&it)), "{found:?}");
}
