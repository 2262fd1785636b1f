//! How many Pods run elsewhere, and how far they are.

use fleet_virtual_node::Condition;
use fleet_virtual_node::life::state;
use fleet_virtual_node::names;
use fleet_virtual_node::pod::LocalPod;

use super::export_state::export_state;
use crate::Identity;
use crate::left_over;
use crate::snapshot::MemberSnapshot;
use crate::virtual_node_counts::Counts;

/// Counts what is on virtual nodes.
pub fn count(identity: &Identity, snapshot: &MemberSnapshot) -> Counts {
    let mut counts = Counts::default();
    for pod in snapshot.virtual_pods.iter() {
        let Some(executor) = pod.object.node().and_then(names::executor_of) else { continue };
        let local = LocalPod::read(&pod.object.document);
        let name = fleet_api::ObjectName::new(identity.hub_namespace.as_str(), pod.uid.to_string());
        let export = snapshot.pod_exports.get(&name).map(export_state);
        *counts.pods.entry((executor.to_owned(), local.phase.as_str())).or_default() += 1;
        *counts.states.entry(state(Some(&local), export.as_ref()).as_str()).or_default() += 1;
    }
    for node in snapshot.virtual_node_objects.iter() {
        let Some(executor) = names::executor_of(&node.name.name) else { continue };
        let conditions = node.object.document["status"]["conditions"].as_array();
        let conditions = conditions.into_iter().flatten().map(Condition::read);
        let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
        let ready = ready.map(|ready| (ready.status, ready.reason)).unwrap_or_default();
        counts.nodes.insert(executor.to_owned(), ready);
    }
    counts.left_over = left_over::by_executor(snapshot).map(|(left, _)| left).sum();
    counts
}
