//! What must hold of every outcome of ours, whatever the original does.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::differences;

pub(crate) fn check(scenario: &Value, answer: &Value) {
    let outcome = &answer["result"]["outcomes"][0];
    let id = &scenario["id"];
    let mut settle = outcome["settle"].clone();
    if differences::is_annotated(scenario) {
        // Which endpoint is lent to another zone depends on the order of what is written: a slice just made comes first
        // once, and then no more.
        settle["update"] = json!(0);
    }
    assert_eq!(settle, json!({"create": 0, "update": 0, "delete": 0}), "{id} does not settle");
    assert_eq!(outcome["tracker"]["staleNow"], false, "{id}");
    for group in outcome["groups"].as_array().unwrap() {
        sizes(scenario, group);
        let mut seen = BTreeSet::new();
        for endpoint in group["endpoints"].as_array().unwrap() {
            let identity = json!([endpoint["addresses"], endpoint["hostname"], endpoint["target"]]);
            assert!(seen.insert(identity.to_string()), "{id}: {identity} twice");
        }
    }
}

/// Nothing is filled beyond the limit; what was fuller before may stay so.
fn sizes(scenario: &Value, group: &Value) {
    let limit = scenario["config"]["maxEndpointsPerSlice"].as_u64().unwrap();
    for slice in group["slices"].as_array().unwrap() {
        let known = scenario["slices"].as_array().unwrap();
        let before = known.iter().find(|old| old["metadata"]["name"] == slice["name"]);
        let before = before.and_then(|old| old["endpoints"].as_array()).map_or(0, Vec::len) as u64;
        assert!(
            slice["size"].as_u64().unwrap() <= limit.max(before),
            "{}: {slice}",
            scenario["id"]
        );
    }
}
