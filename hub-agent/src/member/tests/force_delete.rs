//! Members whose MemberCluster is deleted and that do not leave.

use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, SourceState};
use fleet_api::{ObjectName, ResourceKind, finalizers, kinds};
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, Plan, affected_keys};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::member::{Member, MemberController};
use crate::service::ServiceController;
use crate::snapshot::HubSnapshot;
use crate::tests::observed;

const MINUTE: i64 = 60;

fn member_b() -> Member {
    Member("b".into())
}

fn in_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{member}"), name)
}

/// "a" and "b" export "team/shop" with a slice each, and both import it.
struct World {
    hub: ModelServer,
    controller: MemberController,
    /// When the agent observed the last heartbeat of "b".
    heartbeat: Option<Timestamp>,
}

fn reference(member: &str, kind: &str, name: &str) -> Value {
    json!({ "clusterId": member, "kind": kind, "namespace": "team", "name": name,
        "namespacedName": format!("team/{name}"), "resourceVersion": "1", "generation": 1,
        "uid": format!("{member}-{name}") })
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            hub: ModelServer::new(ClusterId::Hub),
            controller: MemberController::default(),
            heartbeat: None,
        };
        let team = ObjectName::cluster("team");
        world.hub.create(kinds::NAMESPACE, &team, json!({})).unwrap();
        for member in ["a", "b"] {
            world.join(member);
        }
        world.settle();
        world
    }

    fn join(&mut self, member: &str) {
        let namespace = ObjectName::cluster(format!("fleet-member-{member}"));
        self.hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        let cluster = json!({ "metadata": { "finalizers": ["kubefleet/hold"] } });
        self.hub.create(kinds::MEMBER_CLUSTER, &ObjectName::cluster(member), cluster).unwrap();
        let mut make = |kind: ResourceKind, name: &str, finalizer: &str, spec: Value| {
            let object = json!({ "metadata": { "finalizers": [finalizer] }, "spec": spec });
            self.hub.create(kind, &in_member(member, name), object).unwrap();
        };
        make(
            kinds::INTERNAL_SERVICE_EXPORT,
            "team-shop",
            finalizers::INTERNAL_SERVICE_EXPORT,
            json!({ "ports": [{ "port": 80 }], "serviceReference": reference(member, "Service", "shop") }),
        );
        make(
            kinds::INTERNAL_SERVICE_IMPORT,
            "team-shop",
            finalizers::INTERNAL_SERVICE_IMPORT,
            json!({ "serviceImportReference": reference(member, "ServiceImport", "shop") }),
        );
        make(
            kinds::ENDPOINT_SLICE_EXPORT,
            &format!("{member}-s"),
            finalizers::ENDPOINT_SLICE_EXPORT,
            json!({ "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }],
                "endpointSliceReference": reference(member, "EndpointSlice", "s"),
                "ownerServiceReference":
                    { "namespace": "team", "name": "shop", "namespacedName": "team/shop" } }),
        );
    }

    fn snapshot(&self) -> HubSnapshot {
        observed(snapshot(&[&self.hub], None), |_| self.heartbeat)
    }

    /// "b" has joined, and sends a heartbeat now.
    fn send_heartbeat(&mut self) {
        let name = in_member("b", "b");
        if self.hub.get(kinds::INTERNAL_MEMBER_CLUSTER, &name).is_none() {
            let spec = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 } });
            self.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &name, spec).unwrap();
        }
        let now = self.hub.now();
        let joined = json!({ "type": "Joined", "status": "True", "reason": "x", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let report = json!({ "type": "ServiceExportImportAgent",
            "lastReceivedHeartbeat": now.to_string(), "conditions": [joined] });
        let write = |object: &mut Value| object["status"] = json!({ "agentStatus": [report] });
        self.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &name, write).unwrap();
        self.heartbeat = Some(now);
    }

    fn plan(&self) -> Plan {
        self.controller.plan(&member_b(), &self.snapshot(), self.hub.now())
    }

    /// An administrator deletes the MemberCluster of "b".
    fn delete_member(&mut self) {
        self.hub.delete(kinds::MEMBER_CLUSTER, &ObjectName::cluster("b")).unwrap();
    }

    /// Deletes the namespace with its content, as KubeFleet and the API server do; it ends once it is empty.
    fn delete_namespace(&mut self) {
        let namespace = ObjectName::cluster("fleet-member-b");
        let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["kubernetes"]);
        self.hub.edit(kinds::NAMESPACE, &namespace, hold).unwrap();
        self.hub.delete(kinds::NAMESPACE, &namespace).unwrap();
        for (kind, name) in self.left() {
            self.hub.delete(kind, &name).unwrap();
        }
    }

    /// What is in the namespace of "b".
    fn left(&self) -> Vec<(ResourceKind, ObjectName)> {
        let kinds = [
            kinds::INTERNAL_SERVICE_EXPORT,
            kinds::INTERNAL_SERVICE_IMPORT,
            kinds::ENDPOINT_SLICE_EXPORT,
            kinds::ENDPOINT_SLICE_IMPORT,
        ];
        let all = kinds
            .into_iter()
            .flat_map(|kind| self.hub.names(kind).into_iter().map(move |name| (kind, name)));
        all.filter(|(_, name)| &*name.namespace == "fleet-member-b").collect()
    }

    /// Executes the plans of both controllers until they are empty.
    fn settle(&mut self) {
        for _ in 0..30 {
            let snapshot = self.snapshot();
            let mut plans = plans(&ServiceController::default(), &snapshot, &self.hub);
            plans.extend(plans_of(&self.controller, &snapshot, &self.hub));
            plans.retain(|plan| !plan.steps.is_empty());
            if plans.is_empty() {
                return;
            }
            for plan in plans {
                execute(&plan, &mut [&mut self.hub]);
            }
        }
        panic!("no rest");
    }

    fn copies(&self, member: &str) -> Vec<Value> {
        let names = self.hub.names(kinds::ENDPOINT_SLICE_IMPORT).into_iter();
        let names = names.filter(|name| *name.namespace == format!("fleet-member-{member}"));
        names
            .map(|name| self.hub.get(kinds::ENDPOINT_SLICE_IMPORT, &name).unwrap().clone())
            .collect()
    }
}

