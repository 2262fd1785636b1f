mod deletion;
mod leftovers;
mod living;
mod never_two;

use std::time::Duration;

use fleet_api::offload::{
    ConfigCopy, ConfigKind, Disconnect, DisconnectMode, OffloadTerms, PodPhase, PolicyProfile,
    Refusal, RemoteCondition, RemoteStatus, VirtualNodePhase,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::Condition;
use crate::pod::{Deletion, LocalPod, Rejection};
use crate::status::DesiredStatus;

const LONG: Duration = Duration::from_hours(1);
const SETTLED: Views = Views { pods: Some(LONG), exports: Some(LONG) };

fn now() -> Timestamp {
    Timestamp::from_second(10_000).unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_second(10_000 - seconds).unwrap()
}

fn node() -> NodeState {
    NodeState {
        cluster: "east".to_owned(),
        executor: "west".to_owned(),
        phase: VirtualNodePhase::Accepted,
        terms: OffloadTerms {
            namespaces: vec!["shop".to_owned()],
            policy_profile: PolicyProfile::Baseline,
            ..OffloadTerms::default()
        },
        ranges: "10.2.0.0/16".parse().unwrap(),
        ..NodeState::default()
    }
}

fn pod() -> LocalPod {
    let Value::Object(spec) = json!({ "containers": [{ "name": "web", "image": "web:1" }] }) else {
        unreachable!()
    };
    LocalPod {
        namespace: "shop".to_owned(),
        name: "web-7".to_owned(),
        uid: "u".to_owned(),
        spec,
        ..LocalPod::default()
    }
}

/// The Pod after it was taken.
fn started() -> LocalPod {
    LocalPod { phase: PodPhase::Running, start_time: Some(ago(500)), ..pod() }
}

fn deleted(pod: LocalPod, grace_seconds: i64) -> LocalPod {
    LocalPod { deletion: Some(Deletion { grace_seconds, requested: ago(10) }), ..pod }
}

fn running() -> RemoteStatus {
    let met = |type_: &str| RemoteCondition {
        type_: type_.to_owned(),
        status: true,
        ..RemoteCondition::default()
    };
    RemoteStatus {
        phase: PodPhase::Running,
        pod_ips: vec!["10.2.0.7".to_owned()],
        conditions: ["Initialized", "ContainersReady", "Ready"].map(met).into(),
        ..RemoteStatus::default()
    }
}

/// The export that the Pod has once it was created.
fn export() -> ExportState {
    let actions = decided(Some(&pod()), None, &node(), SETTLED).actions;
    let Some(Action::Export(spec)) = actions.into_iter().next() else { panic!("no export") };
    ExportState { spec: *spec, ..ExportState::default() }
}

fn taken() -> ExportState {
    let export = export();
    let observed_hash = export.spec.spec_hash.clone();
    let remote = Some(RemoteStatus { observed_hash, ..running() });
    ExportState { accepted: true, remote, ..export }
}

fn no_config(_: ConfigKind, _: &str) -> Option<ConfigCopy> {
    None
}

fn decided(
    pod: Option<&LocalPod>,
    export: Option<&ExportState>,
    node: &NodeState,
    views: Views,
) -> Decision {
    let observed = Observed { uid: "u", pod, export, node, views, config: &no_config };
    decide(&observed, now())
}

fn status(decision: &Decision) -> Option<&DesiredStatus> {
    decision.actions.iter().find_map(|action| match action {
        Action::Status(status) => Some(&**status),
        _ => None,
    })
}

/// What is done, in short.
fn kinds(decision: &Decision) -> Vec<&'static str> {
    let kind = |action: &Action| match action {
        Action::Export(_) => "export",
        Action::Update(_) => "update",
        Action::Stop { .. } => "stop",
        Action::Status(_) => "status",
        Action::Remove { .. } => "remove",
        Action::Notify(notice) => notice.reason,
    };
    decision.actions.iter().map(kind).collect()
}

fn remove() -> Action {
    Action::Remove { uid: "u".to_owned() }
}

fn stop_after(seconds: i64) -> Disconnect {
    Disconnect { mode: DisconnectMode::StopAfter, seconds: Some(seconds) }
}
