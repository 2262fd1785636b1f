//! Leaving. What the other controllers do about it is shown with them, and in the simulation.

use std::time::Instant;

use fleet_accumulator::SourceState;
use fleet_api::{ObjectName, ResourceKind, annotations, finalizers, kinds, labels};
use fleet_plan::Action;
use serde_json::{Value, json};

use super::{AGENTS, World, report};
use crate::membership::plan;
use crate::phase::Phase;

const START: &str = "2026-01-01T00:00:00Z";
const LEFT: (&str, &str) = ("False", "AgentLeft");

impl World {
    fn phase(&self) -> Phase {
        Phase::of(&self.settings.identity, &self.snapshot())
    }

    fn on_hub(&mut self, kind: ResourceKind) -> ObjectName {
        let name = ObjectName::new("fleet-member-a", "team-shop");
        let reference = json!({
            "clusterId": "a", "kind": "Service", "namespace": "team", "name": "shop", "uid": "u1",
            "resourceVersion": "1", "generation": 1, "namespacedName": "team/shop",
        });
        let object = json!({ "metadata": { "finalizers": ["example.com/held"] }, "spec": {
            "serviceReference": reference, "serviceImportReference": reference,
            "endpointSliceReference": reference, "ownerServiceReference": reference,
            "addressType": "IPv4", "endpoints": [], "ports": [],
        } });
        self.hub.create(kind, &name, object).unwrap();
        name
    }
}

fn system(name: &str) -> ObjectName {
    ObjectName::new("fleet-system", name)
}

fn slice(metadata: &Value) -> Value {
    json!({ "metadata": metadata, "addressType": "IPv4", "endpoints": [] })
}

/// MIMC-3: reported for both agents; the heartbeat and others' reports stay as they are.
#[test]
fn a_member_of_which_nothing_is_left_reports_so() {
    let mut world = World::joined();
    let other = json!({ "type": "MemberAgent", "conditions": [{ "type": "Joined", "odd": 1 }] });
    world.edit(|object| {
        object["status"]["agentStatus"].as_array_mut().unwrap().insert(0, other.clone());
    });
    world.advance(100);
    world.tell("Leave");
    assert_eq!(world.phase(), Phase::Leaving);
    assert_eq!(world.settle(), 1);
    for agent in AGENTS {
        assert_eq!(*world.report(agent), report(agent, LEFT, 2, "2026-01-01T00:01:40Z", START));
    }
    assert_eq!(world.status()["agentStatus"][0], other);
    assert_eq!(world.phase(), Phase::Left);
    world.advance(1000);
    assert!(world.plan().is_empty() && world.plan().wake_after.is_none());
}

/// MIMC-5: asked to join again, the member reports it at once.
#[test]
fn a_member_that_left_joins_again() {
    let mut world = World::joined();
    world.tell("Leave");
    world.settle();
    world.advance(10);
    world.tell("Join");
    assert_eq!(world.phase(), Phase::Member);
    assert_eq!(world.settle(), 1);
    let since = "2026-01-01T00:00:10Z";
    for agent in AGENTS {
        assert_eq!(*world.report(agent), report(agent, ("True", "AgentJoined"), 3, since, since));
    }
}

/// MIMC-6: without networking features only the status moves, whatever is there; nothing is read.
#[test]
fn without_networking_it_leaves_at_once() {
    let mut world = World::joined();
    world.settings.networking = false;
    world.on_hub(kinds::INTERNAL_SERVICE_EXPORT);
    world.tell("Leave");
    let mut snapshot = world.snapshot();
    snapshot.service_exports = snapshot.service_exports.in_state(SourceState::Pending);
    let plan = plan(&world.settings, &snapshot, world.own.now());
    assert_eq!(plan.steps.len(), 1);
    world.settle();
    assert_eq!(*world.report(AGENTS[0]), report(AGENTS[0], LEFT, 2, START, START));
    assert_eq!(world.hub.names(kinds::INTERNAL_SERVICE_EXPORT).len(), 1);
}

#[test]
fn whatever_is_in_its_namespace_on_the_hub_holds_back_the_report() {
    for kind in [
        kinds::INTERNAL_SERVICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT,
        kinds::ENDPOINT_SLICE_EXPORT,
        kinds::ENDPOINT_SLICE_IMPORT,
    ] {
        let mut world = World::joined();
        let name = world.on_hub(kind);
        world.tell("Leave");
        assert_eq!(world.settle(), 0, "{}", kind.kind);
        // Going is not gone.
        world.hub.delete(kind, &name).unwrap();
        assert_eq!(world.settle(), 0, "{}", kind.kind);
        world.hub.edit(kind, &name, |object| object["metadata"]["finalizers"] = json!([])).unwrap();
        assert_eq!(world.settle(), 1, "{}", kind.kind);
        assert_eq!(world.phase(), Phase::Left);
    }
}

