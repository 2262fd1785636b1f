//! What an API server makes of a body: which parts count, and which only it sets.

use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

/// Everything whose change makes a new generation. To EndpointSlices labels count.
pub(super) fn body(kind: ResourceKind, object: &Value) -> Value {
    let mut body = object.clone();
    if let Some(body) = body.as_object_mut() {
        let metadata = body.remove("metadata").unwrap_or_default();
        body.remove("status");
        if kind.kind == "EndpointSlice" {
            body.insert("labels".to_owned(), metadata["labels"].clone());
        }
    }
    body
}

pub(super) fn next_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
    object["metadata"]["generation"] = json!(generation);
}

pub(super) fn finalizers(object: &Value) -> Vec<&Value> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().collect()
}

/// Puts what has several spellings into one, so that an object that is written as it was is the same one. Lists have no kind in their
/// elements, where it is one of Kubernetes' own, and writers name it.
pub(super) fn normalize(kind: ResourceKind, object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|name, _| name != "apiVersion" && name != "kind");
    }
    drop_empty(object);
    if kind == kinds::ENDPOINT_SLICE {
        normalize_slice(object);
    }
}

/// An API server answers with `null` for a list without elements, and with `{}` for conditions of which none is known.
fn normalize_slice(slice: &mut Value) {
    for list in ["endpoints", "ports"] {
        if slice[list].is_null() {
            slice[list] = json!([]);
        }
    }
    let endpoints = slice["endpoints"].as_array_mut();
    for endpoint in endpoints.into_iter().flatten().filter_map(Value::as_object_mut) {
        endpoint.retain(|name, value| name != "conditions" || *value != json!({}));
    }
}

/// Empty lists and maps in the metadata are not stored.
fn drop_empty(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    metadata.retain(|_, value| match value {
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Null => false,
        _ => true,
    });
}

/// A PUT keeps what only the server sets, and the status where that is a subresource.
pub(super) fn replaced(kind: ResourceKind, current: &Value, mut object: Value) -> Value {
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"]
    {
        if !current["metadata"][field].is_null() {
            object["metadata"][field] = current["metadata"][field].clone();
        }
    }
    if has_status(kind) { with_status(&object, current) } else { object }
}

pub(super) fn with_status(object: &Value, source: &Value) -> Value {
    let mut object = object.clone();
    if source["status"].is_null() {
        if let Some(object) = object.as_object_mut() {
            object.remove("status");
        }
    } else {
        object["status"] = source["status"].clone();
    }
    object
}

pub(super) fn has_status(kind: ResourceKind) -> bool {
    !matches!(kind.kind, "EndpointSlice" | "EndpointSliceImport" | "ResolvedService")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_has_one_spelling() {
        let mut answered = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": { "name": "web", "labels": {} }, "ports": null,
            "endpoints": [
                { "addresses": ["10.0.0.1"], "conditions": {} },
                { "addresses": ["10.0.0.2"], "conditions": { "ready": false } },
            ],
        });
        normalize(kinds::ENDPOINT_SLICE, &mut answered);
        let known = json!({ "addresses": ["10.0.0.2"], "conditions": { "ready": false } });
        let sent = json!({
            "metadata": { "name": "web" }, "ports": [],
            "endpoints": [{ "addresses": ["10.0.0.1"] }, known],
        });
        assert_eq!(answered, sent);
        let mut empty = json!({ "metadata": {}, "endpoints": null, "ports": [] });
        normalize(kinds::ENDPOINT_SLICE, &mut empty);
        assert_eq!(empty, json!({ "metadata": {}, "endpoints": [], "ports": [] }));
    }
}
