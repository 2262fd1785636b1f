//! What is still to be done about one virtual node.

use fleet_accumulator::{ClusterId, Object};
use fleet_api::conditions::offload_reasons as reasons;
use fleet_api::offload::{PodPhase, VirtualNodePhase};
use fleet_api::{ObjectName, events, kinds};
use fleet_model::objects::offload::{PodDocument, PodIndex};
use fleet_model::steps::LOCAL;
use fleet_plan::{Action, Step};
use fleet_virtual_node::Condition;
use fleet_virtual_node::names;
use fleet_virtual_node::node::{
    DesiredNode, conditions, is_recreated, node_document, pause, ready_reason,
};
use fleet_virtual_node::pod::LocalPod;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::events as node_events;
use super::node_writes::{self, spec_operations, status_differs};
use crate::Settings;
use crate::executors::{Consent, Executor};
use crate::links::Links;
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Time for which a number of Pods must have changed before it is reported: a Deployment that is scaled makes many.
const COUNTED_AFTER: std::time::Duration = std::time::Duration::from_secs(5);

/// The writes that one virtual node still misses.
pub(super) fn plan(
    settings: &Settings,
    links: &Links,
    name: &str,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let executor = Executor::of(&settings.identity, name, snapshot);
    let pods: Vec<_> =
        snapshot.virtual_pods.by(&PodIndex::Node(names::node(name).as_str().into())).collect();
    if is_wanted(&executor)
        || executor.node.is_some() && is_used(&executor, !pods.is_empty(), snapshot)
    {
        let unplaced = unplaced(&pods, now, &mut plan);
        let desired = desired(settings, &executor, links, unplaced, now);
        sync(&executor, &desired, links, &mut plan);
    } else {
        remove(&executor, &mut plan);
    }
    report(&executor, pods.len(), &mut plan);
    plan
}

/// Whether a Node is made.
fn is_wanted(executor: &Executor<'_>) -> bool {
    matches!(executor.phase(), VirtualNodePhase::Accepted | VirtualNodePhase::Draining)
}

/// Whether a Node stays although no further Pods are taken. Without Pods and exports nothing needs it.
fn is_used(executor: &Executor<'_>, has_pods: bool, snapshot: &MemberSnapshot) -> bool {
    has_pods || snapshot.pod_exports.by(&executor.name.into()).next().is_some()
}

/// Whether the node takes no further Pods for a while, since the executor could not place some, or has no place for them: others
/// may use what it offers, too. One Pod that is too large does not keep all others away for ever.
fn unplaced(pods: &[&Object<PodDocument>], now: Timestamp, plan: &mut Plan) -> bool {
    let has_no_place = |pod: &&&Object<PodDocument>| {
        let status = &pod.object.document["status"];
        let phase = status["phase"].as_str().and_then(PodPhase::parse).unwrap_or_default();
        match status["reason"].as_str() {
            Some("RemoteUnschedulable") => phase == PodPhase::Failed,
            Some("QuotaExceeded") => phase == PodPhase::Pending,
            _ => false,
        }
    };
    let placeless = pods.iter().filter(has_no_place);
    let placeless: Vec<_> = placeless.map(|pod| LocalPod::read(&pod.object.document)).collect();
    let count = u32::try_from(placeless.len()).unwrap_or(u32::MAX);
    let times =
        placeless.iter().flat_map(|pod| &pod.conditions).filter_map(|condition| condition.since);
    let Some(latest) = times.max() else { return false };
    let since = std::time::Duration::try_from(now.duration_since(latest)).unwrap_or_default();
    let rest = pause(count, since);
    if let Some(rest) = rest {
        plan.wake_within(rest);
    }
    rest.is_some()
}

fn desired(
    settings: &Settings,
    executor: &Executor<'_>,
    links: &Links,
    paused: bool,
    now: Timestamp,
) -> DesiredNode {
    let health = executor.health(links);
    let spec = executor.offered.map(|node| &node.object.spec);
    let present = executor.node.map(|node| &node.object.document["status"]["conditions"]);
    let present = present.map(read_conditions).unwrap_or_default();
    DesiredNode {
        executor: executor.name.to_owned(),
        phase: health.phase,
        offer: spec.map(|spec| spec.capacity.clone()).unwrap_or_default(),
        cap: match executor.consent {
            Consent::Accepted(accepted) => accepted.cap.clone(),
            Consent::None | Consent::Unreadable(_) => None,
        },
        topology: spec.map(|spec| spec.topology.clone()).unwrap_or_default(),
        // A node that drains takes no further Pods either.
        paused: paused || health.phase != VirtualNodePhase::Accepted,
        address: settings.virtual_nodes.address,
        conditions: conditions(health, executor.name, &present, now),
    }
}

