//! The virtual node of an executor for one origin.

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::names::member_namespace;
use fleet_api::offload::{VirtualNodePhase, VirtualNodeSpec, VirtualNodeStatus};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::offload::VirtualNode;
use fleet_model::steps::{HUB, to_json};
use fleet_plan::Plan;
use fleet_virtual_node::hub::{Selected, virtual_node};
use jiff::Timestamp;
use serde_json::json;

use super::evidence::{LONG_PAUSE, shows_absence};
use super::link::link;
use super::members;
use crate::snapshot::HubSnapshot;

pub(super) fn plan(
    origin: &str,
    executor: &str,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let namespace = member_namespace(origin);
    let name = ObjectName::new(namespace.as_str(), executor);
    let present = snapshot.virtual_nodes.get(&name);
    let wanted = wanted(origin, executor, present, snapshot);
    match (wanted, present) {
        (Some(spec), None) if namespace_accepts_objects(&snapshot.namespaces, &namespace) => {
            plan.push(HUB.create::<VirtualNode>(name, json!({ "metadata": {}, "spec": spec })));
        }
        (Some(spec), Some(present)) if !present.meta.is_terminating() => {
            if spec == present.spec {
                settle(origin, executor, present, snapshot, now, plan);
            } else {
                update(executor, &spec, present, snapshot, plan);
            }
        }
        _ => {}
    }
}

fn wanted(
    origin: &str,
    executor: &str,
    present: Option<&Object<VirtualNode>>,
    snapshot: &HubSnapshot,
) -> Option<VirtualNodeSpec> {
    let offer = members::offer_for(executor, origin, snapshot);
    let member = Selected {
        cluster: origin.to_owned(),
        labels: members::labels(origin, snapshot).clone(),
        accepted: present.is_some_and(|present| present.status.accepted),
    };
    let ranges = members::ranges(executor, snapshot);
    let ranges: Vec<_> = ranges.iter().map(ToString::to_string).collect();
    let before = present.map(|present| &present.spec);
    virtual_node(executor, offer.map(|offer| &offer.spec), &member, &ranges, before)
}

fn update(
    executor: &str,
    spec: &VirtualNodeSpec,
    present: &Object<VirtualNode>,
    snapshot: &HubSnapshot,
    plan: &mut Plan,
) {
    let replace = json!({ "op": "replace", "path": "/spec", "value": to_json(spec) });
    let step = HUB.patch(present, vec![replace]);
    if spec.phase != VirtualNodePhase::Withdrawn {
        plan.push(step);
    } else if !shows_absence(snapshot) {
        // A node without an offer loses its Pods: an older state of the hub is no reason.
    } else if is_decided(executor, snapshot) {
        plan.push(step);
    } else {
        plan.debounce(LONG_PAUSE, "the offer is gone and was not deleted", step);
    }
}

/// Whether it is a decision that the executor offers nothing any more: an offer is being deleted, or does not select the origin.
fn is_decided(executor: &str, snapshot: &HubSnapshot) -> bool {
    snapshot.offload_offers.in_namespace(&member_namespace(executor)).next().is_some()
}

/// What is left where the spec is as it should be.
fn settle(
    origin: &str,
    executor: &str,
    present: &Object<VirtualNode>,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    if present.spec.phase == VirtualNodePhase::Withdrawn && !is_used(origin, present, snapshot) {
        plan.push(HUB.delete(present));
        return;
    }
    let known = present.status.executor.as_ref();
    let link = link(executor, known, snapshot, now);
    if link.is_some() && link.as_ref() != known {
        let status = VirtualNodeStatus { executor: link, ..present.status.clone() };
        plan.push(HUB.status(present, &status));
    }
}

/// Whether the origin has a Node for it, or Pods there.
fn is_used(origin: &str, node: &Object<VirtualNode>, snapshot: &HubSnapshot) -> bool {
    let namespace = member_namespace(origin);
    let executor = node.spec.executor.as_str().into();
    let mut exports = snapshot.pod_exports.by(&executor);
    node.status.node.is_some() || exports.any(|export| *export.name.namespace == *namespace)
}
