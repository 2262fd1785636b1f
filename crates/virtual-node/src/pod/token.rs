//! The token of a ServiceAccount that Kubernetes mounts into nearly every Pod.

use serde_json::{Map, Value};

/// Beginning of the name of the volume that Kubernetes' admission adds.
const INJECTED: &str = "kube-api-access-";
/// Where it is mounted.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Removes the volume that admission added, and its mounts. A token that the user asked for stays, and refuses the Pod: the
/// volume has another name, or is mounted elsewhere.
pub(super) fn remove_injected(pod: &mut Map<String, Value>) {
    let volumes = pod.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let names = volumes.filter_map(|volume| volume["name"].as_str());
    let injected: Vec<_> = names
        .filter(|name| name.starts_with(INJECTED) && mounts(pod, name).all(is_usual))
        .map(str::to_owned)
        .collect();
    if injected.is_empty() {
        return;
    }
    let keep = |entry: &Value| !is_named(entry, &injected);
    retain(pod.get_mut("volumes"), &keep);
    for containers in ["containers", "initContainers"] {
        let containers = pod.get_mut(containers).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            retain(container.get_mut("volumeMounts"), &keep);
        }
    }
}

fn mounts<'a>(pod: &'a Map<String, Value>, volume: &'a str) -> impl Iterator<Item = &'a Value> {
    let lists = ["containers", "initContainers"].into_iter().filter_map(|list| pod.get(list));
    let containers = lists.filter_map(Value::as_array).flatten();
    let mounts = containers.filter_map(|container| container["volumeMounts"].as_array()).flatten();
    mounts.filter(move |mount| mount["name"] == *volume)
}

fn is_usual(mount: &Value) -> bool {
    mount["mountPath"] == MOUNT_PATH
}

fn is_named(entry: &Value, names: &[String]) -> bool {
    names.iter().any(|name| entry["name"] == **name)
}

fn retain(list: Option<&mut Value>, keep: &impl Fn(&Value) -> bool) {
    if let Some(entries) = list.and_then(Value::as_array_mut) {
        entries.retain(keep);
    }
}
