//! S32: a member whose heartbeat is too old is reported, and its endpoints stay.

use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model::objects::Report;
use fleet_model_server::{ModelServer, snapshot};
use fleet_plan::{Controller, Plan, affected_keys};
use jiff::Timestamp;
use prometheus::TextEncoder;
use serde_json::{Value, json};

use crate::Settings;
use crate::member::{Member, MemberController};
use crate::metrics::heartbeats;
use crate::snapshot::HubSnapshot;
use crate::tests::observed;

struct World {
    hub: ModelServer,
    controller: MemberController,
    /// When the agent observed the heartbeats, if not at the time that they carry.
    observed: Option<Timestamp>,
}

fn internal() -> ObjectName {
    ObjectName::new("fleet-member-b", "b")
}

/// A report of an agent whose last heartbeat is `second` seconds after the start of 2026.
fn report(agent: &str, joined: &str, second: i64) -> Value {
    let at = jiff::Timestamp::from_second(1_767_225_600 + second).unwrap();
    json!({ "type": agent, "lastReceivedHeartbeat": at.to_string(), "conditions": [{
        "type": "Joined", "status": joined, "reason": "x", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" }] })
}

impl World {
    fn new(period: i64, reports: &[Value]) -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        let spec = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": period } });
        hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &internal(), spec).unwrap();
        let mut world = Self { hub, controller: MemberController::default(), observed: None };
        world.report(reports);
        world
    }

    fn report(&mut self, reports: &[Value]) {
        let status = |member: &mut Value| member["status"] = json!({ "agentStatus": reports });
        self.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &internal(), status).unwrap();
    }

    fn snapshot(&self) -> HubSnapshot {
        let stamp = |report: &Report| Some(report.status.last_received_heartbeat.as_ref()?.0);
        observed(snapshot(&[&self.hub], None), |report| self.observed.or_else(|| stamp(report)))
    }

    fn plan(&self) -> Plan {
        self.controller.plan(&Member("b".into()), &self.snapshot(), self.hub.now())
    }

    fn metrics(&self) -> String {
        let gauges = heartbeats(&self.controller.settings, &self.snapshot(), self.hub.now());
        let gauges = gauges.unwrap();
        let mut families: Vec<_> = gauges.iter().flat_map(|gauge| gauge.collect()).collect();
        // As a registry does.
        families.retain(|family| !family.get_metric().is_empty());
        TextEncoder::new().encode_to_string(&families).unwrap()
    }
}

const IMPORTS: &str = "MultiClusterServiceAgent";
const EXPORTS: &str = "ServiceExportImportAgent";

/// S32: an Event and the metrics report it, and nothing is withdrawn.
#[test]
fn a_member_without_heartbeats_is_reported() {
    let mut world = World::new(60, &[report(IMPORTS, "True", 0), report(EXPORTS, "True", 10)]);
    world.hub.advance(100);
    let plan = world.plan();
    assert!(plan.events.is_empty());
    assert_eq!(plan.wake_after, Some(Duration::from_secs(200)), "the older report counts");
    assert!(world.metrics().contains(r#"heartbeat_age_seconds{member="b"} 100"#));
    assert!(world.metrics().contains(r#"heartbeat_stale{member="b"} 0"#));

    world.hub.advance(200);
    let plan = world.plan();
    assert_eq!((plan.is_empty(), plan.wake_after), (true, None), "its endpoints stay");
    let event = &plan.events[0];
    assert_eq!((event.kind, &event.name), (kinds::INTERNAL_MEMBER_CLUSTER, &internal()));
    assert_eq!(event.reason, "MemberSilent");
    assert!(event.note.contains("2026-01-01T00:00:00Z"), "{}", event.note);
    assert!(world.metrics().contains(r#"heartbeat_stale{member="b"} 1"#));
    world.hub.advance(1000);
    assert_eq!(world.plan().events, plan.events, "the text does not change");

    world.report(&[report(IMPORTS, "True", 1300), report(EXPORTS, "True", 1300)]);
    assert!(world.plan().events.is_empty());
    assert!(world.metrics().contains(r#"heartbeat_stale{member="b"} 0"#));
}

/// The clocks of member and hub differ by a day: the time counts at which the hub agent observed the heartbeat.
#[test]
fn the_clock_of_the_member_does_not_count() {
    const DAY: i64 = 86_400;
    for skew in [-DAY, DAY] {
        let mut world = World::new(60, &[report(EXPORTS, "True", skew)]);
        world.observed = Some(world.hub.now());
        world.hub.advance(299);
        assert_eq!(world.plan().events, []);
        assert_eq!(world.plan().wake_after, Some(Duration::from_secs(1)));
        assert!(world.metrics().contains(r#"heartbeat_age_seconds{member="b"} 299"#));
        world.hub.advance(1);
        let events = world.plan().events;
        assert!(events[0].note.contains("since 2026-01-01T00:00:00Z"), "{events:?}");
        assert!(world.metrics().contains(r#"heartbeat_stale{member="b"} 1"#));
    }
}

#[test]
fn the_timeout_is_five_heartbeats_at_least_a_minute_or_the_flag() {
    for (period, ttl, patience) in
        [(1, None, 60), (12, None, 60), (600, None, 3000), (60, Some(7), 7), (60, Some(9000), 9000)]
    {
        let mut world = World::new(period, &[report(EXPORTS, "True", 0)]);
        let heartbeat_ttl = ttl.map(Duration::from_secs);
        world.controller.settings = Settings { heartbeat_ttl, ..Settings::default() };
        assert_eq!(world.plan().wake_after, Some(Duration::from_secs(patience)));
    }
}

#[test]
fn a_member_that_has_not_joined_or_has_left_is_not_reported() {
    let left = report(IMPORTS, "False", 0);
    let mut foreign = report("MemberAgent", "True", 0);
    for reports in [vec![], vec![left.clone()], vec![foreign.take()]] {
        let mut world = World::new(60, &reports);
        world.hub.advance(100_000);
        assert_eq!(world.plan(), Plan::default(), "{reports:?}");
        assert_eq!(world.metrics(), "");
    }
    // If one of two agents has left, the other counts.
    let mut world = World::new(60, &[left, report(EXPORTS, "True", 0)]);
    world.hub.advance(1000);
    assert_eq!(world.plan().events.len(), 1);
}

#[test]
fn the_metrics_end_with_the_member_and_ignore_other_objects() {
    let mut world = World::new(60, &[report(EXPORTS, "True", 0)]);
    let other = ObjectName::new("fleet-member-b", "impostor");
    let spec = json!({ "spec": { "state": "Join" } });
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &other, spec).unwrap();
    let status = |member: &mut Value| {
        member["status"] = json!({ "agentStatus": [report(EXPORTS, "True", -500)] });
    };
    world.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &other, status).unwrap();
    assert!(world.metrics().contains(r#"heartbeat_age_seconds{member="b"} 0"#));
    world.hub.delete(kinds::INTERNAL_MEMBER_CLUSTER, &internal()).unwrap();
    assert_eq!(world.metrics(), "");
}

#[test]
fn every_heartbeat_affects_its_member() {
    let mut world = World::new(60, &[report(EXPORTS, "True", 0)]);
    let old = snapshot(&[&world.hub], None);
    world.report(&[report(EXPORTS, "True", 60)]);
    let affected = affected_keys(&world.controller, &old, &snapshot(&[&world.hub], None));
    assert_eq!(affected, [Member("b".into())].into());
}