#[test]
fn whatever_is_in_its_own_cluster_holds_back_the_report() {
    let mine = json!({ "annotations": { annotations::MULTI_CLUSTER_SERVICE_UID: "u1" } });
    let bound = json!({ "annotations": { annotations::FLEET_SERVICE: "team/shop" } });
    let owner = json!({
        "apiVersion": "networking.fleet.azure.com/v1alpha1", "kind": "MultiClusterService",
        "name": "shop", "uid": "u1", "controller": true,
    });
    let import = json!({ "finalizers": [finalizers::SERVICE_IMPORT], "ownerReferences": [owner] });
    let team = |name| ObjectName::new("team", name);
    for (kind, name, object) in [
        (kinds::SERVICE_EXPORT, team("shop"), json!({})),
        (kinds::MULTI_CLUSTER_SERVICE, team("shop"), json!({ "spec": {} })),
        (kinds::SERVICE_IMPORT, team("shop"), json!({ "metadata": import })),
        (kinds::SERVICE, system("team-shop"), json!({ "metadata": mine, "spec": {} })),
        (kinds::ENDPOINT_SLICE, system("imported"), slice(&bound)),
    ] {
        let mut world = World::joined();
        world.own.create(kind, &name, object).unwrap();
        world.tell("Leave");
        assert_eq!(world.settle(), 0, "{}", kind.kind);
        world.own.edit(kind, &name, |object| object["metadata"]["finalizers"] = json!([])).unwrap();
        world.own.delete(kind, &name).unwrap();
        assert_eq!(world.settle(), 1, "{}", kind.kind);
    }
}

#[test]
fn what_is_not_ours_holds_back_nothing() {
    let mut world = World::joined();
    let labelled = json!({ "labels": { labels::MULTI_CLUSTER_SERVICE_NAME: "shop" } });
    let service = json!({ "metadata": labelled, "spec": {} });
    world.own.create(kinds::SERVICE, &system("of-a-user"), service).unwrap();
    world.own.create(kinds::ENDPOINT_SLICE, &system("of-a-user"), slice(&json!({}))).unwrap();
    // Those of a hub in the same cluster have no owner.
    let hubs = json!({ "metadata": { "finalizers": [finalizers::SERVICE_IMPORT] } });
    world.own.create(kinds::SERVICE_IMPORT, &ObjectName::new("team", "shop"), hubs).unwrap();
    world.tell("Leave");
    assert_eq!(world.settle(), 1);
    assert_eq!(world.phase(), Phase::Left);
}

/// A Go agent left it behind: nothing names the Service it was imported for.
#[test]
fn an_imported_slice_that_belongs_to_nothing_is_swept() {
    let mut world = World::joined();
    let stray = slice(&json!({ "labels": { labels::MANAGED_BY: labels::MANAGED_BY_IMPORT } }));
    world.own.create(kinds::ENDPOINT_SLICE, &system("stray"), stray.clone()).unwrap();
    assert_eq!(world.settle(), 0);
    world.tell("Leave");
    assert_eq!(world.settle(), 2);
    assert!(world.own.names(kinds::ENDPOINT_SLICE).is_empty());
    assert_eq!(world.phase(), Phase::Left);
}

#[test]
fn what_a_watch_does_not_show_may_be_there() {
    let mut world = World::joined();
    world.tell("Leave");
    let since = Instant::now();
    for state in [
        SourceState::Resyncing,
        SourceState::Stale { since, message: "no answer".into() },
        SourceState::Forbidden { since, verb: "list", message: "no".into() },
        SourceState::Missing { since },
    ] {
        let mut snapshot = world.snapshot();
        snapshot.slice_imports = snapshot.slice_imports.in_state(state.clone());
        assert!(plan(&world.settings, &snapshot, world.own.now()).is_empty(), "{state}");
        let mut snapshot = world.snapshot();
        snapshot.multi_cluster_services = snapshot.multi_cluster_services.in_state(state.clone());
        assert!(plan(&world.settings, &snapshot, world.own.now()).is_empty(), "{state}");
    }
}

/// The watch may be behind: the report waits for the hub's own word, and 401 and 403 are none.
#[test]
fn the_report_waits_for_four_consistent_reads() {
    let mut world = World::joined();
    world.tell("Leave");
    let late = world.plan();
    let reads: Vec<_> =
        late.steps.iter().filter(|step| step.action == Action::ConfirmAbsent).collect();
    assert_eq!((reads.len(), late.steps.len()), (4, 5));
    assert_eq!(late.steps[4].after.len(), 4);
    world.on_hub(kinds::ENDPOINT_SLICE_IMPORT);
    let refused = fleet_model_server::execute(&late, &mut [&mut world.own, &mut world.hub]);
    assert_eq!(refused.len(), 1);
    assert_eq!(world.phase(), Phase::Leaving);
}

/// Once it has left, objects of users may wait; one with this agent's finalizer still has to be released before the
/// report is made for a newer version of the object.
#[test]
fn a_newer_version_is_reported_for_when_nothing_of_ours_is_held() {
    let mut world = World::joined();
    world.tell("Leave");
    world.settle();
    let shop = ObjectName::new("team", "shop");
    let held = json!({ "metadata": { "finalizers": [finalizers::SERVICE_EXPORT] } });
    world.own.create(kinds::SERVICE_EXPORT, &shop, held).unwrap();
    world.edit(|object| object["spec"]["heartbeatPeriodSeconds"] = json!(30));
    assert_eq!(world.phase(), Phase::Left);
    assert_eq!(world.settle(), 0);
    let let_go = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    world.own.edit(kinds::SERVICE_EXPORT, &shop, let_go).unwrap();
    assert_eq!(world.settle(), 1);
    assert_eq!(*world.report(AGENTS[0]), report(AGENTS[0], LEFT, 3, START, START));
}
