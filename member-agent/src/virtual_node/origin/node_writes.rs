//! What a Node lacks of a virtual node.
//!
//! Its labels and taints are changed one by one, since other clients have their own: the list of taints would belong to one manager as
//! a whole. Its status is applied. Whether it is cordoned is for administrators alone.

use fleet_accumulator::Object;
use fleet_api::labels::{VIRTUAL_NODE, VIRTUAL_NODE_CAPACITY};
use fleet_api::offload::RegisteredNode;
use fleet_model::objects::offload::{NodeDocument, VirtualNode};
use fleet_model::steps::HUB;
use fleet_plan::{Action, Step};
use fleet_virtual_node::node::Amount;
use serde_json::{Map, Value, json};

use super::status::covers;

/// Whether a Node stands for this executor.
pub(super) fn is_ours(node: &Object<NodeDocument>, executor: &str) -> bool {
    node.object.meta.label(VIRTUAL_NODE) == Some(executor)
}

/// The operations that give a Node the labels and taints that it should have. Without an offer its labels are not known any more,
/// and stay.
pub(super) fn spec_operations(node: &Value, wanted: &Value, offered: bool) -> Vec<Value> {
    let mut operations = Vec::new();
    let labels = wanted["metadata"]["labels"].as_object().filter(|_| offered);
    for (key, value) in labels.into_iter().flatten() {
        if node["metadata"]["labels"][key.as_str()] != *value {
            let path = format!("/metadata/labels/{}", key.replace('~', "~0").replace('/', "~1"));
            operations.push(json!({ "op": "add", "path": path, "value": value }));
        }
    }
    let taints = taints(&node["spec"]["taints"], &wanted["spec"]["taints"]);
    if let Some(taints) = taints {
        operations.push(json!({ "op": "add", "path": "/spec/taints", "value": taints }));
    }
    operations
}

/// The taints of a Node with ours as they should be; `None` if they are.
fn taints(present: &Value, wanted: &Value) -> Option<Vec<Value>> {
    let present = present.as_array().cloned().unwrap_or_default();
    let wanted = wanted.as_array().cloned().unwrap_or_default();
    let is_ours =
        |taint: &Value| taint["key"] == VIRTUAL_NODE || taint["key"] == VIRTUAL_NODE_CAPACITY;
    let same = |one: &Value, other: &Value| {
        ["key", "value", "effect"].iter().all(|field| one[*field] == other[*field])
    };
    let (ours, others): (Vec<_>, Vec<_>) = present.into_iter().partition(is_ours);
    let is_complete = ours.len() == wanted.len()
        && wanted.iter().all(|taint| ours.iter().any(|present| same(present, taint)));
    (!is_complete).then(|| others.into_iter().chain(wanted).collect())
}

/// Whether a Node lacks something of a status. Kubernetes marks a node that is not ready as unknown after a while: that is left.
pub(super) fn status_differs(present: &Value, wanted: &Value, ready: bool) -> bool {
    let conditions = present["conditions"].as_array();
    let unknown = conditions
        .into_iter()
        .flatten()
        .any(|one| one["type"] == "Ready" && one["status"] == "Unknown");
    if unknown && !ready {
        return false;
    }
    let rest = |status: &Value| -> Map<String, Value> {
        let fields = status.as_object().cloned().unwrap_or_default();
        fields.into_iter().filter(|(name, _)| !AMOUNTS.contains(&name.as_str())).collect()
    };
    let amounts = AMOUNTS.iter().all(|name| same_amounts(&present[*name], &wanted[*name]));
    !amounts || !covers(&Value::Object(rest(present)), &Value::Object(rest(wanted)))
}

const AMOUNTS: [&str; 2] = ["capacity", "allocatable"];

/// A server writes amounts in a form of its own.
fn same_amounts(present: &Value, wanted: &Value) -> bool {
    let amount = |value: &Value| value.as_str().and_then(Amount::parse);
    let wanted = wanted.as_object().into_iter().flatten();
    wanted.into_iter().all(|(name, wanted)| amount(&present[name.as_str()]) == amount(wanted))
}

/// What the hub agent needs of a virtual node.
pub(super) fn report(
    offered: &Object<VirtualNode>,
    (accepted, abandoned): (bool, bool),
    node: Option<&RegisteredNode>,
    pods: Option<i64>,
) -> Step {
    let mut status = json!({ "accepted": accepted, "abandoned": abandoned });
    if let Some(node) = node {
        status["node"] = json!({ "name": node.name, "uid": node.uid });
    }
    if let Some(pods) = pods {
        status["pods"] = pods.into();
    }
    let body = json!({
        "apiVersion": fleet_api::kinds::VIRTUAL_NODE.api_version(),
        "kind": fleet_api::kinds::VIRTUAL_NODE.kind,
        "metadata": {
            "name": offered.name.name, "namespace": offered.name.namespace,
            "uid": offered.uid.to_string(),
        },
        "status": status,
    });
    let action = Action::Apply { body: body.into(), status: true };
    HUB.step::<VirtualNode>(offered.name.clone(), action)
}
