//! A member that is asked to leave asks back where much would be deleted.

use fleet_api::{ObjectName, annotations, kinds, labels};
use serde_json::{Value, json};

use super::{AGENTS, World, membership};
use crate::phase::{Losses, Phase, unconfirmed};
use crate::snapshot::MemberSnapshot;

/// What may go without a confirmation.
const LITTLE: usize = 20;

impl World {
    /// A member of a hub agent that answers ClusterReports, with so many ServiceExports, asked to leave.
    fn asked_to_leave(exports: usize) -> Self {
        let mut world = Self::joined();
        world.record();
        for number in 0..exports {
            let name = ObjectName::new("team", format!("shop-{number}"));
            world.own.create(kinds::SERVICE_EXPORT, &name, json!({})).unwrap();
        }
        world.settle();
        world.tell("Leave");
        world
    }

    fn record(&mut self) {
        let report = json!({ "spec": { "clusterUid": "c" } });
        self.hub.create(kinds::CLUSTER_REPORT, &membership(), report).unwrap();
        let answer = |report: &mut Value| report["status"] = json!({ "incarnation": "h/0" });
        self.hub.edit(kinds::CLUSTER_REPORT, &membership(), answer).unwrap();
    }

    fn confirm(&mut self, generation: &str) {
        self.edit(|object| {
            object["metadata"]["annotations"] = json!({ annotations::CONFIRM_LEAVE: generation });
        });
    }

    fn is(&self) -> Phase {
        Phase::of(&self.settings.identity, &self.snapshot())
    }

    /// Status, message and generation of the condition that asks.
    fn question(&self) -> Option<(String, String, i64)> {
        let conditions = self.report(AGENTS[0])["conditions"].as_array().unwrap();
        let asks = conditions.iter().find(|condition| condition["type"] == "LeaveConfirmed")?;
        let text = |field: &str| asks[field].as_str().unwrap().to_owned();
        Some((text("status"), text("message"), asks["observedGeneration"].as_i64().unwrap()))
    }
}

#[test]
fn a_member_with_little_leaves_at_once() {
    let mut world = World::asked_to_leave(LITTLE);
    assert_eq!(world.is(), Phase::Leaving);
    world.settle();
    assert_eq!(world.question(), None);
}

#[test]
fn a_member_with_much_asks_and_goes_on() {
    let mut world = World::asked_to_leave(LITTLE + 1);
    assert_eq!(world.is(), Phase::Member);
    assert_eq!(world.settle(), 1);
    let (status, message, generation) = world.question().unwrap();
    assert_eq!((status.as_str(), generation), ("False", 2));
    let expected = "leaving would delete 21 ServiceExports, 0 MultiClusterServices and 0 imported EndpointSlices in this \
                    cluster; to confirm: kubectl -n fleet-member-a annotate --overwrite internalmembercluster a \
                    networking.fleet.azure.com/confirm-leave=2; to cancel, set spec.state to Join";
    assert_eq!(message, expected);
    assert_eq!(world.report(AGENTS[0])["conditions"][0]["status"], "True", "it is still a member");
    // It sends heartbeats: a hub agent releases nothing for it.
    assert!(world.plan().steps.is_empty() && world.plan().wake_after.is_some());
    world.advance(100);
    assert_eq!(world.settle(), 1);
}

#[test]
fn a_confirmation_is_for_one_request_to_leave() {
    let mut world = World::asked_to_leave(LITTLE + 1);
    world.settle();
    for wrong in ["1", "3", "true", ""] {
        world.confirm(wrong);
        assert_eq!(world.is(), Phase::Member, "{wrong:?}");
    }
    world.confirm("2");
    assert_eq!(world.is(), Phase::Leaving);
    world.edit(|object| object["spec"]["heartbeatPeriodSeconds"] = json!(30));
    assert_eq!(world.is(), Phase::Leaving, "it is the same request");

    // Asked to stay, and to leave again: that needs another confirmation.
    world.tell("Join");
    world.settle();
    assert_eq!(world.question(), None, "nothing is asked any more");
    world.tell("Leave");
    assert_eq!(world.is(), Phase::Member);
}

