//! The EndpointSliceExports of a Service that one or both APIs export.

use fleet_accumulator::{SourceState, View};
use fleet_api::{ObjectName, finalizers, kinds, labels};
use fleet_model::hub_schema::HubSchema;
use serde_json::{Value, json};

use super::world::{World, condition, service, web};
use crate::settings::MulticlusterMode;

/// A member with endpoints that exports the Service through the standard API.
fn exported() -> World {
    let mut world = World::new();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.add_slice();
    world.export();
    world.settle();
    world.resolve(&json!([]));
    world.settle();
    world.rest();
    world
}

/// The only copy of its slice on the hub.
fn copy(world: &World) -> Option<&Value> {
    let mut copies = world.hub.objects(kinds::ENDPOINT_SLICE_EXPORT);
    let first = copies.next().map(|(_, copy)| copy);
    assert!(copies.next().is_none(), "one slice has one copy");
    first
}

fn label(world: &World) -> Option<&str> {
    copy(world)?["metadata"]["labels"][labels::MULTICLUSTER_NAMESPACE].as_str()
}

/// The fleet's own ServiceExport, accepted by the hub.
fn export_to_fleet(world: &mut World) {
    world.add(kinds::SERVICE_EXPORT, &web(), json!({}));
    world.settle();
    let name = ObjectName::new("fleet-member-a", "shop-web");
    let accepted = condition("Conflict", "False", "NoConflictFound", "");
    let accept = |object: &mut Value| object["status"] = json!({ "conditions": [accepted] });
    world.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &name, accept).unwrap();
    world.settle();
}

#[test]
fn slices_follow_the_answer_of_the_hub() {
    let mut world = World::new();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.add_slice();
    world.export();
    world.settle();
    assert!(copy(&world).is_none(), "the hub does not list the cluster yet");
    world.resolve(&json!([]));
    world.settle();
    let copy = copy(&world).unwrap();
    assert_eq!(copy["metadata"]["labels"], json!({ (labels::MULTICLUSTER_NAMESPACE): "shop" }));
    assert!(copy["metadata"].get("finalizers").is_none(), "no hub agent copies it");
    let endpoints = json!([
        { "addresses": ["10.1.0.1"], "hostname": "web-0", "zone": "east-1" },
        { "addresses": ["10.1.0.2"], "zone": "east-2" },
    ]);
    assert_eq!(copy["spec"]["endpoints"], endpoints);
}

/// A process that begins to lead has not listed ServiceExports yet, and sees them as they were.
#[test]
fn slices_stay_until_their_export_is_withdrawn() {
    let mut world = exported();
    let deletes = |world: &World| {
        let unseen =
            crate::snapshot::MemberSnapshot { standard_exports: View::of([]), ..world.snapshot() };
        let plan = crate::export::plan(&world.settings, &web(), &unseen, world.own.now());
        plan.steps.iter().any(|step| step.kind == kinds::ENDPOINT_SLICE_EXPORT)
    };
    assert!(!deletes(&world), "the hub has its export");
    for name in world.hub.names(kinds::EXPORTED_SERVICE) {
        world
            .hub
            .edit(kinds::EXPORTED_SERVICE, &name, |it| it["metadata"]["finalizers"] = json!([]))
            .unwrap();
        world.hub.delete(kinds::EXPORTED_SERVICE, &name).unwrap();
    }
    assert!(deletes(&world));
}

/// A hub with the original's definitions prunes them, and an agent that insisted would write for ever.
#[test]
fn details_are_sent_where_the_hub_stores_them() {
    for known in [None, Some(HubSchema::ORIGINAL)] {
        let mut world = World::new();
        world.schema = known;
        world.add(kinds::SERVICE, &web(), service(&json!({})));
        world.add_slice();
        world.export();
        world.settle();
        world.resolve(&json!([]));
        world.settle();
        let endpoints = json!([{ "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"] }]);
        assert_eq!(copy(&world).unwrap()["spec"]["endpoints"], endpoints);
    }
}

/// An agent that has just started does not know yet what the hub serves.
#[test]
fn details_stay_while_it_is_unknown_what_the_hub_stores() {
    let mut world = exported();
    world.schema = None;
    assert!(world.slices().is_empty(), "{:#?}", world.slices());
}

