//! What only the origin knows of a Pod, as values in its environment.
//!
//! The remote Pod has another name, namespace and uid, and other labels: a `fieldRef` would show these. What the kubelet of the
//! executor knows better, such as addresses and the node, stays a reference and is resolved there.

use serde_json::{Map, Value, json};

use super::local::LocalPod;
use crate::environment::{as_lines, subscript};

/// The value of a field that the origin knows; `None` for all that only a kubelet knows.
pub fn origin_value(pod: &LocalPod, path: &str) -> Option<String> {
    let known = match path {
        "metadata.name" => &pod.name,
        "metadata.namespace" => &pod.namespace,
        "metadata.uid" => &pod.uid,
        "metadata.labels" => return Some(as_lines(&pod.labels)),
        "metadata.annotations" => return Some(as_lines(&pod.annotations)),
        "spec.serviceAccountName" => {
            return Some(pod.spec.get("serviceAccountName")?.as_str()?.to_owned());
        }
        _ => {
            let (list, key) = subscript(path)?;
            let map = if list == "metadata.labels" { &pod.labels } else { &pod.annotations };
            return Some(map.get(key).cloned().unwrap_or_default());
        }
    };
    Some(known.clone())
}

/// Replaces references to fields that the origin knows by their values.
pub(super) fn substitute(spec: &mut Map<String, Value>, pod: &LocalPod) {
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        let lists = containers.filter_map(|container| container.get_mut("env")?.as_array_mut());
        lists.flatten().for_each(|variable| substitute_in(variable, pod));
    }
}

fn substitute_in(variable: &mut Value, pod: &LocalPod) {
    let path = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
    let Some(value) = path.and_then(|path| origin_value(pod, path)) else { return };
    // A kubelet expands references in values, but not in fields: two signs are one for it.
    *variable = json!({ "name": variable["name"], "value": value.replace('$', "$$") });
}