#[test]
fn what_users_delete_needs_no_confirmation() {
    let mut world = World::asked_to_leave(LITTLE + 1);
    world.settle();
    world.own.delete(kinds::SERVICE_EXPORT, &ObjectName::new("team", "shop-0")).unwrap();
    assert_eq!(world.is(), Phase::Leaving);
}

#[test]
fn imports_and_their_endpoints_count() {
    let mut world = World::asked_to_leave(LITTLE - 1);
    let mcs = json!({ "spec": { "serviceImport": { "name": "web" } } });
    world.own.create(kinds::MULTI_CLUSTER_SERVICE, &ObjectName::new("team", "web"), mcs).unwrap();
    assert_eq!(world.is(), Phase::Leaving);
    for (namespace, expected) in [("team", Phase::Leaving), ("fleet-system", Phase::Member)] {
        let slice = json!({ "metadata": { "labels": { labels::MANAGED_BY: labels::MANAGED_BY_IMPORT } },
            "addressType": "IPv4", "endpoints": [] });
        world.own.create(kinds::ENDPOINT_SLICE, &ObjectName::new(namespace, "s"), slice).unwrap();
        assert_eq!(world.is(), expected, "{namespace}");
    }
    let losses: Losses = unconfirmed(&world.settings.identity, &world.snapshot()).unwrap();
    let expected = "19 ServiceExports, 1 MultiClusterServices and 1 imported EndpointSlices";
    assert_eq!(losses.to_string(), expected);
}

/// The original's hub agent, and one of an earlier release, inform no administrator that a member waits.
#[test]
fn with_a_hub_agent_that_knows_no_confirmation_a_member_leaves_at_once() {
    let mut world = World::asked_to_leave(100);
    world
        .hub
        .edit(kinds::CLUSTER_REPORT, &membership(), |report| report["status"] = json!({}))
        .unwrap();
    assert_eq!(world.is(), Phase::Leaving);
    world.hub.delete(kinds::CLUSTER_REPORT, &membership()).unwrap();
    assert_eq!(world.is(), Phase::Leaving);
}

/// The decision to delete the member's namespace has been made; it cannot be taken back.
#[test]
fn what_is_deleted_on_the_hub_asks_for_nothing() {
    let mut world = World::asked_to_leave(100);
    world.edit(|object| object["metadata"]["finalizers"] = json!(["kubefleet/hold"]));
    world.hub.delete(kinds::INTERNAL_MEMBER_CLUSTER, &membership()).unwrap();
    assert_eq!(world.is(), Phase::Leaving);
}

/// What users create in a cluster that has left is no reason to ask.
#[test]
fn a_member_that_has_left_asks_for_nothing() {
    let mut world = World::asked_to_leave(0);
    world.settle();
    assert_eq!(world.is(), Phase::Left);
    for number in 0..=LITTLE {
        let name = ObjectName::new("team", format!("late-{number}"));
        world.own.create(kinds::SERVICE_EXPORT, &name, json!({})).unwrap();
    }
    world.edit(|object| object["spec"]["heartbeatPeriodSeconds"] = json!(30));
    assert_eq!(world.is(), Phase::Left);
    world.settle();
    assert_eq!(world.question(), None);
}

/// At the start of an agent it is not known yet how much there is.
#[test]
fn what_was_not_listed_may_be_much() {
    let world = World::asked_to_leave(1);
    let snapshot =
        MemberSnapshot { service_exports: fleet_accumulator::View::default(), ..world.snapshot() };
    assert_eq!(Phase::of(&world.settings.identity, &snapshot), Phase::Member);
}

#[test]
fn without_networking_nothing_is_deleted() {
    let mut world = World::asked_to_leave(100);
    world.settings.networking = false;
    world.settle();
    assert_eq!(world.question(), None);
    assert_eq!(world.report(AGENTS[0])["conditions"][0]["reason"], "AgentLeft");
}
