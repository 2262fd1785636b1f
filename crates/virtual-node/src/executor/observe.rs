//! What an executor reports of a remote Pod.

use std::time::Duration;

use fleet_api::offload::{
    ContainerState, PodPhase, REMOTE_CONDITIONS, RemoteCondition, RemoteContainer, RemoteLoss,
    RemotePod, RemoteStatus,
};
use fleet_plan::text::truncate;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::changes::spec_hash_of;
use crate::node::PENDING_TIMEOUT;

/// Containers that cross at most.
const CONTAINERS: usize = 16;

/// Why there is no remote Pod although there was one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gone {
    /// It has not been made, so it is not gone.
    #[default]
    NotMade,
    /// It was deleted by another client.
    Deleted,
}

/// The status of a remote Pod, by its object and the status that was reported last. A Pod that was reported as lost stays so:
/// another of the same name would not be the same.
pub fn observe(
    pod: Option<&Value>,
    gone: Gone,
    last: Option<&RemoteStatus>,
    hash: &str,
    now: Timestamp,
) -> RemoteStatus {
    let last = last.cloned().unwrap_or_default();
    let Some(pod) = pod.filter(|_| last.loss.is_none()) else {
        let deleted = gone == Gone::Deleted && !last.phase.is_terminal();
        let loss =
            last.loss.or_else(|| deleted.then(|| announced(&last).unwrap_or(RemoteLoss::Deleted)));
        return RemoteStatus { loss, observed_hash: hash.to_owned(), ..last };
    };
    let status = &pod["status"];
    RemoteStatus {
        // An update may be on its way, or be refused: it is not what the Pod goes by until it has it.
        observed_hash: spec_hash_of(pod).unwrap_or(hash).to_owned(),
        pod: Some(identity(pod)),
        phase: phase(status),
        loss: loss(status, now),
        pod_ips: addresses(status),
        start_time: time(&status["startTime"]),
        conditions: conditions(status),
        containers: containers(&status["containerStatuses"]),
        init_containers: containers(&status["initContainerStatuses"]),
        reason: text(&status["reason"], 256),
        message: text(&status["message"], 1024).or_else(|| unscheduled(status)),
    }
}

fn identity(pod: &Value) -> RemotePod {
    let metadata = &pod["metadata"];
    RemotePod {
        namespace: text(&metadata["namespace"], 63).unwrap_or_default(),
        name: text(&metadata["name"], 253).unwrap_or_default(),
        uid: text(&metadata["uid"], 64),
        node: text(&pod["spec"]["nodeName"], 253),
    }
}

fn phase(status: &Value) -> PodPhase {
    status["phase"].as_str().and_then(PodPhase::parse).unwrap_or_default()
}

/// How a Pod was lost, as Kubernetes marks it: by a reason of the status or of the condition `DisruptionTarget`.
fn loss(status: &Value, now: Timestamp) -> Option<RemoteLoss> {
    if phase(status) == PodPhase::Failed {
        let disruption = find(status, "DisruptionTarget");
        let reasons = [status["reason"].as_str(), disruption["reason"].as_str()];
        return reasons.into_iter().flatten().find_map(by_reason);
    }
    let scheduled = find(status, "PodScheduled");
    let unschedulable = scheduled["status"] == "False" && scheduled["reason"] == "Unschedulable";
    let since = time(&scheduled["lastTransitionTime"]).filter(|_| unschedulable)?;
    let waited = Duration::try_from(now.duration_since(since.0)).ok()?;
    (waited >= PENDING_TIMEOUT).then_some(RemoteLoss::Unschedulable)
}

/// How a Pod was to be lost, by what was reported while it was there: its last status may have come together with its end.
fn announced(last: &RemoteStatus) -> Option<RemoteLoss> {
    let mut conditions = last.conditions.iter();
    let disruption = conditions.find(|one| one.type_ == "DisruptionTarget" && one.status)?;
    by_reason(disruption.reason.as_deref()?)
}

fn by_reason(reason: &str) -> Option<RemoteLoss> {
    match reason {
        "Evicted" | "EvictionByEvictionAPI" | "TerminationByKubelet" => Some(RemoteLoss::Evicted),
        "Preempted" | "PreemptionByScheduler" => Some(RemoteLoss::Preempted),
        "NodeLost" | "DeletionByTaintManager" | "DeletionByPodGC" => Some(RemoteLoss::Lost),
        _ => None,
    }
}

/// What a scheduler reports, while a Pod waits for it.
fn unscheduled(status: &Value) -> Option<String> {
    let scheduled = find(status, "PodScheduled");
    text(&scheduled["message"], 1024).filter(|_| scheduled["status"] == "False")
}

fn find<'a>(status: &'a Value, type_: &str) -> &'a Value {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == *type_).unwrap_or(&Value::Null)
}

/// At most one of each family, as Kubernetes gives them.
fn addresses(status: &Value) -> Vec<String> {
    let ips = status["podIPs"].as_array().into_iter().flatten();
    ips.filter_map(|ip| text(&ip["ip"], 45)).take(2).collect()
}

fn conditions(status: &Value) -> Vec<RemoteCondition> {
    let found = REMOTE_CONDITIONS.into_iter().map(|type_| (type_, find(status, type_)));
    let found = found.filter(|(_, condition)| !condition.is_null());
    found
        .map(|(type_, condition)| RemoteCondition {
            type_: type_.to_owned(),
            status: condition["status"] == "True",
            last_transition_time: time(&condition["lastTransitionTime"]),
            reason: text(&condition["reason"], 256),
            message: text(&condition["message"], 1024),
        })
        .collect()
}

fn containers(statuses: &Value) -> Vec<RemoteContainer> {
    let statuses = statuses.as_array().into_iter().flatten().take(CONTAINERS);
    let number = |value: &Value| value.as_i64().and_then(|count| i32::try_from(count).ok());
    let one = |status: &Value| {
        Some(RemoteContainer {
            name: text(&status["name"], 63)?,
            state: state(&status["state"]),
            ready: status["ready"] == true,
            started: status["started"].as_bool(),
            restart_count: number(&status["restartCount"]).unwrap_or_default(),
            image: text(&status["image"], 512).unwrap_or_default(),
            container_id: text(&status["containerID"], 256),
        })
    };
    statuses.filter_map(one).collect()
}

fn state(state: &Value) -> ContainerState {
    let ended = &state["terminated"];
    let running = state["running"].is_object();
    let current = if running { &state["running"] } else { ended };
    let why = if ended.is_object() { ended } else { &state["waiting"] };
    ContainerState {
        running,
        exit_code: ended["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()),
        reason: text(&why["reason"], 256),
        message: text(&why["message"], 256),
        started_at: time(&current["startedAt"]),
        finished_at: time(&ended["finishedAt"]),
    }
}

fn text(value: &Value, limit: usize) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    Some(truncate(text, limit).to_owned())
}

fn time(value: &Value) -> Option<Time> {
    value.as_str()?.parse().ok().map(Time)
}
