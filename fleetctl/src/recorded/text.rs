//! Objects as compact JSON, without what no agent reads.

use std::sync::Arc;

use fleet_api::{ResourceKind, kinds};
use serde_json::Value;

/// A copy of the whole object, which `kubectl apply` keeps.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Kinds that people apply, and `what-if apply` as well: what they have applied last shows what a file has left out since.
const APPLIED: [ResourceKind; 4] =
    [kinds::SERVICE_TRAFFIC, kinds::FLEET_TRAFFIC, kinds::MEMBER_TRAFFIC, kinds::CONFIG_MAP];

/// The text of an object of a kind.
pub(crate) fn of_value(kind: ResourceKind, mut object: Value) -> Arc<str> {
    let is_applied = APPLIED.contains(&kind);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        if !is_applied
            && let Some(notes) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
        {
            notes.remove(LAST_APPLIED);
        }
    }
    object.to_string().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_people_apply_keeps_what_they_applied_last() {
        let text = |kind| {
            let metadata = json!({ "name": "web", "managedFields": [], "annotations": { LAST_APPLIED: "{}" } });
            of_value(kind, json!({ "metadata": metadata }))
        };
        assert!(text(kinds::SERVICE_TRAFFIC).contains(LAST_APPLIED));
        assert_eq!(&*text(kinds::SERVICE), r#"{"metadata":{"annotations":{},"name":"web"}}"#);
    }
}
