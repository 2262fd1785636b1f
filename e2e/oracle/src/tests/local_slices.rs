//! Slices that a member agent makes in its own cluster: one in its place, and those that are not.

use fleet_api::{kinds, labels};
use serde_json::{Value, json};

use super::seeds::Seed;
use super::story::{Story, TEAM, USER, WEB, agent};

const MACHINE: (&str, &str) = (TEAM, "vm");

/// A machine, and a slice of it as it should be.
pub(super) fn make(story: &mut Story) {
    make_otherwise(story, |_| {});
}

fn make_otherwise(story: &mut Story, change: fn(&mut Value)) {
    let machine = json!({
        "metadata": { "namespace": TEAM, "name": "vm", "labels": { "app": WEB } },
        "spec": { "workloadIPs": [{ "ip": "10.1.0.9" }] },
    });
    story.put(&USER, "a", kinds::EXTERNAL_WORKLOAD, machine);
    let mut slice = slice(story);
    change(&mut slice);
    story.put(&agent("a"), "a", kinds::ENDPOINT_SLICE, slice);
    story.pause();
}

fn slice(story: &Story) -> Value {
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

/// What is in its place until a user does this.
fn outlive(story: &mut Story, change: impl FnOnce(&mut Story)) {
    make(story);
    change(story);
}

fn edit_service(story: &mut Story, change: impl FnOnce(&mut Value)) {
    story.edit(&USER, "a", kinds::SERVICE, (TEAM, WEB), change);
}

fn edit_machine(story: &mut Story, change: impl FnOnce(&mut Value)) {
    story.edit(&USER, "a", kinds::EXTERNAL_WORKLOAD, MACHINE, change);
}

pub(super) const SEEDS: [Seed; 13] = [
    ("S18", "an endpoint in two slices", |story| {
        make(story);
        make_otherwise(story, |slice| slice["metadata"]["name"] = json!("external-web-2"));
    }),
    ("S28", "a slice without owner", |story| {
        make_otherwise(story, |slice| slice["metadata"]["ownerReferences"] = json!([]));
    }),
    ("S28", "a slice of an earlier Service", |story| {
        make_otherwise(story, |slice| {
            slice["metadata"]["ownerReferences"][0]["uid"] = json!("earlier");
        });
    }),
    ("S28", "a slice that is too big", |story| {
        make_otherwise(story, |slice| {
            slice["endpoints"] = (0..101).map(|_| slice["endpoints"][0].clone()).collect();
        });
    }),
    ("S28", "a slice that was the user's", |story| {
        make_otherwise(story, |slice| slice["metadata"]["name"] = json!(WEB));
    }),
    ("S29", "a slice of a Service that is gone", |story| {
        outlive(story, |story| story.delete(&USER, "a", kinds::SERVICE, (TEAM, WEB)));
    }),
    ("S29", "a slice of a Service without selector", |story| {
        outlive(story, |story| {
            edit_service(story, |service| service["spec"]["selector"] = Value::Null);
        });
    }),
    ("S29", "a slice of an ExternalName", |story| {
        outlive(story, |story| {
            edit_service(story, |service| service["spec"]["type"] = json!("ExternalName"));
        });
    }),
    ("S29", "a slice of a machine that is gone", |story| {
        outlive(story, |story| story.delete(&USER, "a", kinds::EXTERNAL_WORKLOAD, MACHINE));
    }),
    ("S29", "a slice of a machine that is somebody else's", |story| {
        outlive(story, |story| {
            edit_machine(story, |machine| machine["metadata"]["labels"] = json!({ "app": "x" }));
        });
    }),
    ("S29", "a slice of a machine without address", |story| {
        outlive(story, |story| {
            edit_machine(story, |machine| machine["spec"]["workloadIPs"] = json!([]));
        });
    }),
    ("S29", "a slice that says ready of a machine that is not", |story| {
        make_otherwise(story, |slice| slice["endpoints"][0]["conditions"] = json!({}));
    }),
    ("S29", "a slice without endpoints", |story| {
        make_otherwise(story, |slice| slice["endpoints"] = json!([]));
    }),
];
