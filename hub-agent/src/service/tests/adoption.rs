//! This controller adopts the objects of Go agents, and its objects are what Go agents expect.

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use fleet_plan::{Action, Step};
use serde_json::{Value, json};

use super::world::{World, in_member, of_shop, port, reference, shop};

/// What a Go fleet has for "team/shop": "c" and then "a" export it, "d" exports other ports, "b" holds
/// the import.
fn go_fleet() -> World {
    let mut world = World::new();
    let condition = |status: &str, reason: &str, message: &str| {
        json!({ "conditions": [{ "type": "Conflict", "status": status, "reason": reason,
            "message": message, "observedGeneration": 1,
            "lastTransitionTime": "2025-06-01T10:00:00Z" }] })
    };
    for (member, number) in [("c", 80), ("a", 80), ("d", 81)] {
        world.export(member, number);
        let (status, reason, message) = match number {
            80 => {
                ("False", "NoConflictFound", "service team/shop is exported without conflict (Go)")
            }
            _ => ("True", "ConflictFound", "service team/shop is in conflict with other exports"),
        };
        let write = |export: &mut Value| {
            let observed = annotations::LAST_OBSERVED_RESOURCE_VERSION;
            export["metadata"]["annotations"] = json!({ observed: "1" });
            export["status"] = condition(status, reason, message);
        };
        world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member), write).unwrap();
    }
    // Clusters in the order in which they joined.
    let status = json!({ "type": "ClusterSetIP", "ports": port(80),
        "clusters": [{ "cluster": "c" }, { "cluster": "a" }] });
    let claim = r#"{"MemberClusters":{"fleet-member-b":"b"}}"#;
    let import = json!({ "metadata": {
        "annotations": { annotations::SERVICE_IN_USE_BY: claim },
        "finalizers": [finalizers::SERVICE_IMPORT] } });
    world.hub.create(kinds::SERVICE_IMPORT, &shop(), import).unwrap();
    world
        .hub
        .edit(kinds::SERVICE_IMPORT, &shop(), |import| import["status"] = status.clone())
        .unwrap();
    world.request("b");
    let grant = |request: &mut Value| request["status"] = status.clone();
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"), grant).unwrap();
    for (member, address) in [("a", "10.1.0.1"), ("c", "10.3.0.1")] {
        go_slice(&mut world, member, address);
    }
    world
}

