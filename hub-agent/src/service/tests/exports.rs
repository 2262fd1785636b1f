//! Exports join a Service of the fleet and leave it.
//!
//! Where the original polls every two seconds, watches trigger this controller: "waits" means that the plan is empty
//! until something changes.

use fleet_api::{ObjectName, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, shop};

#[test]
fn an_export_is_resolved_claimed_and_distributed() {
    let world = World::shared();
    let status = &world.import().unwrap()["status"];
    assert_eq!(status["type"], "ClusterSetIP");
    assert_eq!(status["ports"], port(80));
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.conflict("a"), "False");
    assert_eq!(world.claim(), json!({ "MemberClusters": { "fleet-member-b": "b" } }));
    let import = world.import().unwrap();
    assert_eq!(import["metadata"]["finalizers"], json!([finalizers::SERVICE_IMPORT]));
    assert_eq!(world.status_of_request("b"), status);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
    assert!(world.plan().is_empty());
}

/// HISE-1: an export whose import does not exist any more is released.
#[test]
fn an_export_without_an_import_is_released() {
    let mut world = World::new();
    world.export("a", 80);
    world.delete_export("a");
    world.settle();
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
}

/// HISE-2: the import is deleted with the last export, which is released last. The status is not emptied before,
/// because the import is deleted as a whole (docs/design/rules.md#withdrawal).
#[test]
fn the_import_is_deleted_with_the_last_export() {
    let mut world = World::shared();
    world.delete_export("a");
    world.delete(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1"));
    world.hub.take_writes();
    world.settle();
    assert!(world.import().is_none());
    assert_eq!(world.status_of_request("b"), &json!({}));
    assert!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT).is_empty());
    assert!(world.hub.names(kinds::ENDPOINT_SLICE_EXPORT).is_empty());
    let last = world.hub.take_writes().pop().unwrap();
    assert_eq!((last.verb, last.kind), ("patch", "InternalServiceExport"));
}

/// HISE-3: one of two exporters with equal ports leaves; its cluster is removed, the ports stay.
#[test]
fn an_equal_exporter_joins_and_leaves() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-b/c-s2"]);
    world.delete_export("a");
    world.settle();
    assert_eq!(world.clusters(), ["c"]);
    assert_eq!(world.import().unwrap()["status"]["ports"], port(80));
    assert_eq!(world.copies(), ["fleet-member-b/c-s2"], "only accepted exporters' slices stay");
}

/// HISE-4: a conflicting exporter leaves; the import does not change.
#[test]
fn an_unexport_in_conflict_leaves_the_import_unchanged() {
    let mut world = World::shared();
    world.export("c", 81);
    world.settle();
    let before = world.import().unwrap().clone();
    world.delete_export("c");
    world.settle();
    assert_eq!(world.import(), Some(&before));
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c")));
}

/// HISE-5: an export is deleted before its import was resolved. The original waits for the ports;
/// here resolving and releasing are one plan, in that order.
#[test]
fn an_export_leaves_before_its_import_is_resolved() {
    let mut world = World::new();
    world.export("a", 80);
    world.export("c", 80);
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.delete_export("a");
    world.settle_watched(|world| {
        let released = !world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a"));
        assert!(!released || world.clusters() == ["c"], "released before it was resolved");
    });
    assert_eq!(world.clusters(), ["c"]);
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
}

/// HISE-6: the first export creates an empty import, and has no condition before that is resolved.
#[test]
fn a_first_export_makes_an_empty_import() {
    let mut world = World::new();
    world.export("a", 80);
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1, "{plan:#?}");
    assert_eq!((plan.steps[0].action.verb(), plan.steps[0].kind.kind), ("create", "ServiceImport"));
    world.hub.execute(&plan.steps[0]).unwrap();
    assert_eq!(world.import().unwrap()["status"], Value::Null);
    assert_eq!(world.conflict("a"), "none");
}

/// HISE-7: an export with the ports in force joins.
#[test]
fn an_export_with_the_ports_in_force_joins() {
    let mut world = World::exported();
    world.export("c", 80);
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
    assert_eq!(world.conflict("c"), "False");
    assert_eq!(world.condition("c", "Conflict").unwrap()["observedGeneration"], 1);
}

