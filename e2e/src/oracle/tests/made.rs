//! Slices that a member agent makes in its own cluster: one in its place, and those that are not.

use fleet_api::{kinds, labels};
use serde_json::{Value, json};

use super::seeds::Seed;
use super::story::{Story, TEAM, WEB, agent};

/// A slice as it should be; its address is that of the user's own.
pub(super) fn made(story: &Story) -> Value {
    let uid = story.uid("a", kinds::SERVICE, (TEAM, WEB));
    json!({
        "metadata": {
            "namespace": TEAM, "name": "external-web-1",
            "labels": {
                labels::SERVICE_NAME: WEB,
                labels::MANAGED_BY: labels::MANAGED_BY_EXTERNAL_WORKLOADS,
            },
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Service", "name": WEB, "uid": uid, "controller": true,
            }],
        },
        "addressType": "IPv4",
        "endpoints": [{
            "addresses": ["10.1.0.9"], "conditions": { "ready": false },
            "targetRef": { "kind": "ExternalWorkload", "namespace": TEAM, "name": "vm" },
        }],
    })
}

fn put(story: &mut Story, change: fn(&mut Value)) {
    let mut slice = made(story);
    change(&mut slice);
    story.put(&agent("a"), "a", kinds::ENDPOINT_SLICE, slice);
}

pub(super) const SEEDS: [Seed; 4] = [
    ("S28", "a slice without owner", |story| {
        put(story, |slice| slice["metadata"]["ownerReferences"] = json!([]));
    }),
    ("S28", "a slice of an earlier Service", |story| {
        put(story, |slice| slice["metadata"]["ownerReferences"][0]["uid"] = json!("earlier"));
    }),
    ("S28", "a slice that is too big", |story| {
        put(story, |slice| {
            slice["endpoints"] = (0..101).map(|_| slice["endpoints"][0].clone()).collect();
        });
    }),
    ("S28", "a slice that was the user's", |story| {
        put(story, |slice| slice["metadata"]["name"] = json!(WEB));
    }),
];
