//! Offers and virtual nodes, with what is in their way.

use std::collections::BTreeMap;

use fleet_api::names::member_of_namespace;
use fleet_api::offload::{
    LinkState, OffloadOfferSpec, OffloadOfferStatus, PeerLink, VirtualNodePhase, VirtualNodeSpec,
    VirtualNodeStatus,
};
use kube::api::DynamicObject;
use serde::Serialize;

use super::waiting::Waiting;
use crate::output::Paint;
use crate::render::table;
use crate::shell::{kubectl, quoted};

/// Pods that are bound to a virtual node and that the hub does not have.
const NOT_EXPORTED: &str = "NotExported";

/// What members offer to each other, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OffloadStatus {
    /// One for each pair of members.
    pub nodes: Vec<Offered>,
    /// Offers that are not in force, or take nothing new.
    pub idle: Vec<IdleOffer>,
}

impl OffloadStatus {
    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.idle.is_empty()
    }
}

/// An offer that is not in force, or takes nothing new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IdleOffer {
    /// The member that offers.
    pub executor: String,
    /// Why.
    pub reason: String,
    /// Whether its administrators want that.
    pub drains: bool,
    /// What is to be done, if anything is.
    pub help: Option<String>,
}

/// An executor as one origin sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offered {
    /// The member whose Pods run there.
    pub origin: String,
    /// The member that runs them.
    pub executor: String,
    /// How far it is.
    pub phase: &'static str,
    /// Whether the executor renews its Lease; absent if that is not known.
    pub heard: Option<&'static str>,
    /// The Node in the origin's cluster.
    pub node: Option<String>,
    /// Pods that are bound to it.
    pub pods: i64,
    /// Pods that it takes.
    pub capacity: i64,
    /// Pods that do not run, by what they wait for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waiting: BTreeMap<String, usize>,
    /// What is to be done, if anything is.
    pub help: Option<String>,
}

/// The status, by the offers, virtual nodes and exports on the hub.
pub fn offload_status(
    offers: &[DynamicObject],
    nodes: &[DynamicObject],
    waiting: &Waiting,
) -> OffloadStatus {
    OffloadStatus {
        nodes: nodes.iter().filter_map(|object| node(object, waiting)).collect(),
        idle: offers.iter().filter_map(idle).collect(),
    }
}

fn node(object: &DynamicObject, waiting: &Waiting) -> Option<Offered> {
    let origin = member_of_namespace(object.metadata.namespace.as_deref()?)?.to_owned();
    let spec: VirtualNodeSpec = serde_json::from_value(object.data["spec"].clone()).ok()?;
    let status: VirtualNodeStatus =
        serde_json::from_value(object.data["status"].clone()).unwrap_or_default();
    let heard = status.executor.as_ref().map(PeerLink::standing);
    let exports = waiting.between(&origin, &spec.executor);
    let help = help(&origin, &spec, heard).or_else(|| {
        let pod = exports.refused.as_deref()?;
        Some(format!("fleetctl explain pod {} --origin {}", quoted(pod), quoted(&origin)))
    });
    let pods = status.pods.unwrap_or_default();
    let mut waiting = exports.reasons;
    // What its own cluster refuses, or what lacks a config map, does not come to the hub.
    if let Some(more) = usize::try_from(pods - exports.all).ok().filter(|more| *more > 0) {
        waiting.insert(NOT_EXPORTED.to_owned(), more);
    }
    Some(Offered {
        origin,
        executor: spec.executor,
        phase: spec.phase.as_str(),
        heard: heard.map(LinkState::as_str),
        node: status.node.map(|node| node.name),
        pods,
        capacity: spec.capacity.pods,
        waiting,
        help,
    })
}

fn help(origin: &str, spec: &VirtualNodeSpec, heard: Option<LinkState>) -> Option<String> {
    let executor = &spec.executor;
    match (spec.phase, heard) {
        (VirtualNodePhase::Offered, _) => Some(format!(
            "fleetctl offload accept {} --origin {}",
            quoted(executor),
            quoted(origin)
        )),
        (_, Some(LinkState::Silent)) => Some(format!(
            "{} -n fleet-system get pods -l app.kubernetes.io/name=member-agent",
            kubectl(executor)
        )),
        (VirtualNodePhase::Withdrawn, _) => Some(format!(
            "fleetctl offload withdraw {} --origin {}",
            quoted(executor),
            quoted(origin)
        )),
        (_, None) => Some(format!(
            "{executor} renews no Lease on the hub: set memberLease.enabled in its chart"
        )),
        _ => None,
    }
}

fn idle(object: &DynamicObject) -> Option<IdleOffer> {
    let executor = member_of_namespace(object.metadata.namespace.as_deref()?)?.to_owned();
    let idle = |reason: String, help: Option<String>| IdleOffer {
        executor: executor.clone(),
        reason,
        drains: false,
        help,
    };
    let spec: Result<OffloadOfferSpec, _> = serde_json::from_value(object.data["spec"].clone());
    let Ok(spec) = spec else { return Some(idle("its offer cannot be read".to_owned(), None)) };
    let status: Option<OffloadOfferStatus> =
        serde_json::from_value(object.data["status"].clone()).ok();
    match status.map(|status| status.withdrawn) {
        None => Some(idle(
            "the hub agent has not answered: is virtualNodes.enabled set in its chart?".to_owned(),
            None,
        )),
        Some(Some(why)) => {
            // It is about ranges in most cases: those of a join without any are all that there are.
            let help = why.contains("ranges").then(|| {
                format!(
                    "fleetctl join {} --cidrs RANGES-OF-ITS-PODS --print nothing",
                    quoted(&executor)
                )
            });
            Some(idle(why, help))
        }
        Some(None) if spec.draining => {
            let reason = "it drains, and accepts no further Pods".to_owned();
            Some(IdleOffer { drains: true, ..idle(reason, None) })
        }
        Some(None) => None,
    }
}