/// HISE-8: an export with other ports conflicts, and the import does not change.
#[test]
fn an_export_with_other_ports_conflicts() {
    let mut world = World::shared();
    let before = world.import().unwrap().clone();
    world.export("c", 81);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    assert_eq!(world.conflict("c"), "True");
    assert_eq!(world.import(), Some(&before));
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"], "a conflicting exporter sends nothing");
}

/// HISE-9: an accepted exporter changes its ports while another one has those in force.
#[test]
fn an_exporter_that_leaves_the_ports_in_force_conflicts() {
    let mut world = World::shared();
    world.export("c", 80);
    world.settle();
    world.set_ports("a", port(81));
    world.settle();
    assert_eq!(world.clusters(), ["c"]);
    assert_eq!((world.conflict("a"), world.conflict("c")), ("True", "False"));
    assert_eq!(world.condition("a", "Conflict").unwrap()["observedGeneration"], 2);
}

/// Its copies are deleted once the ServiceImport no longer lists it. If the writes ran in parallel, an importer could
/// see an exporter without endpoints.
#[test]
fn an_exporter_in_conflict_is_unlisted_before_its_copies_are_deleted() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    world.set_ports("c", port(81));
    let plan = world.plan();
    let position = |kind| plan.steps.iter().position(|step| step.kind == kind).unwrap();
    let deletion = &plan.steps[position(kinds::ENDPOINT_SLICE_IMPORT)];
    assert_eq!(deletion.action.verb(), "delete");
    let after: Vec<_> = deletion.after.iter().map(|step| step.index()).collect();
    assert_eq!(after, [position(kinds::SERVICE_IMPORT)]);
    world.settle();
    assert_eq!((world.clusters(), world.copies()), (vec!["a"], vec!["fleet-member-b/a-s1".into()]));
}

/// HISE-10: a conflicting exporter changes its ports to those in force.
#[test]
fn an_export_in_conflict_joins_once_it_has_the_ports_in_force() {
    let mut world = World::shared();
    world.export("c", 81);
    world.settle();
    world.set_ports("c", port(80));
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
    assert_eq!(world.conflict("c"), "False");
}

/// HISE-11: a single exporter changes its ports. The original empties the import's status and resolves it again; here
/// one write replaces the old ports by the new ones.
#[test]
fn a_single_exporter_can_change_its_ports() {
    let mut world = World::shared();
    world.set_ports("a", port(81));
    world.settle_watched(|world| {
        assert_eq!(world.clusters(), ["a"], "never empty");
        assert_eq!(world.copies(), ["fleet-member-b/a-s1"], "its slices never leave");
        assert_eq!(world.conflict("a"), "False");
    });
    assert_eq!(world.import().unwrap()["status"]["ports"], port(81));
    assert_eq!(world.status_of_request("b")["ports"], port(81));
}

/// HSI-1: an import without exports is deleted.
#[test]
fn an_import_without_exports_is_deleted() {
    let mut world = World::new();
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.settle();
    assert!(world.import().is_none());
}

/// HSI-2: of two live exports with different ports the older one wins (docs/design/rules.md#conflicts;
/// the original takes either); exports that are being deleted or of another Service do not count.
#[test]
fn the_oldest_export_decides() {
    let mut world = World::new();
    world.export("d", 79);
    world.delete_export("d");
    world.export("c", 80);
    world.export("a", 81);
    let other = |export: &mut Value| {
        export["spec"]["serviceReference"]["name"] = json!("other");
        export["spec"]["serviceReference"]["namespacedName"] = json!("team/other");
    };
    world.export("b", 78);
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("b"), other).unwrap();
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.settle();
    assert_eq!(world.clusters(), ["c"]);
    assert_eq!(world.import().unwrap()["status"]["ports"], port(80));
    assert_eq!((world.conflict("a"), world.conflict("c")), ("True", "False"));
    assert_eq!(world.conflict("b"), "none", "of another Service");
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("d")));
}

/// HSI-3: a single export that was in conflict is resolved.
#[test]
fn a_lone_export_marked_as_conflicting_is_resolved() {
    let mut world = World::new();
    world.export("c", 80);
    world.export("a", 81);
    world.settle();
    world.delete_export("c");
    world.settle();
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!(world.conflict("a"), "False");
    assert_eq!(world.import().unwrap()["status"]["ports"], port(81));
}

