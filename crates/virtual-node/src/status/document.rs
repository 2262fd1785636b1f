//! A status as it is applied on the server.

use std::net::IpAddr;

use fleet_api::offload::{ContainerState, RemoteContainer};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::translate::DesiredStatus;
use crate::condition::Condition;
use crate::pod::LocalPod;

/// Types of the conditions that the agent writes.
pub const REPORTED: [&str; 3] = ["Initialized", "ContainersReady", "Ready"];

/// The status of a Pod for server-side apply with a field manager of its own: it has the agent's fields and no others, so those
/// of other clients stay, and so do spec, labels, annotations and finalizers. `host` is the address of the virtual node.
pub fn document(pod: &LocalPod, desired: &DesiredStatus, host: Option<IpAddr>) -> Value {
    let mut status = Map::new();
    status.insert("phase".to_owned(), desired.phase.as_str().into());
    status.insert(
        "conditions".to_owned(),
        desired.conditions.iter().map(Condition::document).collect(),
    );
    let mut set = |name: &str, value: Option<Value>| {
        status.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("reason", desired.reason.clone().map(Value::from));
    set("message", desired.message.clone().map(Value::from));
    set("startTime", desired.start_time.map(text));
    set("hostIP", host.map(|host| host.to_string().into()));
    set("hostIPs", host.map(|host| json!([{ "ip": host.to_string() }])));
    set("podIP", desired.pod_ips.first().map(|ip| ip.to_string().into()));
    let ips = desired.pod_ips.iter().map(|ip| json!({ "ip": ip.to_string() }));
    set("podIPs", (!desired.pod_ips.is_empty()).then(|| ips.collect()));
    set("containerStatuses", list(&desired.containers));
    set("initContainerStatuses", list(&desired.init_containers));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "namespace": pod.namespace, "name": pod.name, "uid": pod.uid },
        "status": status,
    })
}

fn list(containers: &[RemoteContainer]) -> Option<Value> {
    (!containers.is_empty()).then(|| containers.iter().map(container_document).collect())
}

/// The status of a container as Kubernetes has it.
pub fn container_document(container: &RemoteContainer) -> Value {
    let mut fields = json!({
        "name": container.name,
        "ready": container.ready,
        "restartCount": container.restart_count,
        "image": container.image,
        "imageID": "",
        "state": state(&container.state),
    });
    if let Some(started) = container.started {
        fields["started"] = started.into();
    }
    if let Some(id) = &container.container_id {
        fields["containerID"] = id.clone().into();
    }
    fields
}

/// Exactly one of the three states.
fn state(state: &ContainerState) -> Value {
    let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map(|time| text(time.0))
    };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    if let (Some(code), false) = (state.exit_code, state.running) {
        set("exitCode", Some(code.into()));
        set("finishedAt", time(&state.finished_at));
    }
    if !state.running {
        set("reason", state.reason.clone().map(Value::from));
        set("message", state.message.clone().map(Value::from));
    }
    if state.running || state.exit_code.is_some() {
        set("startedAt", time(&state.started_at));
    }
    let name = match (state.running, state.exit_code) {
        (true, _) => "running",
        (false, Some(_)) => "terminated",
        (false, None) => "waiting",
    };
    json!({ name: fields })
}

/// Whole seconds, as the API server keeps them.
fn text(time: Timestamp) -> Value {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string().into()
}