fn plans(controller: &ServiceController, snapshot: &HubSnapshot, hub: &ModelServer) -> Vec<Plan> {
    plans_of(controller, snapshot, hub)
}

fn plans_of<R: Controller<Snapshot = HubSnapshot>>(
    controller: &R,
    snapshot: &HubSnapshot,
    hub: &ModelServer,
) -> Vec<Plan> {
    let keys = affected_keys(controller, &HubSnapshot::default(), snapshot);
    keys.iter().map(|key| controller.plan(key, snapshot, hub.now()).unmeasured()).collect()
}

/// HMC-1: there is no such `MemberCluster`. Nothing is released: it may not be listed yet, or the kind not served.
#[test]
fn an_absent_member_cluster_releases_nothing() {
    let mut world = World::new();
    let free = |cluster: &mut Value| cluster["metadata"]["finalizers"] = json!([]);
    world.hub.edit(kinds::MEMBER_CLUSTER, &ObjectName::cluster("b"), free).unwrap();
    world.delete_member();
    assert!(world.hub.get(kinds::MEMBER_CLUSTER, &ObjectName::cluster("b")).is_none());
    world.hub.advance(60 * MINUTE);
    assert_eq!(world.plan(), Plan::default());
}

/// HMC-2: the `MemberCluster` cannot be read. Where the original returns the error, nothing is released on a view
/// that is not live, and a view that becomes live affects the members that leave.
#[test]
fn a_deletion_counts_only_in_a_live_view() {
    let mut world = World::new();
    world.delete_member();
    world.delete_namespace();
    world.hub.advance(60 * MINUTE);
    assert!(!world.plan().is_empty());
    let since = Instant::now();
    let message: std::sync::Arc<str> = "refused".into();
    for state in [
        SourceState::Resyncing,
        SourceState::Stale { since, message: message.clone() },
        SourceState::Forbidden { since, verb: "watch", message },
        SourceState::Missing { since },
    ] {
        let live = world.snapshot();
        let mut dead = live.clone();
        dead.member_clusters = dead.member_clusters.in_state(state.clone());
        let plan = world.controller.plan(&member_b(), &dead, world.hub.now());
        assert_eq!(plan, Plan::default(), "{state}");
        let affected = affected_keys(&world.controller, &dead, &live);
        assert_eq!(affected, [member_b()].into(), "{state}");
    }
}

