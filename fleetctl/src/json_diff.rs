//! What a write would change of an object, line by line. Pure.

use std::collections::BTreeSet;

use fleet_plan::Action;
use serde_json::Value;

/// Longest value that is shown, in characters.
const SHOWN: usize = 120;

/// The lines of one write; `current` is the object as it is, where it could be read.
pub(crate) fn lines(action: &Action, current: Option<&Value>) -> Vec<String> {
    let mut lines = Vec::new();
    match action {
        Action::Create(body) => {
            compare("", None, Some(&without_identity(&body.to_value())), &mut lines);
        }
        Action::Replace { body, .. } | Action::Apply { body, .. } => {
            replace(current, &body.to_value(), &mut lines);
        }
        Action::Patch { operations, .. } => {
            for operation in operations {
                patch(operation, current, &mut lines);
            }
        }
        Action::Delete { .. } | Action::ConfirmAbsent => {}
    }
    lines
}

/// Kind and name stand in the line above.
fn without_identity(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(body) = body.as_object_mut() {
        body.retain(|key, _| !["apiVersion", "kind"].contains(&key.as_str()));
    }
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.retain(|key, _| !["name", "namespace"].contains(&key.as_str()));
    }
    body
}

/// The server fills in metadata of its own, which the writer does not touch.
fn replace(current: Option<&Value>, body: &Value, lines: &mut Vec<String>) {
    let wanted = without_identity(body);
    let Some(current) = current else { return compare("", None, Some(&wanted), lines) };
    let mut known = without_identity(current);
    let named = wanted["metadata"].as_object();
    if let Some(metadata) = known["metadata"].as_object_mut() {
        metadata.retain(|key, _| named.is_some_and(|named| named.contains_key(key)));
    }
    if let Some(known) = known.as_object_mut().filter(|_| wanted["status"].is_null()) {
        known.remove("status");
    }
    compare("", Some(&known), Some(&wanted), lines);
}

fn patch(operation: &Value, current: Option<&Value>, lines: &mut Vec<String>) {
    let path = operation["path"].as_str().unwrap_or_default();
    let old = current.and_then(|current| current.pointer(path));
    // To a list an element is added, whatever stands at that place.
    let new = operation.get("value").filter(|_| operation["op"] != "remove");
    compare(path, old, new, lines);
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, lines: &mut Vec<String>) {
    match (old, new) {
        (Some(old), Some(new)) if old == new => {}
        (_, Some(Value::Object(new))) if !new.is_empty() => {
            let old = old.and_then(Value::as_object);
            let keys: BTreeSet<_> =
                old.into_iter().flatten().chain(new).map(|(key, _)| key).collect();
            for key in keys {
                let old = old.and_then(|old| old.get(key));
                compare(&format!("{path}/{}", escaped(key)), old, new.get(key), lines);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                compare(&format!("{path}/{at}"), Some(old), Some(new), lines);
            }
        }
        (Some(old), Some(new)) => lines.push(format!("~ {path}: {} -> {}", shown(old), shown(new))),
        (None, Some(new)) if is_empty(new) => {}
        (None, Some(new)) => lines.push(format!("+ {path}: {}", shown(new))),
        (Some(old), None) => lines.push(format!("- {path}: {}", shown(old))),
        (None, None) => lines.push(format!("- {path}")),
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::{ResourceVersion, Uid};
    use fleet_plan::Precondition;
    use serde_json::json;

    use super::*;

    fn at() -> Precondition {
        Precondition { uid: Uid::from("u"), version: ResourceVersion::from("1") }
    }

    #[test]
    fn a_new_object_is_all_additions_but_its_name() {
        let body = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "n", "labels": { "a/b": "c" } },
            "spec": { "ports": [80] }, "status": {},
        });
        let lines = lines(&Action::Create(body.into()), None);
        assert_eq!(lines, ["+ /metadata/labels/a~1b: \"c\"", "+ /spec/ports: [80]"]);
    }

    #[test]
    fn a_replacement_shows_only_what_differs() {
        let current = json!({
            "metadata": { "name": "n", "uid": "u", "labels": { "a": "b", "old": "x" } },
            "endpoints": [{ "addresses": ["10.0.0.1"] }], "status": { "s": 1 },
        });
        let body = json!({
            "metadata": { "name": "n", "labels": { "a": "b" } },
            "endpoints": [{ "addresses": ["10.0.0.2"] }],
        });
        let lines = lines(&Action::Replace { body: body.into(), at: at() }, Some(&current));
        assert_eq!(
            lines,
            [
                "~ /endpoints/0/addresses/0: \"10.0.0.1\" -> \"10.0.0.2\"",
                "- /metadata/labels/old: \"x\""
            ]
        );
    }

    #[test]
    fn a_patch_is_shown_against_what_it_meets() {
        let current =
            json!({ "metadata": { "finalizers": ["f"] }, "status": { "ports": [80], "ips": [] } });
        let operations = vec![
            json!({ "op": "remove", "path": "/metadata/finalizers/0" }),
            json!({ "op": "add", "path": "/metadata/finalizers/-", "value": "g" }),
            json!({ "op": "add", "path": "/status", "value": { "ports": [81], "ips": [] } }),
            json!({ "op": "remove", "path": "/gone" }),
        ];
        let action = Action::Patch { operations, status: false, at: at() };
        assert_eq!(
            lines(&action, Some(&current)),
            [
                "- /metadata/finalizers/0: \"f\"",
                "+ /metadata/finalizers/-: \"g\"",
                "~ /status/ports/0: 80 -> 81",
                "- /gone"
            ]
        );
    }

    #[test]
    fn long_values_are_cut() {
        let body = json!({ "data": "x".repeat(500) });
        let lines = lines(&Action::Create(body.into()), None);
        assert!(lines[0].ends_with("x...") && lines[0].len() < 150, "{lines:?}");
    }
}
