//! Objects as compact JSON, without what no agent reads.

use std::sync::Arc;

use serde_json::Value;

/// A copy of the whole object, which kubectl keeps.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The text of an object.
pub(crate) fn of_value(mut object: Value) -> Arc<str> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        if let Some(notes) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            notes.remove(LAST_APPLIED);
        }
    }
    object.to_string().into()
}