fn sync(executor: &Executor<'_>, desired: &DesiredNode, links: &Links, plan: &mut Plan) {
    let document = node_document(desired);
    let name = ObjectName::cluster(names::node(executor.name));
    let Some(node) = executor.node else {
        let step = Step::new(ClusterId::Local, kinds::NODE, name, Action::Create(document.into()));
        plan.push(step);
        return;
    };
    // Another party's node of that name is none of ours.
    if !node_writes::is_ours(node, executor.name) {
        let message = "it is no virtual node: another client has made it, under the name of this cluster's executor";
        plan.events.push(LOCAL.warning(node, events::WRITE_REFUSED, message));
        return;
    }
    if node.object.meta.is_terminating() {
        return;
    }
    let operations = spec_operations(&node.object.document, &document, executor.offered.is_some());
    if !operations.is_empty() {
        plan.push(LOCAL.patch(node, operations));
        return;
    }
    let (ready, reason) = ready_reason(executor.health(links));
    let status = if executor.offered.is_some() {
        document["status"].clone()
    } else {
        // What there was to offer is not known any more.
        json!({ "conditions": document["status"]["conditions"] })
    };
    if status_differs(&node.object.document["status"], &status, ready) {
        let body = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name.name, "uid": node.uid.to_string() },
            "status": status,
        });
        let action = Action::Apply { body: body.into(), status: true };
        plan.push(Step::new(ClusterId::Local, kinds::NODE, name, action).urgent());
        if changes_reason(&node.object.document, reason) && reason != reasons::NOT_ACCEPTED {
            plan.events.push(node_events::link(node, executor.link(links), executor.name));
        }
    }
}

fn changes_reason(node: &Value, reason: &str) -> bool {
    let conditions = read_conditions(&node["status"]["conditions"]);
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.reason != reason)
        || conditions.is_empty()
}

fn read_conditions(list: &Value) -> Vec<Condition> {
    list.as_array().into_iter().flatten().map(Condition::read).collect()
}

/// Removes the Node of an executor that is not accepted, or offers nothing any more.
fn remove(executor: &Executor<'_>, plan: &mut Plan) {
    let Some(node) = executor.node else { return };
    let ours = node_writes::is_ours(node, executor.name);
    if ours && !node.object.meta.is_terminating() {
        plan.push(LOCAL.delete(node));
    }
}

/// What the hub agent needs of it: whether it is accepted, which Node it is, and how many Pods are bound to it.
fn report(executor: &Executor<'_>, pods: usize, plan: &mut Plan) {
    let Some(offered) = executor.offered.filter(|node| !node.object.meta.is_terminating()) else {
        return;
    };
    let status = &offered.object.status;
    let decided = match executor.consent {
        Consent::Accepted(accepted) => (true, accepted.abandoned),
        Consent::None => (false, false),
        Consent::Unreadable(why) => {
            let note = format!(
                "what this cluster has decided about {} cannot be read: {why}",
                executor.name
            );
            plan.events
                .extend(executor.node.map(|node| LOCAL.warning(node, events::BLOCKED, note)));
            (status.accepted, status.abandoned)
        }
    };
    let node = executor.node.map(|node| fleet_api::offload::RegisteredNode {
        name: node.name.name.to_string(),
        uid: node.uid.to_string(),
    });
    // One that is about to be made again is remembered until then.
    let node = node.or_else(|| status.node.clone().filter(|_| is_wanted(executor)));
    let pods = i64::try_from(pods).ok();
    let before = status.node.as_ref().map(|node| node.uid.as_str());
    if let Some(present) = executor.node
        && is_recreated(before, &present.uid.to_string())
    {
        let message = "it was deleted by another client and is made again; its Pods stay";
        plan.events.push(LOCAL.warning(present, events::NODE_RECREATED, message));
    }
    if ((status.accepted, status.abandoned), &status.node) != (decided, &node) {
        let step = node_writes::report(offered, decided, node.as_ref(), pods);
        plan.push(step);
    } else if status.pods != pods {
        let step = node_writes::report(offered, decided, node.as_ref(), pods);
        plan.debounce(COUNTED_AFTER, "pods of a virtual node", step);
    }
}
