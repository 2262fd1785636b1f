//! How agents write: S22 (deletions name the incarnation), S23 (nothing is overwritten blindly), S31 (nothing is made
//! where everything ends), L2 (no write that changes nothing).

use std::collections::{BTreeMap, HashMap};

use fleet_api::kinds;
use serde_json::Value;

use super::history::{HUB, History, LAG, Until};
use super::object::{list, terminating, text};
use super::requests::{Author, Request};
use super::violation::Violation;

/// How often an agent that has not seen an end may try to make something there.
const TRIES: usize = 3;

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut late: BTreeMap<(&str, &str, &str, &str), usize> = BTreeMap::new();
    for request in history.agent_requests().filter(|request| request.is_write()) {
        if request.resource == "events" {
            continue; // Hints: each is made once, and nothing depends on them.
        }
        found.extend(blind(request));
        if request.verb == "create" && ends(history, request) {
            let Request { cluster, namespace, resource, user, .. } = request;
            let tries = late.entry((cluster, namespace, resource, user)).or_default();
            // A member does not see the hub's namespaces: it learns of an end by being refused.
            *tries += usize::from(!(cluster == HUB && matches!(request.author, Author::Member(_))));
            if request.succeeded() || *tries == TRIES + 1 {
                found.push(Violation::of_request("S31", request, "made where everything ends"));
            }
        }
    }
    found.extend(without_effect(history));
    found
}

/// S22 and S23.
fn blind(request: &Request) -> Option<Violation> {
    let say = |invariant, sentence: &str| Some(Violation::of_request(invariant, request, sentence));
    let body = &request.body;
    match request.verb.as_str() {
        // The bodies of all but these are not in the log, nor is one that was refused unread.
        _ if body.is_null() && (request.verb != "delete" || is_unread(request)) => None,
        "deletecollection" => say("S22", "many at once"),
        "delete" if text(body, "/preconditions/uid").is_empty() => {
            say("S22", "whichever incarnation it is")
        }
        "update" if text(body, "/metadata/resourceVersion").is_empty() => {
            say("S23", "whatever was there")
        }
        "patch" if !tests_uid(body) => say("S23", "whichever incarnation it is"),
        _ => None,
    }
}

/// Refused for who asked, or because the server could not answer anybody.
fn is_unread(request: &Request) -> bool {
    matches!(request.code, 0 | 401 | 403 | 429 | 500..)
}

fn tests_uid(patch: &Value) -> bool {
    list(patch, "").any(|one| one["op"] == "test" && one["path"] == "/metadata/uid")
}

/// S31: the namespace was terminating, or the owner, when the agent must have known it.
fn ends(history: &History<'_>, request: &Request) -> bool {
    let until = Until::Time(request.received - LAG);
    let cluster = request.cluster.as_str();
    let mut namespaces = history.named(cluster, kinds::NAMESPACE, ("", request.namespace.as_str()));
    let owners = list(&request.body, "/metadata/ownerReferences");
    let owned_by_the_dying = || {
        owners.map(|owner| text(owner, "/uid")).any(|uid| {
            let mut imports = history.of_kind(cluster, kinds::MULTI_CLUSTER_SERVICE);
            imports.any(|one| one.uid() == uid && one.at(until).is_some_and(terminating))
        })
    };
    // One of the same name may have taken its place.
    let now = Until::Time(request.received);
    namespaces.any(|one| one.at(until).is_some_and(terminating) && one.at(now).is_some())
        || owned_by_the_dying()
}

/// L2: the answer shows a version that was there before.
fn without_effect(history: &History<'_>) -> Vec<Violation> {
    let mut first: HashMap<(&str, &str, &str), &Request> = HashMap::new();
    let mut found = Vec::new();
    for request in &history.recording.requests {
        let uid = text(&request.response, "/metadata/uid");
        let version = text(&request.response, "/metadata/resourceVersion");
        if !request.is_write() || !request.succeeded() || uid.is_empty() || version.is_empty() {
            continue;
        }
        // What is finally removed is answered with its last state.
        let removal = request.verb == "delete" || terminating(&request.response);
        match first.entry((&request.cluster, uid, version)) {
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(request)),
            std::collections::hash_map::Entry::Occupied(_) => {
                if request.author.is_agent() && !removal {
                    found.push(Violation::of_request("L2", request, "it changes nothing"));
                }
            }
        }
    }
    found
}