/// Counts and reasons.
fn waiting(reasons: &BTreeMap<String, usize>) -> String {
    if reasons.is_empty() {
        return "-".to_owned();
    }
    let each = reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The status for people.
pub(crate) fn offload_table(status: &OffloadStatus, paint: Paint) -> String {
    let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let rows: Vec<Vec<String>> = status
        .nodes
        .iter()
        .map(|node| {
            vec![
                node.origin.clone(),
                node.executor.clone(),
                node.phase.to_owned(),
                dash(node.heard),
                dash(node.node.as_deref()),
                format!("{}/{}", node.pods, node.capacity),
                waiting(&node.waiting),
            ]
        })
        .collect();
    let head = ["ORIGIN", "EXECUTOR", "PHASE", "LINK", "NODE", "PODS", "WAITING"];
    let mut text = table(&head, &rows, paint);
    for IdleOffer { executor, reason, .. } in &status.idle {
        text += &(paint.odd(&format!("{executor}: {reason}")) + "\n");
    }
    let of_nodes = status.nodes.iter().filter_map(|node| node.help.as_deref());
    let of_offers = status.idle.iter().filter_map(|offer| offer.help.as_deref());
    for help in of_nodes.chain(of_offers) {
        text += &["What to do: ", &paint.good(help), "\n"].concat();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn object(
        kind: &str,
        namespace: &str,
        name: &str,
        spec: Value,
        status: Value,
    ) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "offload.networking.fleet.azure.com/v1alpha1", "kind": kind,
            "metadata": { "namespace": namespace, "name": name }, "spec": spec, "status": status,
        }))
        .unwrap()
    }

    fn node(phase: &str, status: Value) -> DynamicObject {
        let spec = json!({ "executor": "west", "phase": phase, "terms": { "namespaces": ["*"] },
            "capacity": { "cpu": "4", "memory": "8Gi", "pods": 20 } });
        object("VirtualNode", "fleet-member-east", "west", spec, status)
    }

    #[test]
    fn what_is_in_the_way_has_a_command() {
        let link = |state: &str| {
            json!({ "accepted": true, "pods": 3, "node": { "name": "fleet-west", "uid": "n" },
            "executor": { "cluster": "west", "state": state, "since": "2026-01-01T00:00:00Z" } })
        };
        let help = |node: DynamicObject| {
            offload_status(&[], &[node], &Waiting::default()).nodes.remove(0).help
        };
        assert_eq!(help(node("Accepted", link("Connected"))), None);
        let offered = help(node("Offered", link("Connected"))).unwrap();
        assert_eq!(offered, "fleetctl offload accept west --origin east");
        assert!(help(node("Accepted", link("Silent"))).unwrap().contains("--context west"));
        assert!(
            help(node("Accepted", json!({ "accepted": true }))).unwrap().contains("memberLease")
        );
        assert!(help(node("Withdrawn", link("Connected"))).unwrap().contains("withdraw west"));
        let refused = object(
            "PodExport",
            "fleet-member-east",
            "u",
            json!({ "executor": "west",
                "origin": { "cluster": "east", "namespace": "shop", "name": "web-0", "uid": "u" } }),
            json!({ "rejected": { "reason": "QuotaExceeded", "field": "spec", "hash": "h" } }),
        );
        let nodes = [node("Accepted", link("Connected"))];
        let status = offload_status(&[], &nodes, &Waiting::of([&refused]));
        assert_eq!(
            offload_table(&status, Paint(false)),
            "ORIGIN  EXECUTOR  PHASE     LINK       NODE        PODS  WAITING\n\
             east    west      Accepted  Connected  fleet-west  3/20  2 NotExported, 1 QuotaExceeded\n\
             What to do: fleetctl explain pod shop/web-0 --origin east\n"
        );
    }

    #[test]
    fn offers_that_are_not_in_force_have_a_reason() {
        let offer = |draining: bool, status: Value| {
            let spec = json!({ "originSelector": { "clusters": ["east"] }, "terms": { "namespaces": ["*"] },
                "capacity": { "cpu": "4", "memory": "8Gi", "pods": 20 }, "draining": draining });
            let offer = object("OffloadOffer", "fleet-member-west", "offer", spec, status);
            offload_status(&[offer], &[], &Waiting::default()).idle
        };
        assert_eq!(offer(false, json!({})), []);
        let idle = |why: &str| offer(false, json!({ "withdrawn": why })).remove(0);
        assert_eq!(idle("it selects no member").reason, "it selects no member");
        assert_eq!(idle("it selects no member").help, None);
        let overlap = idle("ranges of pods overlap those of east").help.unwrap();
        assert!(overlap.starts_with("fleetctl join west --cidrs"), "{overlap}");
        assert!(offer(false, Value::Null)[0].reason.contains("virtualNodes.enabled"));
        let drains = offer(true, json!({})).remove(0);
        assert!(drains.drains && drains.reason.contains("it drains"));
    }
}
