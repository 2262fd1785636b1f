//! Operations of JSON patches (RFC 6902).

use fleet_accumulator::Meta;
use serde_json::{Value, json};

/// Sets a value, whether or not there is one.
pub fn add(path: &[&str], value: Value) -> Value {
    let mut operation = json!({ "op": "add", "path": pointer(path) });
    operation["value"] = value;
    operation
}

/// Replaces an existing value, such as an element of a list.
pub fn replace(path: &[&str], value: Value) -> Value {
    let mut operation = json!({ "op": "replace", "path": pointer(path) });
    operation["value"] = value;
    operation
}

/// Removes an existing value.
pub fn remove(path: &[&str]) -> Value {
    json!({"op": "remove", "path": pointer(path)})
}

/// JSON pointer (RFC 6901) of a path.
fn pointer(path: &[&str]) -> String {
    path.iter().fold(String::new(), |mut pointer, part| {
        pointer.push('/');
        pointer.push_str(&part.replace('~', "~0").replace('/', "~1"));
        pointer
    })
}

/// Adds a finalizer; no operation if the object has it.
pub fn add_finalizer(meta: &Meta, finalizer: &str) -> Vec<Value> {
    if meta.has_finalizer(finalizer) {
        Vec::new()
    } else if meta.finalizers.is_empty() {
        vec![add(&["metadata", "finalizers"], json!([finalizer]))]
    } else {
        vec![add(&["metadata", "finalizers", "-"], json!(finalizer))]
    }
}

/// Removes a finalizer; no operation if the object does not have it.
///
/// By index: the patch tests the version of the object, and with it the order of the list.
pub fn remove_finalizer(meta: &Meta, finalizer: &str) -> Vec<Value> {
    let position = meta.finalizers.iter().position(|seen| seen.as_ref() == finalizer);
    let index = position.map(|position| position.to_string());
    index.iter().map(|index| remove(&["metadata", "finalizers", index])).collect()
}

/// Sets entries of `labels` or `annotations`; `None` removes one.
///
/// [`Meta`] omits the annotations of kubectl, so this sets annotations only of objects that agents create.
pub fn set_entries(
    meta: &Meta,
    field: &'static str,
    wanted: &[(&str, Option<&str>)],
) -> Vec<Value> {
    let seen = if field == "labels" { &meta.labels } else { &meta.annotations };
    let mut operations = Vec::new();
    let changed = |key: &str, value: Option<&str>| seen.get(key).map(AsRef::as_ref) != value;
    if seen.is_empty() && wanted.iter().any(|(_, value)| value.is_some()) {
        operations.push(add(&["metadata", field], json!({})));
    }
    for (key, value) in wanted.iter().filter(|(key, value)| changed(key, *value)) {
        operations.push(match value {
            Some(value) => add(&["metadata", field, key], json!(value)),
            None => remove(&["metadata", field, key]),
        });
    }
    operations
}
