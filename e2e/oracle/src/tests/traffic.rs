//! Members that direct traffic: they read policies and verdicts of the whole fleet, and renew a Lease on the hub.

use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

use super::super::judge;
use super::seeds::Seed;
use super::story::{HUB, Story, agent};

/// The Lease of a member on the hub.
fn heartbeat(member: &str, name: &str) -> Value {
    json!({ "metadata": { "namespace": member_namespace(member), "name": name } })
}

fn create(story: &mut Story, member: &str, lease: &Value) {
    let mut request = story.request(&agent(member), "hub", kinds::LEASE, lease);
    // It has no holder, and is no election.
    request.response = json!({ "spec": { "leaseDurationSeconds": 40 } });
    story.recording.requests.push(request);
}

fn send(story: &mut Story, verb: &str, kind: ResourceKind) {
    let object = json!({ "metadata": { "name": "" } });
    let mut request = story.request(&agent("b"), "hub", kind, &object);
    verb.clone_into(&mut request.verb);
    story.recording.requests.push(request);
}

#[test]
fn what_agents_need_to_direct_traffic_is_theirs() {
    let mut story = Story::exchange();
    for kind in [kinds::FLEET_TRAFFIC, kinds::MEMBER_TRAFFIC, kinds::SERVICE_TRAFFIC] {
        send(&mut story, "list", kind);
        send(&mut story, "watch", kind);
    }
    create(&mut story, "b", &heartbeat("b", MEMBER_LEASE));
    let traffic = json!({ "metadata": { "name": "b" } });
    let request = story.request(&HUB, "hub", kinds::MEMBER_TRAFFIC, &traffic);
    story.recording.requests.push(request);
    story.change();
    let verdict = judge(&story.end());
    assert_eq!(verdict.violations, [], "{verdict}");
}

pub(super) const SEEDS: [Seed; 4] = [
    ("S08", "a verdict by a member", |story| send(story, "update", kinds::MEMBER_TRAFFIC)),
    ("S08", "the Lease of another member", |story| {
        create(story, "b", &heartbeat("a", MEMBER_LEASE));
    }),
    ("S10", "a Lease of another name on the hub", |story| {
        create(story, "b", &heartbeat("b", "mine"));
    }),
    ("S10", "the Lease of another member", |story| {
        create(story, "b", &heartbeat("a", MEMBER_LEASE));
    }),
];