/// HMC-3: nothing is planned for a member that stays.
#[test]
fn a_member_whose_cluster_is_not_deleted_keeps_its_finalizers() {
    let mut world = World::new();
    world.hub.advance(60 * MINUTE);
    assert_eq!(world.plan(), Plan::default());
    // Changes of its copies do not affect its key either.
    let old = world.snapshot();
    let change = |copy: &mut Value| copy["spec"]["endpoints"] = json!([]);
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s"), change).unwrap();
    let new = HubSnapshot { slice_imports: world.hub.view(None), ..old.clone() };
    assert_eq!(affected_keys(&world.controller, &old, &new), [].into());
}

/// HMC-4: a member has time to leave; it is planned again when that is over.
#[test]
fn a_member_has_time_to_leave() {
    let mut world = World::new();
    world.delete_member();
    world.hub.advance(5 * MINUTE);
    let plan = world.plan();
    assert!(plan.steps.is_empty());
    assert_eq!(plan.wake_after, Some(Duration::from_mins(10)));
}

/// HMC-5: time is up: every copy in its namespace that is being deleted loses the member's finalizer and no other (the
/// original removes all finalizers of all copies, F42). Nothing is deleted here.
#[test]
fn slices_of_a_member_that_does_not_leave_in_time_are_released() {
    let mut world = World::new();
    let hold = |copy: &mut Value| {
        copy["metadata"]["finalizers"] = json!(["their/own", finalizers::ENDPOINT_SLICE_IMPORT]);
    };
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s"), hold).unwrap();
    world.delete_member();
    world.delete_namespace();
    world.hub.advance(15 * MINUTE);
    let plan = world.plan();
    assert_eq!((plan.steps.len(), plan.wake_after), (2, None));
    assert_eq!(plan.events[0].reason, "MemberForceDeleted");
    world.settle();
    let left: Vec<_> =
        world.copies("b").iter().map(|copy| copy["metadata"]["finalizers"].clone()).collect();
    assert_eq!(left, [json!(["their/own"])], "the other one is gone");
    let others = &world.copies("a")[0]["metadata"]["finalizers"];
    assert_eq!(others, &json!([finalizers::ENDPOINT_SLICE_IMPORT]), "those of other members stay");
    assert_eq!(world.plan(), Plan::default(), "done once");
}

/// A member agent that works adds its finalizer again to a copy that is not being deleted.
#[test]
fn slices_that_are_not_being_deleted_keep_their_finalizers() {
    let mut world = World::new();
    world.delete_member();
    world.hub.advance(60 * MINUTE);
    assert_eq!(world.plan(), Plan::default());
    let (old, copy) = (world.snapshot(), in_member("b", "a-s"));
    world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy).unwrap();
    let affected = affected_keys(&world.controller, &old, &world.snapshot());
    assert_eq!(affected, [member_b()].into());
    let plan = world.plan();
    assert_eq!(plan.steps.iter().map(|step| &step.name).collect::<Vec<_>>(), [&copy]);
}