/// HSI-4: an import whose only export is being deleted is deleted.
#[test]
fn an_import_whose_only_export_is_deleted_is_deleted() {
    let mut world = World::new();
    world.export("a", 80);
    world.delete_export("a");
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.settle();
    assert!(world.import().is_none());
    assert!(!world.exists(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")));
}

/// HSI-5: an export without the hub's finalizer. The original deletes the import and creates it again
/// once its other controller has added the finalizer; here the export gets it before it counts.
#[test]
fn an_export_gets_the_hubs_finalizer_before_it_counts() {
    let mut world = World::new();
    world.export("a", 80);
    let bare = |export: &mut Value| export["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a"), bare).unwrap();
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), json!({})).unwrap();
    world.settle_watched(|world| {
        let export = world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a")).unwrap();
        let guarded = export["metadata"]["finalizers"][0] == finalizers::INTERNAL_SERVICE_EXPORT;
        assert!(guarded || world.clusters().is_empty());
        assert!(world.import().is_some(), "the import is not made twice");
    });
    assert_eq!(world.clusters(), ["a"]);
}

#[test]
fn an_import_owned_by_a_multi_cluster_service_is_left_alone() {
    let mut world = World::new();
    let owner = json!([{ "apiVersion": "networking.fleet.azure.com/v1alpha1",
        "kind": "MultiClusterService", "name": "shop", "uid": "u", "controller": true }]);
    let object = json!({ "metadata": { "ownerReferences": owner } });
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), object).unwrap();
    world.settle();
    assert!(world.import().is_some());
}

/// Users can add owners to a ServiceImport of the hub: they are taken off, and what they name is no reason to ignore it.
#[test]
fn an_owner_that_a_user_adds_is_taken_off() {
    for (kind, controller) in [("Deployment", true), ("Deployment", false)] {
        let mut world = World::shared();
        let owners = json!([{ "apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "u",
            "controller": controller }]);
        let adopt = |import: &mut Value| import["metadata"]["ownerReferences"] = owners;
        world.hub.edit(kinds::SERVICE_IMPORT, &shop(), adopt).unwrap();
        let plan = world.plan();
        assert_eq!(plan.steps.len(), 1, "one write: {plan:#?}");
        world.export("c", 80);
        world.request("d");
        world.settle();
        assert_eq!(world.import().unwrap()["metadata"]["ownerReferences"], Value::Null);
        assert_eq!(world.clusters(), ["a", "c"]);
        assert_eq!(world.granted(), ["b", "d"]);
    }
}

/// A ServiceImport with the hub's claim is the hub's, whatever its owner: the garbage collector deletes it where the owner
/// does not exist, and it comes back.
#[test]
fn a_false_multi_cluster_service_does_not_hide_a_claimed_import() {
    let mut world = World::shared();
    let owners = json!([{ "apiVersion": "networking.fleet.azure.com/v1alpha1",
        "kind": "MultiClusterService", "name": "x", "uid": "u", "controller": true }]);
    let adopt = |import: &mut Value| import["metadata"]["ownerReferences"] = owners;
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), adopt).unwrap();
    world.export("c", 80);
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
    world.delete(kinds::SERVICE_IMPORT, &shop());
    world.settle();
    assert_eq!(world.import().unwrap()["metadata"]["ownerReferences"], Value::Null);
    assert_eq!((world.clusters(), world.granted()), (vec!["a", "c"], vec!["b".to_owned()]));
}

#[test]
fn an_export_into_a_missing_namespace_waits_and_is_reported() {
    let mut world = World::new();
    world.export("a", 80);
    world.delete(kinds::NAMESPACE, &ObjectName::cluster("team"));
    let plan = world.plan();
    assert!(plan.steps.is_empty(), "{plan:#?}");
    assert_eq!(plan.debounced.len(), 1);
    assert!(format!("{:?}", plan.debounced[0].step).contains("namespace team does not exist"));
    world.hub.create(kinds::NAMESPACE, &ObjectName::cluster("team"), json!({})).unwrap();
    world.settle();
    assert_eq!(world.conflict("a"), "False");
}
