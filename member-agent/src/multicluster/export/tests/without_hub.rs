//! A hub that is away, older, or not known yet.

use std::time::{Duration, Instant};

use fleet_accumulator::{SourceState, View};
use fleet_api::kinds;
use serde_json::json;

use super::world::{World, service, web};
use crate::snapshot::MemberSnapshot;

/// What an agent sees that has not reached the hub since it started.
fn without_hub(world: &World) -> MemberSnapshot {
    MemberSnapshot {
        exported_services: View::default(),
        resolved_services: View::default(),
        cluster_reports: View::default(),
        ..world.snapshot()
    }
}

/// What it sees when the hub has stopped answering, in this state.
fn in_state(world: &World, state: &SourceState) -> MemberSnapshot {
    let snapshot = world.snapshot();
    MemberSnapshot {
        exported_services: snapshot.exported_services.in_state(state.clone()),
        resolved_services: snapshot.resolved_services.in_state(state.clone()),
        ..snapshot
    }
}

fn stale() -> SourceState {
    SourceState::Stale { since: Instant::now(), message: "no answer".into() }
}

fn missing() -> SourceState {
    SourceState::Missing { since: Instant::now() }
}

#[test]
fn a_restart_writes_nothing() {
    let world = World::exported();
    assert!(world.plan().is_empty());
    let plan = world.plan_on(&without_hub(&world));
    assert!(plan.steps.is_empty(), "{plan:#?}");
    assert_eq!(plan.debounced[0].delay, Duration::from_secs(30));
}

#[test]
fn local_facts_are_told_without_the_hub() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE, &web()).unwrap();
    let plan = world.plan_on(&without_hub(&world));
    world.execute(&plan);
    assert_eq!(world.conditions()[0], "False NoService");
    assert!(world.offered().is_some(), "nothing is deleted on a hub that is not known");
}

#[test]
fn a_hub_that_does_not_answer_makes_it_unknown() {
    let mut world = World::exported();
    let plan = world.plan_on(&in_state(&world, &stale()));
    let [later] = plan.debounced.as_slice() else { panic!("{plan:#?}") };
    let mut due = plan.clone();
    due.steps.push(later.step.clone());
    due.debounced.clear();
    world.execute(&due);
    assert_eq!(world.conditions(), ["True Valid", "Unknown Pending", "False NoConflicts"]);
    world.settle();
    assert_eq!(world.conditions()[1], "True Exported");
}

/// A definition that was deleted takes its objects along; nothing is concluded from that.
#[test]
fn a_kind_that_the_hub_no_longer_serves_freezes_the_export() {
    let mut world = World::exported();
    let snapshot = in_state(&world, &missing());
    world.respec("ports", json!([{ "protocol": "TCP", "port": 81 }]));
    let snapshot = MemberSnapshot { services: world.snapshot().services, ..snapshot };
    assert!(world.plan_on(&snapshot).steps.is_empty());
}

/// This cluster's own definitions of the API are gone, with all ServiceExports: exports stay until they are back.
#[test]
fn without_the_definitions_of_the_api_nothing_changes() {
    let world = World::exported();
    let snapshot = world.snapshot();
    let snapshot =
        MemberSnapshot { standard_exports: View::of([]).in_state(missing()), ..snapshot };
    assert!(world.plan_on(&snapshot).is_empty());
}

#[test]
fn nothing_is_exported_before_the_hub_has_accepted_the_cluster() {
    let mut world = World::unknown();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.export();
    world.settle_patiently();
    assert_eq!(world.offered(), None);
    assert_eq!(world.conditions(), ["True Valid", "Unknown Pending", "-"]);
    world.claim();
    world.settle_patiently();
    assert_eq!(world.offered(), None, "the hub agent has not answered");
    world.answer("True", "");
    world.settle();
    assert!(world.offered().is_some());
}

/// Which id this cluster has may be listed after all else: until then a Service might be exported under a name that is not its own.
#[test]
fn nothing_is_exported_before_the_id_of_the_cluster_is_known() {
    let world = World::asked();
    let unlisted = MemberSnapshot { cluster_properties: View::default(), ..world.snapshot() };
    assert!(world.plan_on(&unlisted).steps.is_empty());
    let unserved = View::default().in_state(missing()).unlisted();
    let unserved = MemberSnapshot { cluster_properties: unserved, ..world.snapshot() };
    assert_eq!(world.plan_on(&unserved).steps.len(), 1, "it is not served");
    let world = World::exported();
    let unlisted = MemberSnapshot { cluster_properties: View::default(), ..world.snapshot() };
    assert!(world.plan_on(&unlisted).steps.is_empty(), "what is exported stays");
}

/// A report that was deleted by accident takes nothing away.
#[test]
fn an_export_in_force_stays_while_the_report_is_absent() {
    let mut world = World::exported();
    world.hub.delete(kinds::CLUSTER_REPORT, &super::world::report()).unwrap();
    world.settle();
    assert_eq!(world.writes(), []);
    assert!(world.offered().is_some());
}
