//! Objects that are the same in several spellings: as a client sends them, and as a server answers.

use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

/// An object in the one spelling that can be compared. Lists have no kind in their elements, where it is one of Kubernetes' own, and
/// writers name it. Of a slice, a server answers with `null` for a list without elements, and with `{}` for conditions of which none
/// is known.
pub fn normalized(kind: ResourceKind, object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(object) = object.as_object_mut() {
        object.retain(|name, _| name != "apiVersion" && name != "kind");
    }
    if kind == kinds::ENDPOINT_SLICE {
        normalize_slice(&mut object);
    }
    object
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_that_a_server_answers_is_the_one_that_was_sent() {
        let answered = json!({
            "metadata": { "name": "web" }, "ports": null,
            "endpoints": [
                { "addresses": ["10.0.0.1"], "conditions": {} },
                { "addresses": ["10.0.0.2"], "conditions": { "ready": false } },
            ],
        });
        let known = json!({ "addresses": ["10.0.0.2"], "conditions": { "ready": false } });
        let sent = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": { "name": "web" }, "ports": [],
            "endpoints": [{ "addresses": ["10.0.0.1"] }, known],
        });
        let of = |object: &Value| normalized(kinds::ENDPOINT_SLICE, object);
        assert_eq!(of(&answered), of(&sent));
        let other = json!({ "metadata": { "name": "web" }, "endpoints": null, "ports": [] });
        assert_eq!(
            of(&other),
            json!({ "metadata": { "name": "web" }, "endpoints": [], "ports": [] })
        );
        assert_ne!(of(&answered), of(&other));
    }
}