/// A slice with a random suffix in its name, and its copy.
fn go_slice(world: &mut World, member: &str, address: &str) {
    let name = format!("{member}-team-shop-x7k2p-1a2b3");
    let mut origin = reference(member, "EndpointSlice", "shop-x7k2p");
    origin["exportedSince"] = json!("2025-06-01T10:00:00Z");
    let spec = json!({
        "addressType": "IPv4", "endpoints": [{ "addresses": [address] }],
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
        "endpointSliceReference": origin,
        "ownerServiceReference": { "namespace": "team", "name": "shop", "namespacedName": "team/shop" },
    });
    let slice =
        json!({ "metadata": { "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT] }, "spec": spec });
    world.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &in_member(member, &name), slice).unwrap();
    let copy = json!({ "metadata": {
        "annotations": { annotations::LAST_OBSERVED_GENERATION: "1" },
        "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT] }, "spec": spec });
    world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", &name), copy).unwrap();
}

/// Only the message of the export in conflict is written: it has more details.
#[test]
fn objects_of_a_go_hub_are_adopted_with_one_write() {
    let mut world = go_fleet();
    world.hub.take_writes();
    world.settle();
    let writes: Vec<_> =
        world.hub.take_writes().into_iter().map(|write| (write.verb, write.name)).collect();
    assert_eq!(writes, [("patch_status", of_shop("d"))]);
    assert!(world.message("d").contains("cluster c, which has exported it since"));
}

/// The other direction: what a Go hub compares is as it would write it (docs/design/contract.md#wire).
#[test]
fn a_go_hub_finds_what_it_expects() {
    let mut world = World::shared();
    world.export("c", 80);
    world.export("d", 81);
    world.settle();
    let import = world.import().unwrap();
    let claim = &import["metadata"]["annotations"][annotations::SERVICE_IN_USE_BY];
    assert_eq!(claim, r#"{"MemberClusters":{"fleet-member-b":"b"}}"#);
    assert_eq!(import["metadata"]["finalizers"], json!([finalizers::SERVICE_IMPORT]));
    assert_eq!(world.status_of_request("b"), &import["status"]);
    for (member, number, status, reason) in [
        ("a", 80, "False", "NoConflictFound"),
        ("c", 80, "False", "NoConflictFound"),
        ("d", 81, "True", "ConflictFound"),
    ] {
        let export = world.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &of_shop(member)).unwrap();
        let condition = world.condition(member, "Conflict").unwrap();
        assert_eq!((&condition["status"], &condition["reason"]), (&json!(status), &json!(reason)));
        assert_eq!(condition["observedGeneration"], export["metadata"]["generation"]);
        let guarded = json!([finalizers::INTERNAL_SERVICE_EXPORT]);
        assert_eq!(export["metadata"]["finalizers"], guarded);
        // A Go hub compares whole lists in order, so the ports in force are the unchanged list of one exporter.
        let same = export["spec"]["ports"] == import["status"]["ports"];
        assert_eq!(same, number == 80, "{member}");
    }
    let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &in_member("a", "a-s1")).unwrap();
    let copy = world.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s1")).unwrap();
    assert_eq!(copy["spec"], slice["spec"]);
}

/// For a Go hub another order of ports is a conflict; here it is none, and the winner's list stays.
#[test]
fn an_order_of_ports_that_a_go_hub_rejected_is_accepted() {
    let mut world = World::new();
    let (one, two) = (
        json!({ "name": "a", "protocol": "TCP", "port": 1 }),
        json!({ "name": "b", "protocol": "TCP", "port": 2 }),
    );
    world.export_ports("a", json!([two, one]));
    world.settle();
    world.export_ports("c", json!([one, two]));
    let refuse = |export: &mut Value| {
        export["status"] = json!({ "conditions": [{ "type": "Conflict", "status": "True",
            "reason": "ConflictFound", "message": "in conflict", "observedGeneration": 1,
            "lastTransitionTime": "2025-06-01T10:00:00Z" }] });
    };
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), refuse).unwrap();
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
    assert_eq!(world.conflict("c"), "False");
    assert_eq!(world.import().unwrap()["status"]["ports"], json!([two, one]));
}

/// Go members create their objects without the hub's finalizers.
#[test]
fn objects_of_go_members_get_the_hubs_finalizers() {
    let mut world = World::new();
    world.export("a", 80);
    world.slice("a", "s1", "10.1.0.1");
    world.request("b");
    let bare = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    let objects = [
        (kinds::INTERNAL_SERVICE_EXPORT, of_shop("a"), finalizers::INTERNAL_SERVICE_EXPORT),
        (kinds::INTERNAL_SERVICE_IMPORT, of_shop("b"), finalizers::INTERNAL_SERVICE_IMPORT),
        (kinds::ENDPOINT_SLICE_EXPORT, in_member("a", "a-s1"), finalizers::ENDPOINT_SLICE_EXPORT),
    ];
    for (kind, name, _) in &objects {
        world.hub.edit(*kind, name, bare).unwrap();
    }
    world.settle();
    assert_eq!(world.copies(), ["fleet-member-b/a-s1"]);
    for (kind, name, finalizer) in &objects {
        let held: &ObjectName = name;
        let finalizers = &world.hub.get(*kind, held).unwrap()["metadata"]["finalizers"];
        assert_eq!(finalizers, &json!([finalizer]), "{}", kind.kind);
    }
}

/// A Go hub that ran in between has removed the finalizer of a slice without importers; it is added with the first
/// importer, not earlier.
#[test]
fn a_slice_without_finalizer_gets_it_when_it_is_imported() {
    let mut world = World::exported();
    let name = in_member("a", "a-s1");
    let bare = |slice: &mut Value| slice["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, bare).unwrap();
    assert!(world.plan().is_empty());
    world.request("b");
    world.settle();
    let slice = world.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    assert_eq!(slice["metadata"]["finalizers"], json!([finalizers::ENDPOINT_SLICE_EXPORT]));
}

/// Executes a plan on a hub that rejects every new finalizer, and all that waits for one.
fn without_guards(world: &mut World) {
    let plan = world.plan();
    let adds_finalizer = |step: &Step| match &step.action {
        Action::Patch { operations, status: false, .. } => {
            step.kind != kinds::SERVICE_IMPORT && operations[0]["op"] == "add"
        }
        _ => false,
    };
    let mut done = vec![false; plan.steps.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        if !adds_finalizer(step) && step.after.iter().all(|id| done[id.index()]) {
            done[at] = world.hub.execute(step).is_ok();
        }
    }
}

#[test]
fn an_export_is_listed_without_waiting_for_the_finalizer_of_another() {
    let mut world = World::shared();
    let bare = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    world.export("c", 80);
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), bare).unwrap();
    world.export("d", 80);
    // A user has removed the finalizer of one that is listed.
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("a"), bare).unwrap();
    without_guards(&mut world);
    assert_eq!(world.clusters(), ["a", "d"]);
    assert_eq!(world.condition("c", "Conflict"), None, "it is not listed yet");
    world.settle();
    assert_eq!(world.clusters(), ["a", "d", "c"]);
    assert_eq!(world.conflict("c"), "False");
}

/// Importers keep the endpoints of an export that the ServiceImport does not list any more until it has its finalizer.
#[test]
fn copies_stay_while_their_exporter_waits_to_be_listed() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s1", "10.3.0.1");
    world.settle();
    let before = world.copies();
    assert_eq!(before, ["fleet-member-b/a-s1", "fleet-member-b/c-s1"]);
    let bare = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("c"), bare).unwrap();
    let forget = |import: &mut Value| import["status"] = json!({});
    world.hub.edit(kinds::SERVICE_IMPORT, &shop(), forget).unwrap();
    for _ in 0..3 {
        without_guards(&mut world);
        assert_eq!(world.copies(), before);
    }
    assert_eq!(world.clusters(), ["a"]);
    world.settle();
    assert_eq!((world.clusters(), world.copies()), (vec!["a", "c"], before));
}

#[test]
fn a_member_imports_without_waiting_for_the_finalizer_of_another() {
    let mut world = World::shared();
    let bare = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    world.request("c");
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("c"), bare).unwrap();
    world.request("d");
    world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &of_shop("b"), bare).unwrap();
    for _ in 0..3 {
        without_guards(&mut world);
    }
    assert_eq!(world.holders(), ["b", "d"]);
    assert_eq!(world.granted(), ["b", "d"]);
    assert_eq!(world.copies(), ["fleet-member-b/a-s1", "fleet-member-d/a-s1"]);
    world.settle();
    assert_eq!(world.holders(), ["b", "c", "d"]);
    assert_eq!(world.granted(), ["b", "c", "d"]);
}
