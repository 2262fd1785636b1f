//! What the hub reads about this member: one entry for each agent of the original.
//!
//! The list is shared with KubeFleet's own agent and has no keys. Only our elements of it are
//! written, by position, in a patch that tests the version in which they have that position.

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::membership::{AgentStatus, AgentType};
use fleet_model::objects::{InternalMemberCluster, NETWORKING_AGENTS, ReportList};
use fleet_model::steps::{HUB, at, to_json};
use fleet_plan::conditions::{Wanted, apply, find, whole_seconds};
use fleet_plan::json_patch::{add, replace};
use fleet_plan::{Action, Step};
use jiff::Timestamp;
use serde_json::{Value, json};

type Cluster = Object<InternalMemberCluster>;

const STATUS: &str = "status";
const LIST: &str = "agentStatus";

/// What can be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReportedState {
    status: &'static str,
    reason: &'static str,
    /// Whether the agent is alive for the fleet.
    beats: bool,
}

/// The member works.
pub(super) const JOINED: ReportedState =
    ReportedState { status: conditions::TRUE, reason: reasons::AGENT_JOINED, beats: true };
/// Nothing of the member is left.
pub(super) const LEFT: ReportedState =
    ReportedState { status: conditions::FALSE, reason: reasons::AGENT_LEFT, beats: false };

/// Whether both entries say so, for whatever version of the object.
pub(super) fn reports(cluster: &Cluster, state: ReportedState) -> bool {
    generation(cluster, state).is_some()
}

/// Whether both entries say so for the object as it is now.
pub(super) fn is_current(cluster: &Cluster, state: ReportedState) -> bool {
    generation(cluster, state) == Some(cluster.meta.generation)
}

/// The oldest generation for which both entries say so.
fn generation(cluster: &Cluster, state: ReportedState) -> Option<i64> {
    let of = |agent: &AgentType| {
        let joined = find(&cluster.report(agent)?.status.conditions, conditions::JOINED)?;
        let so = joined.status == state.status && joined.reason == state.reason;
        so.then(|| joined.observed_generation.unwrap_or_default())
    };
    NETWORKING_AGENTS.iter().map(of).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Both entries in one write.
pub(super) fn write(cluster: &Cluster, state: ReportedState, now: Timestamp) -> Step {
    let action = Action::Patch {
        operations: operations(cluster, state, now),
        status: true,
        at: at(cluster),
    };
    HUB.step::<InternalMemberCluster>(cluster.name.clone(), action)
}

fn operations(cluster: &Cluster, state: ReportedState, now: Timestamp) -> Vec<Value> {
    let entries = NETWORKING_AGENTS.map(|agent| entry(cluster, agent, state, now));
    match cluster.list {
        ReportList::NoStatus => vec![add(&[STATUS], json!({ LIST: to_json(&entries) }))],
        ReportList::NoList => vec![add(&[STATUS, LIST], to_json(&entries))],
        ReportList::Present => entries.iter().map(|entry| put(cluster, entry)).collect(),
    }
}

/// In the place of the old one, or at the end.
fn put(cluster: &Cluster, entry: &AgentStatus) -> Value {
    match cluster.report(&entry.type_) {
        Some(old) => replace(&[STATUS, LIST, &old.at.to_string()], to_json(entry)),
        None => add(&[STATUS, LIST, "-"], to_json(entry)),
    }
}

/// The entry as it was, with the condition, and the heartbeat if there is one.
fn entry(cluster: &Cluster, agent: AgentType, state: ReportedState, now: Timestamp) -> AgentStatus {
    let old = cluster.report(&agent).map(|report| report.status.clone());
    let mut entry = old.unwrap_or_else(|| AgentStatus { type_: agent, ..AgentStatus::default() });
    let wanted = Wanted {
        type_: conditions::JOINED,
        status: state.status.to_owned(),
        reason: state.reason.to_owned(),
        message: String::new(),
        generation: cluster.meta.generation,
    };
    if let Some(changed) = apply(&entry.conditions, [wanted], now) {
        entry.conditions = changed;
    }
    if state.beats {
        entry.last_received_heartbeat = Some(whole_seconds(now));
    }
    entry
}
