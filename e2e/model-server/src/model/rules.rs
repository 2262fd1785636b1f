//! What an API server makes of a body: which parts count, and which only it sets.

use fleet_api::ResourceKind;
use serde_json::{Value, json};

use super::spelling::normalized;

/// Whether an object that is written as `object` stays as it is: the server stores nothing then.
pub(super) fn is_same(kind: ResourceKind, current: &Value, object: &Value) -> bool {
    current == object || normalized(kind, current) == normalized(kind, object)
}

/// Everything whose change makes a new generation. To EndpointSlices labels count.
pub(super) fn body(kind: ResourceKind, object: &Value) -> Value {
    let mut body = normalized(kind, object);
    if let Some(body) = body.as_object_mut() {
        let metadata = body.remove("metadata").unwrap_or_default();
        body.remove("status");
        if kind.kind == "EndpointSlice" {
            body.insert("labels".to_owned(), metadata["labels"].clone());
        }
    }
    body
}

/// An object after JSON Patch operations, if they fit it.
pub(super) fn patched(object: &Value, operations: &[Value]) -> Option<Value> {
    let operations: json_patch::Patch = serde_json::from_value(operations.into()).ok()?;
    let mut object = object.clone();
    json_patch::patch(&mut object, &operations).ok()?;
    Some(object)
}

pub(super) fn next_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
    object["metadata"]["generation"] = json!(generation);
}

pub(super) fn finalizers(object: &Value) -> Vec<&Value> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().collect()
}

/// Empty lists and maps in the metadata are not stored.
pub(super) fn drop_empty(object: &mut Value) {
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
