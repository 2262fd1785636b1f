//! Processes of one agent in an election.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::seeds::Seed;
use super::story::{Story, TEAM, WEB, agent, own};
use crate::leadership::check;
use crate::requests::{Author, Request};

const SECOND: i64 = 1_000_000;

/// A request of a process of member a, some seconds after the beginning.
fn request(account: &str, resource: &str, seconds: i64, response: Value) -> Request {
    let story = Story::exchange();
    let mut request = story.request(&agent("a"), "a", kinds::SERVICE_EXPORT, &json!({}));
    request.user = format!("system:serviceaccount:fleet-system:{account}");
    request.author = Author::of("a", &request.user);
    resource.clone_into(&mut request.resource);
    (request.received, request.answered) = (seconds * SECOND, seconds * SECOND + 1);
    Request { response, ..request }
}

fn lease(account: &str, seconds: i64, holder: &str) -> Request {
    let spec = json!({ "holderIdentity": holder, "leaseDurationSeconds": 8 });
    request(account, kinds::LEASE.plural, seconds, json!({ "spec": spec }))
}

fn write(account: &str, seconds: i64) -> Request {
    request(account, "serviceexports", seconds, Value::Null)
}

/// One after the other holds the Lease, and writes while it does.
#[test]
fn whoever_holds_the_lease_writes() {
    let requests = [
        write("hub-agent", 0), // Stands in no election.
        lease("member-agent", 1, "one"),
        write("member-agent", 2),
        lease("member-agent", 6, "one"),
        write("member-agent", 13),
        lease("member-agent-1", 15, "two"),
        write("member-agent-1", 16),
        lease("member-agent-1", 17, ""),
        lease("member-agent", 18, "one"),
        write("member-agent", 19),
    ];
    assert_eq!(check(&requests), []);
}

/// A virtual node has a Lease, too.
#[test]
fn heartbeats_are_no_election() {
    let heartbeat = |namespace: &str, name: &str| Request {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..lease("member-agent", 3, "")
    };
    for beat in [heartbeat("kube-node-lease", "fleet-b"), heartbeat("team", "fleet-member")] {
        let requests = [lease("member-agent", 1, "one"), beat, write("member-agent", 4)];
        assert_eq!(check(&requests), []);
    }
    let requests =
        [lease("member-agent", 1, "one"), heartbeat("team", "other"), write("member-agent", 4)];
    assert_eq!(check(&requests).len(), 1);
}

#[test]
fn whoever_does_not_hold_it_does_not_write() {
    for (last, sentence) in [
        (write("member-agent-1", 2), "another holds the Lease"),
        (write("member-agent", 10), "the Lease is over"),
        (write("member-agent", 0), "no process holds the Lease yet"),
    ] {
        let found = check(&[lease("member-agent", 1, "one"), last]);
        assert!(found.len() == 1 && found[0].sentence.starts_with(sentence), "{found:?}");
    }
    let given_back =
        [lease("member-agent", 1, "one"), lease("member-agent", 2, ""), write("member-agent", 3)];
    assert!(check(&given_back)[0].sentence.starts_with("the Lease was given back"));
}

pub(super) const SEEDS: [Seed; 1] = [("S27", "a write of another process", |story| {
    let kind = kinds::SERVICE_EXPORT;
    let mut lease = story.request(&agent("a"), "a", kinds::LEASE, &own());
    lease.user.push_str("-1");
    lease.response = json!({ "spec": { "holderIdentity": "two", "leaseDurationSeconds": 30 } });
    story.recording.requests.push(lease);
    story.edit(&agent("a"), "a", kind, (TEAM, WEB), |export| export["status"] = json!({}));
})];
