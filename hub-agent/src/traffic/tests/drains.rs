use std::time::Instant;

use fleet_accumulator::{SourceState, View};
use fleet_api::{annotations, labels};
use serde_json::json;

use super::world::World;
use crate::snapshot::HubSnapshot;

const MEMBERS: [&str; 4] = ["east", "north", "south", "west"];

fn world() -> World {
    let mut world = World::settled(&MEMBERS);
    for service in ["web", "api"] {
        for member in ["east", "west"] {
            world.export(member, service, 3);
        }
    }
    world
}

/// Percentages as they change within this time.
fn steps(world: &mut World, member: &str, service: &str, seconds: u64) -> Vec<i64> {
    let mut steps = Vec::new();
    for _ in 0..seconds {
        world.pass(1);
        let percent = world.drained(member, service).map_or(0, |(percent, _)| percent);
        if steps.last() != Some(&percent) {
            steps.push(percent);
        }
    }
    steps
}

#[test]
fn a_drain_without_time_is_one_write() {
    let mut world = world();
    world.drain("east", "*", 100, 0);
    world.writes();
    world.pass(2);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
    world.pass(200);
    assert_eq!(world.writes(), 1);
    let status = world.status("east");
    assert!(!status.drains[0].removed && status.held_services.is_empty());
}

