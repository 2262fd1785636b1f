//! A second cluster with the name and the credential of the first.

use std::sync::Arc;

use fleet_accumulator::{Snapshot as _, View};
use fleet_api::kinds;
use fleet_plan::Controller;
use serde_json::{Value, json};

use super::super::{Key, StandardExportController};
use super::world::{World, report, web};
use crate::fenced::Fenced;
use crate::snapshot::MemberSnapshot;
use crate::tenure::Tenure;

/// The controller as the agent runs it.
fn fenced(world: &World) -> Fenced<StandardExportController> {
    let settings = world.settings.clone();
    let identity = settings.identity.clone();
    let controller = StandardExportController { settings };
    Fenced::new(controller, &identity, &Arc::new(Tenure::default())).without_hub()
}

/// A hub that was not reached yet keeps no user from reading facts of this cluster.
#[test]
fn it_plans_before_the_hub_is_known() {
    let mut world = World::new();
    world.export();
    let snapshot = MemberSnapshot {
        exported_services: View::default(),
        resolved_services: View::default(),
        cluster_reports: View::default(),
        ..world.snapshot()
    };
    let fenced = fenced(&world);
    assert!(snapshot.complete(fenced.required()));
    let plan = fenced.plan(&Key(web()), &snapshot, world.own.now());
    assert_eq!(plan.steps.len(), 1, "{plan:#?}");
    assert_eq!(plan.steps[0].kind, kinds::MCS_SERVICE_EXPORT);
}

#[test]
fn it_writes_nothing_at_all() {
    let mut world = World::asked();
    let forge = |object: &mut Value| object["spec"]["clusterUid"] = json!("another");
    world.hub.edit(kinds::CLUSTER_REPORT, &report(), forge).unwrap();
    let fenced = fenced(&world);
    let snapshot = world.snapshot();
    let plan = fenced.plan(&Key(web()), &snapshot, world.own.now());
    assert!(plan.is_empty() && plan.events.is_empty(), "{plan:#?}");
    assert!(fenced.obstacle(&snapshot).is_some());
}