/// The agent of a member that sends heartbeats removes its finalizers itself, once the endpoints are gone from its cluster.
#[test]
fn a_member_that_sends_heartbeats_is_not_released() {
    let mut world = World::new();
    world.send_heartbeat();
    world.delete_member();
    world.delete_namespace();
    world.hub.advance(60 * MINUTE);
    world.send_heartbeat();
    let old = world.snapshot();
    let plan = world.plan();
    assert_eq!((plan.steps.len(), plan.wake_after), (0, Some(Duration::from_mins(5))));
    assert_eq!(plan.events[0].reason, "MemberNotLeft");
    world.hub.advance(5 * MINUTE - 1);
    world.send_heartbeat();
    let affected = affected_keys(&world.controller, &old, &world.snapshot());
    assert_eq!(affected, [member_b()].into());
    assert_eq!(world.plan().steps, []);
    world.hub.advance(5 * MINUTE);
    assert_eq!(world.plan().steps.len(), 2, "it is silent");

    // Heartbeats may have come that a stale view does not show; where they cannot be read, there are none.
    let (since, message) = (Instant::now(), "refused");
    for (state, released) in [
        (SourceState::Stale { since, message: message.into() }, 0),
        (SourceState::Resyncing, 0),
        (SourceState::Missing { since }, 2),
        (SourceState::Forbidden { since, verb: "list", message: message.into() }, 2),
    ] {
        let live = world.snapshot();
        let mut other = live.clone();
        other.internal_members = other.internal_members.in_state(state.clone());
        let plan = world.controller.plan(&member_b(), &other, world.hub.now());
        assert_eq!(plan.steps.len(), released, "{state}");
        assert_eq!(affected_keys(&world.controller, &other, &live), [member_b()].into());
    }
}

/// HMC-6: a write fails: the others succeed, and the next plan has the missing one.
#[test]
fn a_write_that_fails_is_planned_again() {
    let mut world = World::new();
    world.delete_member();
    world.delete_namespace();
    world.hub.advance(15 * MINUTE);
    let plan = world.plan();
    let change = |copy: &mut Value| copy["metadata"]["labels"] = json!({ "a": "b" });
    world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &in_member("b", "a-s"), change).unwrap();
    assert_eq!(execute(&plan, &mut [&mut world.hub]).len(), 1);
    assert_eq!(world.plan().steps.len(), 1);
    world.settle();
    assert_eq!(world.plan(), Plan::default());
}

/// F42: a member is lost and its namespace is deleted: none of its objects stay, and the other members lose its
/// endpoints and keep their own. The controller of the Services releases objects with the hub's finalizers.
#[test]
fn the_namespace_of_a_lost_member_empties() {
    let mut world = World::new();
    world.delete_member();
    world.delete_namespace();
    world.settle();
    let held: Vec<_> = world.left().into_iter().map(|(kind, _)| kind.kind).collect();
    assert_eq!(held, ["EndpointSliceImport"; 2], "before the time is up its agent may still come");
    world.hub.advance(15 * MINUTE);
    world.settle();
    assert_eq!(world.left(), []);
    let other = world.copies("a");
    let live: Vec<_> =
        other.iter().filter(|copy| copy["metadata"]["deletionTimestamp"].is_null()).collect();
    assert_eq!(live.len(), 1);
    assert_eq!(live[0]["metadata"]["name"], "a-s");
    let import = world.hub.get(kinds::SERVICE_IMPORT, &ObjectName::new("team", "shop")).unwrap();
    assert_eq!(import["status"]["clusters"], json!([{ "cluster": "a" }]));
}

/// L6: a member that joins again under the same name is not released at once.
#[test]
fn a_new_member_of_the_same_name_is_not_released() {
    let mut world = World::new();
    world.delete_member();
    world.delete_namespace();
    world.hub.advance(15 * MINUTE);
    world.settle();
    for (kind, name) in [(kinds::MEMBER_CLUSTER, "b"), (kinds::NAMESPACE, "fleet-member-b")] {
        let free = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        world.hub.edit(kind, &ObjectName::cluster(name), free).unwrap();
    }
    world.join("b");
    world.settle();
    assert_eq!(world.plan(), Plan::default());
    let held = world.copies("b").into_iter().map(|copy| copy["metadata"]["finalizers"].clone());
    assert_eq!(held.collect::<Vec<_>>(), vec![json!([finalizers::ENDPOINT_SLICE_IMPORT]); 2]);
}
