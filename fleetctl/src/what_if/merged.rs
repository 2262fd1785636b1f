//! What becomes of an object to which a document is applied.

use serde_json::{Map, Value};

use crate::recorded::LAST_APPLIED;

/// What a document names an object by, and what it cannot change.
const OTHERS: [&str; 4] = ["metadata", "apiVersion", "kind", "status"];

/// Metadata stay as they are. Of the rest, fields of the document are set, fields that the last one had and this one has not go, and others stay: among them those that the API
/// server fills in. <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#merge-patch-calculation>
pub(super) fn merged(present: &mut Value, document: &Value) {
    let last = present["metadata"]["annotations"][LAST_APPLIED].as_str();
    let mut last: Value = last.and_then(|last| serde_json::from_str(last).ok()).unwrap_or_default();
    let mut document = document.clone();
    for part in OTHERS {
        for whole in [&mut last, &mut document] {
            whole.as_object_mut().map(|whole| whole.remove(part));
        }
    }
    drop_left_out(present, &last, &document);
    json_patch::merge(present, &document);
}

fn drop_left_out(present: &mut Value, last: &Value, document: &Value) {
    let (Some(present), Some(last)) = (present.as_object_mut(), last.as_object()) else { return };
    let empty = Map::new();
    let document = document.as_object().unwrap_or(&empty);
    for (field, old) in last {
        match (present.get_mut(field), document.get(field)) {
            (Some(there), Some(new)) => drop_left_out(there, old, new),
            (_, None) => drop(present.remove(field)),
            (None, Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_fills_in_stays() {
        let mut present = json!({ "kind": "X", "spec": { "drains": [], "silence": "Auto" }, "status": { "serial": 3 } });
        let before = present.clone();
        merged(&mut present, &json!({ "kind": "X", "spec": { "drains": [] }, "status": {} }));
        assert_eq!(present, before);
        merged(&mut present, &json!({ "kind": "X", "spec": { "drains": [{ "service": "*" }] } }));
        assert_eq!(present["spec"], json!({ "drains": [{ "service": "*" }], "silence": "Auto" }));
    }

    #[test]
    fn what_the_last_document_had_and_this_one_has_not_goes() {
        let last = json!({ "metadata": { "name": "web" }, "spec": { "spill": { "size": 5, "belowPercent": 50 }, "weights": [] } });
        let mut present = json!({
            "metadata": { "name": "web", "annotations": { LAST_APPLIED: last.to_string() } },
            "spec": { "spill": { "size": 5, "belowPercent": 50 }, "weights": [], "preference": "None" },
        });
        merged(&mut present, &json!({ "metadata": {}, "spec": { "spill": { "size": 7 } } }));
        assert_eq!(present["spec"], json!({ "spill": { "size": 7 }, "preference": "None" }));
        assert_eq!(present["metadata"]["name"], "web");
        merged(&mut present, &json!({ "metadata": {} }));
        assert_eq!(present["spec"], Value::Null, "as of a document without a specification");
    }

    #[test]
    fn what_somebody_else_has_noted_there_changes_nothing() {
        for noted in [json!("{"), json!("[]"), json!(7), json!("{\"spec\": 7}")] {
            let mut present = json!({ "metadata": { "annotations": { LAST_APPLIED: noted } }, "spec": { "a": 1 } });
            merged(&mut present, &json!({ "spec": { "b": 2 } }));
            assert_eq!(present["spec"], json!({ "a": 1, "b": 2 }));
        }
    }
}
