//! What can be changed of a Pod that exists.

use serde_json::{Value, json};

use super::pod::{CONFIG_GATE, SPEC_HASH};

/// The hash of the spec that a remote Pod was made or updated for.
pub fn spec_hash_of(pod: &Value) -> Option<&str> {
    pod["metadata"]["annotations"][SPEC_HASH].as_str()
}

/// The operations of a JSON patch that make a Pod like another one, as far as Kubernetes lets a Pod change: images, the deadline,
/// labels and annotations. The hash is among the annotations, so one that differs in nothing else is updated once.
pub fn changes(present: &Value, wanted: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    for list in ["containers", "initContainers"] {
        images(present, wanted, list, &mut operations);
    }
    set(present, wanted, "/spec/activeDeadlineSeconds", &mut operations);
    for field in ["/metadata/labels", "/metadata/annotations"] {
        merge(present, wanted, field, &mut operations);
    }
    operations.extend(without_gate(present));
    operations
}

/// Its config maps are there. Gates of others, which the executor's own admission has added, stay.
fn without_gate(present: &Value) -> Option<Value> {
    let path = "/spec/schedulingGates";
    let gates = present.pointer(path)?.as_array()?;
    let others: Vec<_> = gates.iter().filter(|gate| gate["name"] != CONFIG_GATE).collect();
    if others.len() == gates.len() {
        return None;
    }
    Some(if others.is_empty() {
        json!({ "op": "remove", "path": path })
    } else {
        json!({ "op": "replace", "path": path, "value": others })
    })
}

fn images(present: &Value, wanted: &Value, list: &str, operations: &mut Vec<Value>) {
    let containers = |pod: &Value| pod["spec"][list].as_array().cloned().unwrap_or_default();
    let wanted = containers(wanted);
    for (at, container) in containers(present).iter().enumerate() {
        let other = wanted.iter().find(|other| other["name"] == container["name"]);
        if let Some(other) = other {
            let path = format!("/spec/{list}/{at}/image");
            replace(&container["image"], &other["image"], &path, operations);
        }
    }
}

fn set(present: &Value, wanted: &Value, path: &str, operations: &mut Vec<Value>) {
    let at = |pod: &Value| pod.pointer(path).cloned().unwrap_or_default();
    replace(&at(present), &at(wanted), path, operations);
}

/// Keys of other clients stay.
fn merge(present: &Value, wanted: &Value, path: &str, operations: &mut Vec<Value>) {
    let at = |pod: &Value| pod.pointer(path).and_then(Value::as_object).cloned();
    let (Some(wanted), present) = (at(wanted), at(present)) else { return };
    let Some(present) = present else {
        operations.push(json!({ "op": "add", "path": path, "value": wanted }));
        return;
    };
    for (key, value) in &wanted {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        replace(present.get(key).unwrap_or(&Value::Null), value, &path, operations);
    }
}

fn replace(present: &Value, wanted: &Value, path: &str, operations: &mut Vec<Value>) {
    if present != wanted && !wanted.is_null() {
        operations.push(json!({ "op": "add", "path": path, "value": wanted }));
    }
}
