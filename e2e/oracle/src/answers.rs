//! What the answer to a write shows of the object.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::object::{finalizers, terminating, text};
use super::record::{Event, What};
use super::requests::Request;

/// The event that a watch would show of a write that was done. `None` if the answer does not show it.
pub(super) fn told(request: &Request) -> Option<Event> {
    if request.resource == kinds::LEASE.plural {
        return None; // What matters of a Lease is who wrote it when.
    }
    if request.resource == kinds::CLUSTER_REPORT.plural {
        return None; // It is about no Service.
    }
    let answer = &request.response;
    let (what, kind, object) = if text(answer, "/kind") == "Status" {
        (What::Gone, text(answer, "/details/kind"), removed(request)?)
    } else if text(answer, "/metadata/uid").is_empty() {
        return None;
    } else {
        (change(request), text(answer, "/kind"), answer.clone())
    };
    let (cluster, kind) = (request.cluster.clone(), kind_of(request, kind));
    Some(Event { at: request.answered, cluster, kind, what, object })
}

fn change(request: &Request) -> What {
    let held = !finalizers(&request.response).is_empty();
    match request.verb.as_str() {
        "create" => What::Added,
        // What nothing holds is removed with the request, and answered with its last state.
        "delete" if !held => What::Gone,
        _ if terminating(&request.response) && !held => What::Gone,
        _ => What::Changed,
    }
}

/// What a deletion that was done at once shows of the object.
fn removed(request: &Request) -> Option<Value> {
    let uid = text(&request.response, "/details/uid");
    let metadata = json!({ "namespace": request.namespace, "name": request.name, "uid": uid });
    (request.verb == "delete" && !uid.is_empty()).then(|| json!({ "metadata": metadata }))
}

/// A Status names the plural.
fn kind_of(request: &Request, named: &str) -> String {
    let kind = super::kind::kind(request);
    kind.map_or(named, |known| known.kind).to_owned()
}
