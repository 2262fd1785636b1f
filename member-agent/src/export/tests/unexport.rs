//! A ServiceExport that goes: everything of it goes first.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, is_terminating, shop};

/// MSE-9: an exported ServiceExport is deleted.
#[test]
fn unexporting_withdraws_everything_before_the_finalizer_goes() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    let plan = world.plan();
    let steps: Vec<_> =
        plan.steps.iter().map(|step| (step.action.verb(), step.kind.kind)).collect();
    assert_eq!(
        steps,
        [
            ("delete", "EndpointSliceExport"),
            ("delete", "InternalServiceExport"),
            ("patch", "ServiceExport")
        ]
    );
    assert_eq!(plan.steps[2].after.len(), 2);
    world.settle();
    assert!(world.own.get(kinds::SERVICE_EXPORT, &shop()).is_none());
    world.release();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
}

#[test]
fn the_users_slice_is_never_written() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.settle();
    let writes = world.own.take_writes();
    assert!(writes.iter().all(|write| write.kind == "ServiceExport"), "{writes:?}");
}

/// Nothing was sent yet, or others deleted all of it: the hub's API server has to confirm that.
#[test]
fn the_finalizer_waits_for_the_hub_to_say_that_nothing_is_there() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    for kind in [kinds::INTERNAL_SERVICE_EXPORT, kinds::ENDPOINT_SLICE_EXPORT] {
        for name in world.hub.names(kind) {
            world.hub.delete(kind, &name).unwrap();
        }
    }
    world.release();
    let plan = world.plan();
    let verbs: Vec<_> = plan.steps.iter().map(|step| step.action.verb()).collect();
    assert_eq!(verbs, ["get", "patch"]);
    assert_eq!(plan.steps[1].after.len(), 1);
    world.settle();
    assert!(world.own.get(kinds::SERVICE_EXPORT, &shop()).is_none());
}

/// It holds no finalizer of ours: what is on the hub is a leftover, and goes all the same.
#[test]
fn a_terminating_export_that_we_do_not_hold_is_left_alone() {
    let mut world = World::exported();
    let hold = |export: &mut Value| export["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), hold).unwrap();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.rest();
    world.settle_with_hub();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
    assert_eq!(world.own.take_writes(), []);
}

#[test]
fn a_foreign_finalizer_stays() {
    let mut world = World::exported();
    let hold = |export: &mut Value| {
        let mine = export["metadata"]["finalizers"][0].clone();
        export["metadata"]["finalizers"] = json!(["example.com/hold", mine]);
    };
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), hold).unwrap();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.settle();
    assert_eq!(world.finalizers(), json!(["example.com/hold"]));
}

/// Deleted and created anew while the hub still holds the old export.
#[test]
fn a_recreated_export_waits_for_its_predecessor_and_its_verdict() {
    let mut world = World::exported();
    world.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    world.settle();
    world.export();
    world.settle();
    assert!(is_terminating(world.internal().unwrap()));
    world.release();
    world.settle();
    assert!(world.is_on_hub());
    assert!(world.copies().is_empty(), "the verdict on the earlier export does not count");
    world.judge("False");
    world.settle();
    assert_eq!(world.copies().len(), 1);
}

/// docs/original.md row 18: else the next export would skip the hub's verdict.
#[test]
fn the_verdict_is_reset_when_the_service_is_withdrawn() {
    let mut world = World::exported();
    world.respec("type", json!("ExternalName"));
    world.settle_with_hub();
    assert_eq!(world.condition("Conflict").0, "Unknown");
    world.respec("type", json!("ClusterIP"));
    world.settle();
    assert!(world.copies().is_empty());
}