#[test]
fn an_endpoint_change_is_one_write() {
    let mut world = exported();
    let move_zone = |slice: &mut Value| slice["endpoints"][1]["zone"] = json!("east-3");
    world.own.edit(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), move_zone).unwrap();
    world.settle();
    assert_eq!(world.writes().len(), 1);
    assert!(world.plan().is_empty() && world.slices().is_empty());
}

/// The fleet comes and goes: one slice, of which label and details are those of the standard API.
#[test]
fn both_apis_share_the_slices() {
    let mut world = exported();
    export_to_fleet(&mut world);
    assert_eq!(label(&world), Some("shop"));
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert_eq!(label(&world), None);
    assert!(copy(&world).unwrap()["spec"]["endpoints"][0].get("hostname").is_none());
    world.export();
    world.resolve(&json!([]));
    world.settle();
    world.resolve(&json!([]));
    world.settle();
    assert_eq!(label(&world), Some("shop"));
    world.own.delete(kinds::SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert_eq!(label(&world), Some("shop"), "the standard API goes on");
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.settle();
    assert!(copy(&world).is_none());
}

/// A Service that the fleet exports has slices on the hub, which get the label in one write each.
#[test]
fn slices_of_the_fleet_are_labelled() {
    let mut world = World::new();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.add_slice();
    export_to_fleet(&mut world);
    let held = json!([finalizers::ENDPOINT_SLICE_EXPORT]);
    assert_eq!(copy(&world).unwrap()["metadata"]["finalizers"], held);
    assert_eq!(label(&world), None);
    world.export();
    world.settle();
    assert_eq!(label(&world), None, "the hub does not list the cluster yet");
    world.resolve(&json!([]));
    world.settle();
    assert_eq!(label(&world), Some("shop"));
    assert_eq!(copy(&world).unwrap()["metadata"]["finalizers"], held);
}

/// What the standard API has exported stays while the hub does not list the cluster, as after a restore of an older state.
#[test]
fn what_travels_goes_on_while_the_hub_is_undecided() {
    let mut world = exported();
    world.hub.delete(kinds::RESOLVED_SERVICE, &super::world::in_force()).unwrap();
    world.settle();
    assert_eq!(label(&world), Some("shop"));
    let grow = |slice: &mut Value| {
        slice["endpoints"].as_array_mut().unwrap().push(json!({ "addresses": ["10.1.0.3"] }));
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), grow).unwrap();
    world.settle();
    assert_eq!(copy(&world).unwrap()["spec"]["endpoints"].as_array().unwrap().len(), 3);
    let other = json!({
        "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.9"] }], "ports": [],
    });
    world.add(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x2"), other);
    world.settle();
    assert!(copy(&world).is_some(), "nothing new starts");
}

/// While it is not known what the standard API exports, the fleet withdraws what is its own.
#[test]
fn the_fleet_does_not_wait_for_the_standard_api() {
    let mut world = World::new();
    world.add(kinds::SERVICE, &web(), service(&json!({})));
    world.add_slice();
    export_to_fleet(&mut world);
    world.own.delete(kinds::SERVICE_EXPORT, &web()).unwrap();
    let unknown = crate::snapshot::MemberSnapshot {
        standard_exports: fleet_accumulator::View::default(),
        ..world.snapshot()
    };
    let plan = crate::export::plan(&world.settings, &web(), &unknown, world.own.now());
    let deletes = |kind| plan.steps.iter().any(|step| step.kind == kind);
    assert!(deletes(kinds::ENDPOINT_SLICE_EXPORT) && deletes(kinds::SERVICE_EXPORT), "{plan:#?}");
}

