//! Server-side apply: fields that were applied before and are not any more go, those of others stay.

use serde_json::{Map, Value};

/// Lists whose entries are merged by these of their fields (`x-kubernetes-list-map-keys` of the kinds that are applied).
const KEYED: [(&str, &[&str]); 5] = [
    ("conditions", &["type"]),
    ("taints", &["key", "effect"]),
    ("ownerReferences", &["uid"]),
    ("podIPs", &["ip"]),
    ("addresses", &["type"]),
];

/// The object with what is applied. `before` is what was applied last.
pub(super) fn applied(current: &Value, before: &Value, body: &Value) -> Value {
    let mut object = current.clone();
    drop_left_out(&mut object, before, body);
    merge(&mut object, body);
    object
}

fn drop_left_out(object: &mut Value, before: &Value, body: &Value) {
    let (Some(object), Some(before)) = (object.as_object_mut(), before.as_object()) else { return };
    for (name, old) in before {
        let new = body.get(name).unwrap_or(&Value::Null);
        match (keys(name), object.get_mut(name)) {
            (_, None) => {}
            (Some(keys), Some(Value::Array(list))) => {
                let is_left_out = |entry: &Value| {
                    find(old, keys, entry).is_some() && find(new, keys, entry).is_none()
                };
                list.retain(|entry| !is_left_out(entry));
                for entry in list {
                    if let Some((old, new)) = find(old, keys, entry).zip(find(new, keys, entry)) {
                        drop_left_out(entry, old, new);
                    }
                }
            }
            (None, Some(_)) if new.is_null() => {
                object.remove(name);
            }
            (_, Some(present)) => drop_left_out(present, old, new),
        }
    }
}

fn merge(object: &mut Value, body: &Value) {
    let Some(fields) = body.as_object() else {
        *object = body.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    for (name, value) in fields {
        let present = &mut object[name.as_str()];
        match (keys(name), value.as_array()) {
            (Some(keys), Some(entries)) => merge_list(present, entries, keys),
            _ => merge(present, value),
        }
    }
}

fn merge_list(list: &mut Value, entries: &[Value], keys: &[&str]) {
    if !list.is_array() {
        *list = Value::Array(Vec::new());
    }
    let Some(list) = list.as_array_mut() else { return };
    for entry in entries {
        match list.iter_mut().find(|present| is_same(present, entry, keys)) {
            Some(present) => merge(present, entry),
            None => list.push(entry.clone()),
        }
    }
}

fn keys(list: &str) -> Option<&'static [&'static str]> {
    KEYED.iter().find(|(name, _)| *name == list).map(|(_, keys)| *keys)
}

fn find<'a>(list: &'a Value, keys: &[&str], entry: &Value) -> Option<&'a Value> {
    list.as_array()?.iter().find(|other| is_same(other, entry, keys))
}

fn is_same(one: &Value, other: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| one[*key] == other[*key])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_others_stay_and_own_ones_go() {
        let current = json!({ "status": {
            "phase": "Running", "reason": "Old", "qosClass": "Burstable",
            "conditions": [{ "type": "PodScheduled", "status": "True" }, { "type": "Ready", "status": "False" }],
        } });
        let before = json!({ "status": { "phase": "Running", "reason": "Old", "conditions": [{ "type": "Ready" }] } });
        let body = json!({ "status": {
            "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }],
        } });
        let expected = json!({ "status": {
            "phase": "Running", "qosClass": "Burstable",
            "conditions": [{ "type": "PodScheduled", "status": "True" }, { "type": "Ready", "status": "True" }],
        } });
        assert_eq!(applied(&current, &before, &body), expected);
        let none = json!({ "status": { "conditions": [] } });
        let left = json!({ "status": {
            "qosClass": "Burstable", "conditions": [{ "type": "PodScheduled", "status": "True" }],
        } });
        assert_eq!(applied(&expected, &body, &none), left);
    }
}
