//! A partial view of the hub takes nothing out of force.

use std::time::Instant;

use fleet_accumulator::{SourceState, View};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::execute;
use fleet_plan::{Plan, affected_keys};
use serde_json::json;

use super::world::World;
use crate::multicluster::MulticlusterController;

fn partial() -> [SourceState; 4] {
    let since = Instant::now();
    [
        SourceState::Resyncing,
        SourceState::Missing { since },
        SourceState::Stale { since, message: "gone".into() },
        SourceState::Forbidden { since, verb: "list", message: "no".into() },
    ]
}

#[test]
fn exports_that_a_partial_view_lacks_stay_in_force() {
    let world = World::exported();
    for state in partial() {
        let mut seen = world.snapshot();
        seen.exported_services = View::default().in_state(state.clone());
        let plans = world.plans(&seen);
        assert!(plans.iter().all(Plan::is_empty), "{state}: {plans:#?}");
        assert!(plans.iter().any(|plan| plan.wake_after.is_some()), "{state}");
    }
}

/// What comes counts at once.
#[test]
fn exports_that_a_partial_view_shows_get_into_force() {
    let mut world = World::exported();
    world.export("b", 81);
    let mut seen = world.snapshot();
    seen.exported_services = seen.exported_services.in_state(SourceState::Resyncing);
    for plan in world.plans(&seen) {
        assert_eq!(execute(&plan, &mut [&mut world.hub]), []);
    }
    assert_eq!(world.exporters(), ["a", "b"]);
}

#[test]
fn everything_is_looked_at_again_when_the_view_is_whole() {
    let world = World::exported();
    let seen = world.snapshot();
    for state in partial() {
        let mut before = seen.clone();
        before.resolved_services = before.resolved_services.in_state(state);
        let keys = affected_keys(&MulticlusterController::default(), &before, &seen);
        assert_eq!(keys.len(), 1);
    }
}

/// The namespace of the objects may come later than the exports.
#[test]
fn what_has_no_namespace_yet_waits_for_it() {
    let mut world = World::new();
    let system = ObjectName::cluster(SYSTEM_NAMESPACE);
    world.hub.delete(kinds::NAMESPACE, &system).unwrap();
    world.export("a", 80);
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    let before = world.snapshot();
    world.hub.create(kinds::NAMESPACE, &system, json!({})).unwrap();
    let keys = affected_keys(&MulticlusterController::default(), &before, &world.snapshot());
    assert_eq!(keys.len(), 1);
    world.settle();
    assert_eq!(world.exporters(), ["a"]);
}