/// Imported slices never leave again, those of other implementations included.
#[test]
fn slices_of_the_clusterset_are_not_exported() {
    let mut world = exported();
    let slice = json!({
        "metadata": { "labels": {
            "kubernetes.io/service-name": "web", (labels::MULTICLUSTER_SERVICE_NAME): "web",
        } },
        "addressType": "IPv4", "endpoints": [{ "addresses": ["10.9.0.1"] }], "ports": [],
    });
    world.add(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-b"), slice);
    world.rest();
    world.settle();
    assert_eq!(world.writes(), []);
}

/// What was exported is no outage when the API is switched off, or where only the fleet's part is looked at: endpoints that end
/// leave the hub, nothing new gets there, and all of it goes when the member leaves.
#[test]
fn what_travels_stays_when_the_api_is_switched_off() {
    let mut world = exported();
    world.settings.multicluster.mode = MulticlusterMode::Off;
    assert!(world.slices().is_empty(), "{:#?}", world.slices());
    let shrink = |slice: &mut Value| slice["endpoints"].as_array_mut().unwrap().truncate(1);
    world.own.edit(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), shrink).unwrap();
    let other = json!({
        "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.9"] }], "ports": [],
    });
    world.add(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x2"), other);
    let plan = world.slices();
    world.execute(&plan);
    assert!(world.slices().is_empty());
    assert_eq!(label(&world), Some("shop"));
    let endpoints = json!([{ "addresses": ["10.1.0.1"], "hostname": "web-0", "zone": "east-1" }]);
    assert_eq!(copy(&world).unwrap()["spec"]["endpoints"], endpoints);

    let leaves = json!({ "spec": { "state": "Leave", "heartbeatPeriodSeconds": 60 } });
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &super::world::report(), leaves).unwrap();
    let plan = world.slices();
    world.execute(&plan);
    assert!(copy(&world).is_none());
}

/// A fleet that does not use the standard API writes what it always has, whether or not the API is served.
#[test]
fn the_fleet_writes_the_same_with_the_api_and_without() {
    let written = |mode| {
        let mut world = World::new();
        world.settings.multicluster.mode = mode;
        world.add(kinds::SERVICE, &web(), service(&json!({})));
        world.add_slice();
        world.rest();
        export_to_fleet(&mut world);
        let shrink = |slice: &mut Value| slice["endpoints"].as_array_mut().unwrap().truncate(1);
        world.own.edit(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), shrink).unwrap();
        world.settle();
        world.own.delete(kinds::SERVICE_EXPORT, &web()).unwrap();
        world.settle();
        let writes = world.writes();
        writes.iter().map(|write| format!("{} {}", write.verb, write.kind)).collect::<Vec<_>>()
    };
    let without = written(MulticlusterMode::Off);
    assert!(without.len() >= 7, "{without:?}");
    assert_eq!(written(MulticlusterMode::On), without);
}

/// One Pod runs in this cluster, one in "b", on the virtual node that stands for it.
fn on_virtual_node() -> World {
    let mut world = exported();
    world.settings.virtual_nodes.origin = true;
    let metadata = json!({ "labels": { labels::VIRTUAL_NODE: "true" } });
    world.add(kinds::NODE, &ObjectName::cluster("fleet-b"), json!({ "metadata": metadata }));
    let set = |slice: &mut Value| {
        slice["endpoints"][0]["nodeName"] = json!("fleet-c");
        slice["endpoints"][1]["nodeName"] = json!("fleet-b");
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), set).unwrap();
    world
}

fn executors(world: &World) -> Vec<Option<&str>> {
    let endpoints = copy(world).unwrap()["spec"]["endpoints"].as_array().unwrap().iter();
    endpoints.map(|endpoint| endpoint["executor"].as_str()).collect()
}

#[test]
fn endpoints_on_virtual_nodes_name_who_runs_them() {
    let mut world = on_virtual_node();
    world.settle();
    assert_eq!(executors(&world), [None, Some("b")], "c has no virtual node here");
    assert!(!copy(&world).unwrap().to_string().contains("fleet-b"), "names of Nodes do not cross");
    world.rest();
    // The Pods of a cluster that no longer takes part in that run where they are exported.
    world.settings.virtual_nodes.origin = false;
    world.settle();
    assert_eq!(executors(&world), [None, None]);
}

/// A hub of an earlier release prunes them, and an agent that insisted would write for ever.
#[test]
fn executors_are_sent_where_the_hub_stores_them() {
    let mut world = on_virtual_node();
    world.schema = Some(HubSchema { executors: false, ..HubSchema::OURS });
    world.settle();
    assert_eq!(executors(&world), [None, None]);
    world.rest();
    world.schema = Some(HubSchema::OURS);
    world.settle();
    world.schema = None;
    world.settle();
    assert_eq!(executors(&world), [None, Some("b")], "what is carried proves that it can be");
}

#[test]
fn what_is_carried_stays_until_virtual_nodes_are_known() {
    let mut world = on_virtual_node();
    world.settle();
    world.rest();
    let mut snapshot = world.snapshot();
    snapshot.virtual_node_objects = View::default().in_state(SourceState::Pending);
    let plan = crate::export::plan(&world.settings, &web(), &snapshot, world.own.now());
    assert!(plan.steps.is_empty(), "{plan:#?}");
}
