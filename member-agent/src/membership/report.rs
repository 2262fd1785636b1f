//! The report of this member on the hub: one entry for each networking agent of the original.
//!
//! The list is shared with KubeFleet's own agent and has no keys. Only the entries of the networking agents are
//! written, by position, in a patch that tests the resource version in which they have that position.

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::membership::{AgentStatus, AgentType};
use fleet_model::objects::{InternalMemberCluster, NETWORKING_AGENTS, ReportList};
use fleet_model::steps::{HUB, at, to_json};
use fleet_plan::conditions::{Wanted, apply, whole_seconds};
use fleet_plan::json_patch::{add, replace};
use fleet_plan::{Action, Step};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::phase::ReportedState;

type Cluster = Object<InternalMemberCluster>;

const STATUS: &str = "status";
const LIST: &str = "agentStatus";

/// What the member reports about itself.
#[derive(Clone, Copy)]
pub(super) enum Report<'a> {
    /// This state.
    State(ReportedState),
    /// That it is what it was, and does not leave before an administrator of the hub has confirmed it, for this reason.
    Unconfirmed(&'a str),
}

/// Reports the same for both agents in one write.
pub(super) fn write(cluster: &Cluster, report: Report<'_>, now: Timestamp) -> Step {
    let action = Action::Patch {
        operations: operations(cluster, report, now),
        status: true,
        at: at(cluster),
    };
    HUB.step::<InternalMemberCluster>(cluster.name.clone(), action)
}

fn operations(cluster: &Cluster, report: Report<'_>, now: Timestamp) -> Vec<Value> {
    let entries = NETWORKING_AGENTS.map(|agent| entry(cluster, agent, report, now));
    match cluster.list {
        ReportList::NoStatus => vec![add(&[STATUS], json!({ LIST: to_json(&entries) }))],
        ReportList::NoList => vec![add(&[STATUS, LIST], to_json(&entries))],
        ReportList::Present => entries.iter().map(|entry| put(cluster, entry)).collect(),
    }
}

/// Replaces the entry of an agent, or appends it.
fn put(cluster: &Cluster, entry: &AgentStatus) -> Value {
    match cluster.report(&entry.type_) {
        Some(old) => replace(&[STATUS, LIST, &old.at.to_string()], to_json(entry)),
        None => add(&[STATUS, LIST, "-"], to_json(entry)),
    }
}

/// The entry as it is, with the condition of the report and its heartbeat.
fn entry(cluster: &Cluster, agent: AgentType, report: Report<'_>, now: Timestamp) -> AgentStatus {
    let old = cluster.report(&agent).map(|report| report.status.clone());
    let mut entry = old.unwrap_or_else(|| AgentStatus { type_: agent, ..AgentStatus::default() });
    let (type_, status, reason, message) = match report {
        Report::State(state) => (conditions::JOINED, state.status, state.reason, ""),
        Report::Unconfirmed(why) => {
            let reason = reasons::CONFIRMATION_REQUIRED;
            (conditions::LEAVE_CONFIRMED, conditions::FALSE, reason, why)
        }
    };
    if let Report::State(_) = report {
        entry.conditions.retain(|condition| condition.type_ != conditions::LEAVE_CONFIRMED);
    }
    let wanted = Wanted {
        type_,
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        generation: cluster.meta.generation,
    };
    if let Some(changed) = apply(&entry.conditions, [wanted], now) {
        entry.conditions = changed;
    }
    if !matches!(report, Report::State(ReportedState { heartbeat: false, .. })) {
        entry.last_received_heartbeat = Some(whole_seconds(now));
    }
    entry
}