#[test]
fn a_drain_over_ten_minutes_has_ten_steps_and_ten_writes() {
    let mut world = world();
    world.drain("east", "*", 100, 600);
    world.writes();
    assert_eq!(steps(&mut world, "east", "*", 660), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    assert_eq!(world.writes(), 10);
    // And back.
    world.drain("east", "*", 0, 600);
    assert_eq!(steps(&mut world, "east", "*", 700), [90, 80, 70, 60, 50, 40, 30, 20, 10, 0]);
    assert_eq!(world.status("east").drains, []);
    assert_eq!(world.writes(), 10);
}

#[test]
fn a_step_waits_for_importers_but_not_for_ever() {
    let mut world = world();
    world.late.insert("north");
    world.drain("east", "*", 100, 120);
    world.pass(10);
    assert_eq!(world.drained("east", "*"), Some((25, "Draining")));
    world.pass(40);
    assert_eq!(world.drained("east", "*"), Some((25, "Draining")), "one of four is late");
    world.pass(20);
    assert_eq!(world.drained("east", "*"), Some((50, "Draining")), "twice its time has passed");
    // Importers that do not renew are not waited for.
    world.alive.remove("north");
    world.pass(90);
    assert_eq!(world.drained("east", "*").unwrap().0, 100);
}

#[test]
fn a_sole_exporter_is_held_back_and_the_rest_is_drained() {
    let mut world = world();
    world.export("east", "only", 2);
    world.export("north", "only", 0);
    world.drain("east", "*", 100, 0);
    world.pass(2);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
    assert_eq!(world.status("east").held_services, ["shop/only"]);
    // Another exporter is there: it is looked at again.
    world.export("north", "only", 1);
    world.pass(61);
    assert_eq!(world.status("east").held_services, [""; 0]);
}

/// The Services of two drains are looked at again in one moment: that the other one is held back now is no reason to go on if that
/// ends in the same moment.
#[test]
fn of_two_drains_one_is_held_back_at_all_times() {
    for before in 58..=62 {
        let mut world = world();
        world.drain("east", "*", 100, 0);
        world.pass(before);
        world.drain("west", "*", 100, 0);
        for second in 0..250 {
            world.pass(1);
            let is_held = |member| !world.status(member).held_services.is_empty();
            assert!(is_held("east") || is_held("west"), "{second} s, {before} s after the first");
        }
        world.writes();
        world.pass(130);
        assert_eq!(world.writes(), 0, "{before} s after the first");
    }
}

#[test]
fn one_service_that_no_other_member_serves_is_refused_unless_forced() {
    let mut world = world();
    world.export("east", "only", 2);
    world.drain("east", "shop/only", 100, 0);
    world.pass(2);
    assert_eq!(world.drained("east", "shop/only"), Some((0, "Refused")));
    assert_eq!(world.status("east").conditions[0].status, "True");
    assert!(world.events["DrainRefused"] > 0);
    let force = json!([{ "service": "shop/only", "percent": 100, "force": true }]);
    world.request("east", force);
    world.pass(2);
    assert_eq!(world.drained("east", "shop/only"), Some((100, "Drained")));
    assert_eq!(world.status("east").conditions[0].status, "False");
}

#[test]
fn more_than_a_hundred_services_without_others_refuse_the_whole_drain() {
    let mut world = world();
    for number in 0..101 {
        world.export("east", &format!("only-{number}"), 1);
    }
    world.drain("east", "*", 100, 0);
    world.pass(3);
    assert_eq!(world.drained("east", "*"), Some((0, "Refused")));
    assert!(world.status("east").held_services.is_empty());
    world.writes();
    world.pass(30);
    assert_eq!(world.writes(), 0);
    // One of them has another exporter.
    world.export("west", "only-0", 1);
    world.pass(11);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
    assert_eq!(world.status("east").held_services.len(), 100);
}

/// Of two drains that run at once, neither takes over for the other.
#[test]
fn two_members_do_not_drain_into_each_other() {
    let mut world = world();
    world.drain("east", "*", 100, 0);
    world.drain("west", "*", 100, 0);
    world.pass(2);
    for member in ["east", "west"] {
        let held = world.status(member).held_services;
        assert_eq!(held, ["shop/api", "shop/web"], "{member}");
    }
}

#[test]
fn a_silent_member_takes_nothing_over() {
    let mut world = world();
    world.alive.remove("west");
    world.pass(80);
    assert_eq!(world.verdict("west"), ("Silent", 100));
    world.drain("east", "*", 100, 0);
    world.pass(2);
    assert_eq!(world.status("east").held_services, ["shop/api", "shop/web"]);
}

#[test]
fn endpoints_are_removed_with_the_last_step_alone() {
    let mut world = world();
    let remove = json!([{ "service": "*", "percent": 100, "overSeconds": 60, "remove": true }]);
    world.request("east", remove);
    world.pass(2);
    assert_eq!(world.drained("east", "*"), Some((50, "Draining")));
    assert!(!world.status("east").drains[0].removed);
    world.pass(45);
    let drain = world.status("east").drains[0].clone();
    assert_eq!((drain.percent, drain.removed), (100, true));
    // The request is taken back: first they are last resort again.
    world.drain("east", "*", 0, 60);
    world.pass(1);
    let drain = world.status("east").drains[0].clone();
    assert_eq!((drain.percent, drain.removed), (100, false));
}

#[test]
fn a_service_with_its_own_entry_is_not_concerned_by_the_drain_of_all() {
    let mut world = world();
    world.request(
        "east",
        json!([
            { "service": "*", "percent": 100 }, { "service": "shop/web", "percent": 0 },
        ]),
    );
    world.pass(5);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
    assert_eq!(world.drained("east", "shop/web"), Some((0, "Drained")));
    // Its entry goes: what holds for all holds for it.
    world.drain("east", "*", 100, 0);
    world.pass(120);
    assert_eq!(world.drained("east", "shop/web"), None);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
}

#[test]
fn a_request_that_is_taken_out_ends_the_drain_in_steps() {
    let mut world = world();
    world.drain("east", "*", 100, 0);
    world.pass(40);
    world.request("east", json!([]));
    assert_eq!(steps(&mut world, "east", "*", 100), [50, 0]);
}

#[test]
fn a_drain_of_a_part_stops_there() {
    let mut world = world();
    world.drain("east", "*", 40, 120);
    assert_eq!(steps(&mut world, "east", "*", 200).last(), Some(&40));
    assert_eq!(world.drained("east", "*"), Some((40, "Drained")));
}

/// A restart delays a step, and never hastens it.
#[test]
fn the_next_process_goes_on_from_what_is_stored() {
    let mut world = world();
    world.drain("east", "*", 100, 120);
    world.pass(25);
    assert_eq!(world.drained("east", "*"), Some((25, "Draining")));
    world.restart();
    world.pass(28);
    assert_eq!(world.drained("east", "*"), Some((25, "Draining")));
    world.pass(10);
    assert_eq!(world.drained("east", "*"), Some((50, "Draining")));
}

/// A step that is not stored within a second is decided again, the last one too.
#[test]
fn a_step_is_decided_until_it_is_stored() {
    let mut world = world();
    world.drain("east", "*", 100, 0);
    world.writes_sent = 0;
    world.pass(5);
    assert_eq!(world.drained("east", "*"), None);
    world.writes_sent = usize::MAX;
    world.pass(1);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
    world.drain("east", "*", 0, 0);
    world.writes_sent = 0;
    world.pass(5);
    world.writes_sent = usize::MAX;
    world.pass(1);
    assert_eq!(world.drained("east", "*"), None);
}

/// "east" exports a Service alone, and "west" runs some or all of its Pods.
#[test]
fn a_service_is_held_back_from_the_drain_of_the_member_that_runs_all_of_it() {
    // Of three Pods, how many run in "west"; whether the Service is held.
    for (running, held) in [(2, false), (3, true)] {
        let mut world = World::settled(&MEMBERS);
        world.export("east", "web", 3);
        world.run_in("west", "east", "web", running);
        world.drain("west", "*", 100, 0);
        world.pass(2);
        let expected: &[&str] = if held { &["shop/web"] } else { &[] };
        assert_eq!(world.status("west").held_services, expected, "{running} of 3");
    }
}

#[test]
fn who_runs_pods_that_drain_takes_over_for_nobody() {
    let mut world = World::settled(&MEMBERS);
    world.export("east", "web", 3);
    world.export("north", "web", 3);
    // All that "north" has runs in the member that drains, or in the one that exports the rest.
    for executor in ["east", "west"] {
        world.run_in(executor, "north", "web", 3);
        world.drain("west", "*", if executor == "west" { 100 } else { 0 }, 0);
        world.drain("east", "*", 100, 0);
        world.pass(2);
        assert_eq!(world.status("east").held_services, ["shop/web"], "{executor}");
        world.drain("east", "*", 0, 0);
        world.pass(2);
    }
}

/// Until it sees virtual nodes, a new leader would take endpoints that run elsewhere for those of their exporter.
#[test]
fn no_drain_goes_on_before_virtual_nodes_are_known() {
    let mut world = World::settled(&MEMBERS);
    world.export("east", "web", 3);
    world.run_in("west", "east", "web", 3);
    world.restart_without_nodes();
    world.drain("west", "*", 100, 0);
    world.pass(80);
    assert!(world.status("west").drains.is_empty());
    world.unlisted = None;
    world.pass(2);
    assert_eq!(world.status("west").held_services, ["shop/web"]);
}

/// What an exporter is changed by, and what is held back then.
type Row = (&'static str, fn(&mut World), &'static [&'static str]);

/// Importers use no endpoints of weight 0, none on a port that is withheld, and none of another address family. By which API they
/// import counts, too.
#[test]
fn an_exporter_that_importers_do_not_use_takes_nothing_over() {
    let weight = |world: &mut World| {
        world.edit_slice("north", "only", |slice| {
            slice["metadata"]["annotations"][annotations::WEIGHT] = json!("0");
        });
    };
    let port = |world: &mut World| {
        let north = json!({ "cluster": "north", "withheld": ["http"] });
        world.resolve("only", &json!([{ "cluster": "east" }, north]));
    };
    let family = |world: &mut World| {
        world.edit_slice("north", "only", |slice| slice["spec"]["addressType"] = json!("IPv6"));
    };
    let api = |world: &mut World| world.resolve("only", &json!([{ "cluster": "east" }]));
    let rows: [Row; 5] = [
        ("nothing", |_| {}, &[]),
        ("weight", weight, &["shop/only"]),
        ("port", port, &["shop/only"]),
        ("family", family, &["shop/only"]),
        ("API", api, &["shop/only"]),
    ];
    for (what, change, held) in rows {
        let mut world = world();
        world.export("east", "only", 2);
        world.export("north", "only", 2);
        change(&mut world);
        world.request("east", json!([{ "service": "*", "percent": 100, "remove": true }]));
        world.pass(2);
        assert_eq!(world.status("east").held_services, held, "{what}");
    }
}

#[test]
fn what_importers_do_not_use_is_held_back_from_no_drain() {
    let mut world = world();
    world.export("north", "only", 2);
    world.edit_slice("north", "only", |slice| {
        slice["metadata"]["annotations"][annotations::WEIGHT] = json!("0");
    });
    // A family that is not in force by the standard API.
    world.export_slice("north", "other", 2);
    world.edit_slice("north", "other", |slice| slice["spec"]["addressType"] = json!("IPv6"));
    world.resolve("other", &json!([{ "cluster": "north" }]));
    world.drain("north", "*", 100, 0);
    world.pass(2);
    assert_eq!(world.drained("north", "*"), Some((100, "Drained")));
    assert!(world.status("north").held_services.is_empty());
}

/// Until it sees ResolvedServices, a new leader would take endpoints for ones that are part of no Service.
#[test]
fn no_drain_goes_on_before_the_standard_api_is_known() {
    let mut world = World::settled(&MEMBERS);
    world.export_slice("east", "web", 3);
    world.resolve("web", &json!([{ "cluster": "east" }]));
    world.request("east", json!([{ "service": "*", "percent": 100, "remove": true }]));
    world.pass(2);
    assert_eq!(world.status("east").held_services, ["shop/web"]);
    world.restart_without_standard();
    world.pass(80);
    assert_eq!(world.status("east").held_services, ["shop/web"]);
    world.unlisted = None;
    world.pass(2);
    assert_eq!(world.status("east").held_services, ["shop/web"]);
}

/// Members go on to import by ResolvedServices that the hub agent does not watch: slices show who counts.
#[test]
fn drains_concern_the_standard_api_where_it_is_not_watched() {
    let mut world = World::settled(&MEMBERS);
    world.unlisted = Some(|seen| seen.resolved_services = View::default());
    let export = |world: &mut World, member: &str| {
        world.export_slice(member, "web", 3);
        world.edit_slice(member, "web", |slice| {
            slice["metadata"]["labels"][labels::MULTICLUSTER_NAMESPACE] = json!("shop");
        });
    };
    export(&mut world, "east");
    world.drain("east", "*", 100, 0);
    world.pass(2);
    assert_eq!(world.status("east").held_services, ["shop/web"]);
    export(&mut world, "north");
    world.pass(61);
    assert!(world.status("east").held_services.is_empty());
}

/// A hub whose definitions were deleted, or never installed, drains and undrains what it has.
#[test]
fn drains_go_on_where_the_standard_api_cannot_be_had() {
    let missing = |seen: &mut HubSnapshot| {
        let state = SourceState::Missing { since: Instant::now() };
        seen.resolved_services = View::default().in_state(state);
    };
    let mut world = world();
    world.restart_without_standard();
    world.unlisted = Some(missing);
    world.pass(80);
    world.drain("east", "*", 100, 0);
    world.pass(2);
    assert_eq!(world.drained("east", "*"), Some((100, "Drained")));
    world.drain("east", "*", 0, 0);
    assert_eq!(steps(&mut world, "east", "*", 2), [0]);
}

/// A member can name any other as the one that runs its endpoints.
#[test]
fn no_member_holds_back_the_drain_of_another_by_a_claim() {
    let mut world = World::settled(&MEMBERS);
    world.export("north", "web", 1);
    world.claim_executor("west", "north", "web", 1);
    world.drain("west", "*", 100, 0);
    world.pass(2);
    assert!(world.status("west").held_services.is_empty());
}

/// The hub agent writes once a step, however many import: members read what it writes, and acknowledge in Leases that they renew anyway.
#[test]
fn a_drain_with_a_hundred_importers_costs_as_much_as_with_four() {
    let names = (0..100).map(|at| -> &'static str { format!("m{at:02}").leak() });
    let mut world = World::settled(&names.collect::<Vec<_>>());
    for at in 0..50 {
        world.export("m00", &format!("web-{at}"), 2);
        world.export("m01", &format!("web-{at}"), 2);
    }
    world.writes();
    world.drain("m00", "*", 100, 60);
    assert_eq!(steps(&mut world, "m00", "*", 40), [50, 100]);
    assert_eq!(world.writes(), 2);
    world.drain("m00", "*", 0, 0);
    assert_eq!(steps(&mut world, "m00", "*", 5), [0]);
    assert_eq!(world.writes(), 1);
}
