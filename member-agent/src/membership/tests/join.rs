//! Joining, and staying alive.

use std::time::Duration;

use fleet_accumulator::SourceState;
use fleet_runtime::clients::Credential;
use serde_json::json;

use super::{AGENTS, World, report};
use crate::app::gauges;
use crate::phase::Phase;

const START: &str = "2026-01-01T00:00:00Z";
const JOINED: (&str, &str) = ("True", "AgentJoined");

/// MIMC-1: one write reports both agents.
#[test]
fn a_member_that_is_told_to_join_reports_so() {
    let mut world = World::told("Join");
    assert_eq!(world.settle(), 1);
    for agent in AGENTS {
        assert_eq!(*world.report(agent), report(agent, JOINED, 1, START, START));
    }
    assert_eq!(Phase::of(&world.settings.identity, &world.snapshot()), Phase::Member);
}

/// MIMC-2: the heartbeat moves on, the transition does not, and there is still one entry per agent.
#[test]
fn a_heartbeat_comes_after_each_period() {
    let mut world = World::joined();
    for beat in ["2026-01-01T00:01:03Z", "2026-01-01T00:02:06Z"] {
        world.advance(63);
        assert_eq!(world.settle(), 1);
        for agent in AGENTS {
            assert_eq!(*world.report(agent), report(agent, JOINED, 1, START, beat));
        }
        assert_eq!(world.status()["agentStatus"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn heartbeats_are_spread_by_five_percent_and_every_plan_agrees_when() {
    let mut world = World::joined();
    let mut waits = Vec::new();
    for _ in 0..50 {
        let plan = world.plan();
        assert!(plan.is_empty());
        assert_eq!(plan, world.plan());
        waits.extend(plan.wake_after);
        world.advance(63);
        world.settle();
    }
    let bounds = Duration::from_secs(57)..=Duration::from_secs(63);
    assert!(waits.iter().all(|wait| bounds.contains(wait)), "{waits:?}");
    let (first, last) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    assert!(*last > *first + Duration::from_secs(3), "{waits:?}");
}

#[test]
fn a_restart_does_not_beat_early() {
    let mut world = World::joined();
    world.advance(50);
    // The plan knows nothing but the snapshot: this is what a new process finds.
    let plan = world.plan();
    assert!(plan.is_empty());
    let rest = plan.wake_after.unwrap();
    assert!((Duration::from_secs(7)..=Duration::from_secs(13)).contains(&rest), "{rest:?}");
}

#[test]
fn a_heartbeat_from_the_future_does_not_silence_the_agent() {
    let mut world = World::joined();
    world.edit(|object| {
        for at in 0..2 {
            object["status"]["agentStatus"][at]["lastReceivedHeartbeat"] =
                json!("2027-01-01T00:00:00Z");
        }
    });
    assert!(world.plan().wake_after.unwrap() <= Duration::from_secs(63));
}

#[test]
fn the_hub_can_ask_for_another_period() {
    let mut world = World::joined();
    world.edit(|object| object["spec"]["heartbeatPeriodSeconds"] = json!(600));
    // The report is about the object as it is now.
    assert_eq!(world.settle(), 1);
    assert_eq!(*world.report(AGENTS[0]), report(AGENTS[0], JOINED, 2, START, START));
    assert!(world.plan().wake_after.unwrap() >= Duration::from_secs(570));
}

#[test]
fn reports_of_others_and_all_else_stay_as_they_are() {
    let mut world = World::told("Join");
    let other = json!({ "type": "MemberAgent", "conditions": "whatever", "future": [1.50] });
    world.edit(|object| {
        object["status"] = json!({
            "agentStatus": [other, { "type": AGENTS[1], "note": "kept" }, { "type": "Next" }],
            "resourceUsage": { "capacity": { "cpu": "2" } },
            "properties": { "a": { "value": "1" } },
        });
    });
    world.settle();
    let status = world.status();
    let mut ours = report(AGENTS[1], JOINED, 1, START, START);
    ours["note"] = json!("kept");
    let appended = report(AGENTS[0], JOINED, 1, START, START);
    assert_eq!(status["agentStatus"], json!([other, ours, { "type": "Next" }, appended]));
    assert_eq!(status["resourceUsage"], json!({ "capacity": { "cpu": "2" } }));
    assert_eq!(status["properties"], json!({ "a": { "value": "1" } }));
}

#[test]
fn a_list_is_begun_where_others_left_a_status_without_one() {
    let mut world = World::told("Join");
    world.edit(|object| object["status"] = json!({ "conditions": [] }));
    world.settle();
    assert_eq!(world.status()["agentStatus"].as_array().unwrap().len(), 2);
    assert_eq!(world.status()["conditions"], json!([]));
}

#[test]
fn a_report_that_somebody_changed_is_put_right() {
    let mut world = World::joined();
    world.edit(|object| object["status"]["agentStatus"][1]["conditions"] = json!([]));
    assert_eq!(world.settle(), 1);
    assert_eq!(*world.report(AGENTS[1]), report(AGENTS[1], JOINED, 1, START, START));
}

#[test]
fn another_writer_between_view_and_write_loses_nothing() {
    let mut world = World::joined();
    world.advance(63);
    let late = world.plan();
    world.edit(|object| {
        let reports = object["status"]["agentStatus"].as_array_mut().unwrap();
        reports.insert(0, json!({ "type": "MemberAgent" }));
    });
    let refused = fleet_model_server::execute(&late, &mut [&mut world.own, &mut world.hub]);
    assert_eq!(refused.len(), 1);
    assert_eq!(world.settle(), 1);
    assert_eq!(world.status()["agentStatus"][0], json!({ "type": "MemberAgent" }));
    assert_eq!(world.status()["agentStatus"].as_array().unwrap().len(), 3);
}

/// A state that this version does not know causes no write.
#[test]
fn an_unknown_state_is_ignored() {
    let mut world = World::joined();
    world.tell("Pause");
    world.advance(63);
    assert_eq!(world.settle(), 0);
    assert_eq!(Phase::of(&world.settings.identity, &world.snapshot()), Phase::Member);
}

#[test]
fn without_a_membership_the_agent_works_and_reports_nothing() {
    let mut world = World::new();
    let name = fleet_api::ObjectName::new("fleet-member-a", "somebody-else");
    let object = json!({ "spec": { "state": "Leave" } });
    world.hub.create(fleet_api::kinds::INTERNAL_MEMBER_CLUSTER, &name, object).unwrap();
    let plan = world.plan();
    assert!(plan.is_empty() && plan.wake_after.is_none());
    assert_eq!(Phase::of(&world.settings.identity, &world.snapshot()), Phase::Member);
}

/// What was read before the right was taken away still holds: 403 is no answer of the hub.
#[test]
fn a_forbidden_membership_stays_as_it_was() {
    let mut world = World::told("Leave");
    let since = std::time::Instant::now();
    let forbidden = SourceState::Forbidden { since, verb: "list", message: "no".into() };
    let mut snapshot = world.snapshot();
    snapshot.memberships = snapshot.memberships.in_state(forbidden);
    assert_eq!(Phase::of(&world.settings.identity, &snapshot), Phase::Leaving);
    world.settings = crate::Settings::new("b");
    assert_eq!(Phase::of(&world.settings.identity, &snapshot), Phase::Member);
}

#[test]
fn metrics_show_phase_and_heartbeat() {
    let world = World::joined();
    let gauges =
        gauges(world.settings.clone(), Credential::default())(&world.snapshot(), world.own.now())
            .unwrap();
    let families: Vec<_> = gauges.iter().flat_map(|gauge| gauge.collect()).collect();
    let text = prometheus::TextEncoder::new().encode_to_string(&families).unwrap();
    for line in [
        "fleet_membership_phase{phase=\"member\"} 1",
        "fleet_membership_phase{phase=\"left\"} 0",
        "fleet_membership_last_heartbeat_timestamp_seconds 1767225600",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
