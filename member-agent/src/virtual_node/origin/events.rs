//! Events on Pods and virtual nodes.

use fleet_accumulator::{Object, Uid};
use fleet_api::events;
use fleet_api::offload::PodPhase;
use fleet_model::objects::offload::{NodeDocument, PodDocument, PodIndex};
use fleet_model::steps::LOCAL;
use fleet_plan::{Event, EventType};
use fleet_virtual_node::life::{ExportState, Notice};
use fleet_virtual_node::names;
use fleet_virtual_node::status::Link;

use super::key::Key;
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// What a decision about a Pod informs users of.
pub(super) fn notice(pod: &Object<PodDocument>, notice: Notice) -> Event {
    let Notice { reason, warning, message } = notice;
    let event_type = if warning { EventType::Warning } else { EventType::Normal };
    LOCAL.event(pod, event_type, reason, message)
}

/// Reports that a node of the executor has the Pod, and that it runs: once each, in the plan that writes the status with it.
pub(super) fn progress(
    object: Option<&Object<PodDocument>>,
    export: Option<&ExportState>,
    plan: &mut Plan,
) {
    let Some((object, export)) = object.zip(export) else { return };
    let Some(remote) = export.remote.as_ref().filter(|_| !plan.steps.is_empty()) else { return };
    let executor = &export.spec.executor;
    let before = object.object.document["status"]["phase"].as_str().and_then(PodPhase::parse);
    let starts = before.unwrap_or_default() == PodPhase::Pending;
    let node = remote.pod.as_ref().and_then(|pod| pod.node.as_deref());
    if let Some(node) = node.filter(|_| starts) {
        let message = format!("node {node} of cluster {executor} has it");
        plan.events.push(LOCAL.normal(object, events::REMOTE_SCHEDULED, message));
    }
    if starts && remote.phase == PodPhase::Running {
        let message = format!("it runs in cluster {executor}");
        plan.events.push(LOCAL.normal(object, events::REMOTE_STARTED, message));
    }
}

/// That a node is reached or not, when that changes.
pub(super) fn link(node: &Object<NodeDocument>, link: Link, executor: &str) -> Event {
    let message = link.message(executor);
    match link {
        Link::Alive => LOCAL.normal(node, events::OFFER_ACCEPTED, message),
        Link::HubUnreachable => LOCAL.warning(node, events::HUB_UNREACHABLE, message),
        Link::ExecutorUnreachable => LOCAL.warning(node, events::EXECUTOR_UNREACHABLE, message),
    }
}

/// That the API server rejects a write about a Pod or a virtual node.
pub(super) fn rejected(key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
    let rejected = match key {
        Key::Node(executor) => {
            let name = fleet_api::ObjectName::cluster(names::node(executor));
            snapshot.virtual_node_objects.get(&name).map(|node| LOCAL.rejected(node, reason))
        }
        Key::Pod(uid) => pod(uid, snapshot).map(|pod| LOCAL.rejected(pod, reason)),
    };
    rejected.into_iter().collect()
}

fn pod<'a>(uid: &Uid, snapshot: &'a MemberSnapshot) -> Option<&'a Object<PodDocument>> {
    snapshot.virtual_pods.by(&PodIndex::Uid(uid.clone())).next()
}
