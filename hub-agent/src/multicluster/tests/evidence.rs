//! A partial view of the hub takes nothing out of force.

use std::time::Instant;

use fleet_accumulator::{SourceState, View};
use fleet_api::labels::MULTICLUSTER_NAMESPACE;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::execute;
use fleet_plan::{Plan, affected_keys};
use serde_json::json;

use super::world::{World, of_web, slice_of};
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
    }
}

/// The definition was deleted and is there again: a list is empty, and members are about to write what is missing.
#[test]
fn an_empty_list_after_a_failure_withdraws_nothing() {
    let mut world = World::exported();
    world.hub.delete(kinds::EXPORTED_SERVICE, &of_web("a")).unwrap();
    let mut seen = world.snapshot();
    seen.exported_services = seen.exported_services.unsettled();
    let plans = world.plans(&seen);
    assert!(plans.iter().all(Plan::is_empty), "{plans:#?}");
    let keys = affected_keys(&MulticlusterController::default(), &seen, &world.snapshot());
    assert_eq!(keys.len(), 1, "everything is looked at again when absence counts");
    world.export("b", 80);
    let mut seen = world.snapshot();
    seen.exported_services = seen.exported_services.unsettled();
    assert!(world.plans(&seen).iter().all(Plan::is_empty), "nor by one that is there");
}

/// Someone deletes the export alone. Its member writes it again before members would believe that it is over.
#[test]
fn an_export_whose_slices_are_there_is_awaited() {
    let mut world = World::exported();
    world.add_slice("a", &json!({ (MULTICLUSTER_NAMESPACE): "shop" }));
    world.unexport("a");
    world.settle_at_once();
    assert_eq!(world.writes(), [""; 0]);
    world.export("a", 80);
    world.settle();
    assert_eq!(world.writes(), [""; 0]);

    world.unexport("a");
    world.settle_at_once();
    let before = world.snapshot();
    world
        .hub
        .edit(kinds::ENDPOINT_SLICE_EXPORT, &slice_of("a"), |slice| {
            slice["metadata"]["labels"] = json!({});
        })
        .unwrap();
    let keys = affected_keys(&MulticlusterController::default(), &before, &world.snapshot());
    assert_eq!(keys.len(), 1, "the other half went");
    world.settle_at_once();
    assert_eq!(world.writes(), ["update ResolvedService"]);
}

/// If it does not come back, it has left; and it does not take long where nothing is left of it.
#[test]
fn an_export_whose_slices_stay_leaves_in_a_while() {
    let mut world = World::exported();
    world.export("b", 80);
    world.settle();
    world.writes();
    world.add_slice("b", &json!({ (MULTICLUSTER_NAMESPACE): "shop" }));
    world.unexport("b");
    let plans = world.plans(&world.snapshot());
    let later: Vec<_> = plans.iter().flat_map(|plan| &plan.debounced).collect();
    let [later] = later.as_slice() else { panic!("{plans:#?}") };
    assert_eq!(later.delay.as_secs(), 10);
    world.unexport("a");
    world.add_slice("a", &json!({}));
    world.settle();
    assert_eq!(world.exporters(), [""; 0]);
}

/// An endpoint change is none of this controller's business.
#[test]
fn slices_that_stay_concern_no_service() {
    let mut world = World::exported();
    world.add_slice("a", &json!({ (MULTICLUSTER_NAMESPACE): "shop" }));
    let before = world.snapshot();
    world
        .hub
        .edit(kinds::ENDPOINT_SLICE_EXPORT, &slice_of("a"), |slice| {
            slice["spec"]["endpoints"] = json!([]);
        })
        .unwrap();
    let keys = affected_keys(&MulticlusterController::default(), &before, &world.snapshot());
    assert!(keys.is_empty(), "{keys:?}");
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

/// Of many that leave at once, one that has slices left is enough to wait, and one that is exported again is none.
#[test]
fn one_of_many_is_awaited() {
    let mut world = World::exported();
    let members: Vec<_> = (0..200).map(|number| format!("m{number:03}")).collect();
    for member in &members {
        let namespace = ObjectName::cluster(format!("fleet-member-{member}"));
        world.hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        world.report(member, member);
    }
    world.settle();
    for member in &members {
        world.export(member, 80);
    }
    world.settle();
    assert_eq!(world.exporters().len(), 201);
    world.add_slice("m100", &json!({ (MULTICLUSTER_NAMESPACE): "shop" }));
    for member in &members {
        world.unexport(member);
    }
    world.settle_at_once();
    assert_eq!(world.exporters().len(), 201, "m100 may come back");
    world.export("m100", 80);
    world.settle_at_once();
    assert_eq!(world.exporters(), ["a", "m100"]);
}
