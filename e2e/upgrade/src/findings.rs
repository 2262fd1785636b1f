//! What the record of the whole run shows: endpoints that were missing, objects that were deleted, addresses that
//! changed, writes to what rested, and rejected requests.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::{ResourceKind, kinds, labels};
use fleet_oracle::Recording;
use fleet_oracle::object::{
    addresses, back_pointer, label, name, namespace, subject, terminating, text,
};
use fleet_oracle::record::{Event, Micros, What};
use fleet_oracle::requests::Request;
use serde_json::Value;

use crate::part::{Direction, Part};
use crate::services::{MOVING, STANDARD};
use crate::step::Step;

/// Kinds of the objects that follow a user's slices.
const OF_SLICES: [ResourceKind; 3] =
    [kinds::ENDPOINT_SLICE, kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT];

/// A derived Service, and addresses that it always has in a time.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) cluster: String,
    pub(crate) namespace: String,
    pub(crate) derived: String,
    pub(crate) addresses: BTreeSet<String>,
    pub(crate) from: Micros,
    pub(crate) until: Micros,
}

/// Endpoints that a derived Service lacked in its time, by the history of its slices.
pub(crate) fn lost_endpoints(recording: &Recording, kept: &[Kept]) -> Vec<String> {
    let mut slices: BTreeMap<(&str, &str, &str), &Value> = BTreeMap::new();
    let mut found = Vec::new();
    let of_slices =
        recording.events.iter().filter(|event| event.kind == kinds::ENDPOINT_SLICE.kind);
    for event in of_slices {
        let key = (event.cluster.as_str(), namespace(&event.object), name(&event.object));
        let before = slices.remove(&key);
        if event.what != What::Gone {
            slices.insert(key, &event.object);
        }
        let services = [before, Some(&event.object)].into_iter().flatten();
        let services: BTreeSet<_> =
            services.map(|slice| label(slice, labels::SERVICE_NAME)).collect();
        let touched = kept.iter().filter(|one| {
            (one.from..one.until).contains(&event.at)
                && (one.cluster.as_str(), one.namespace.as_str()) == (key.0, key.1)
                && services.contains(one.derived.as_str())
        });
        for one in touched {
            let of_service = slices.iter().filter(|((cluster, namespace, _), slice)| {
                (*cluster, *namespace) == (key.0, key.1)
                    && label(slice, labels::SERVICE_NAME) == one.derived
            });
            let seen: BTreeSet<_> = of_service
                .flat_map(|(_, slice)| addresses(slice, "/endpoints", fleet_oracle::object::ready))
                .collect();
            let lost: Vec<_> =
                one.addresses.iter().filter(|address| !seen.contains(address.as_str())).collect();
            if !lost.is_empty() {
                found.push(format!("{}: {} lacked {lost:?}", one.cluster, one.derived));
            }
        }
    }
    found
}

/// Objects of the fleet that were deleted after `from`, but for copies of slices that come and go, and for what the steps take back.
pub(crate) fn withdrawn(recording: &Recording, steps: &[Step], from: Micros) -> Vec<String> {
    let deleted = recording.events.iter().filter(|event| {
        let leaves = event.what == What::Gone || terminating(&event.object);
        let of_slices = OF_SLICES.iter().any(|kind| kind.kind == event.kind);
        let comes_and_goes = of_slices && is_moving(event);
        event.at >= from && leaves && !comes_and_goes && !is_taken_back(event, steps)
    });
    let titles = deleted.map(|event| {
        let (namespace, name) = (namespace(&event.object), name(&event.object));
        format!("{}: {} {namespace}/{name} was deleted", event.cluster, event.kind)
    });
    titles.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether it is about the standard API or Pods of other members, after those were switched off.
fn is_taken_back(event: &Event, steps: &[Step]) -> bool {
    let mut before = steps.iter().rev().filter(|step| step.begin <= event.at);
    let switched = before.find(|step| step.part == Part::Additions);
    let service = subject(&event.kind, &event.object).unwrap_or_default();
    let is_for_pods =
        event.kind == kinds::NAMESPACE.kind && name(&event.object).starts_with("offload-");
    let is_new = is_for_pods
        || event.kind == kinds::CLUSTER_PROPERTY.kind
        || service.ends_with(&format!("/{STANDARD}"));
    is_new && switched.is_some_and(|step| step.direction == Direction::Back)
}

fn is_moving(event: &Event) -> bool {
    let service = subject(&event.kind, &event.object).unwrap_or_default();
    service.starts_with(&format!("{MOVING}/"))
}

/// Derived Services that got another uid or address after `from`.
pub(crate) fn moved_addresses(recording: &Recording, from: Micros) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut first: BTreeMap<(&str, &str), [&Value; 3]> = BTreeMap::new();
    let derived = recording
        .events
        .iter()
        .filter(|event| event.kind == kinds::SERVICE.kind && back_pointer(&event.object).is_some());
    for event in derived {
        let object = &event.object;
        let pointers = ["/metadata/uid", "/spec/clusterIP", "/status/loadBalancer"];
        let now = pointers.map(|pointer| object.pointer(pointer).unwrap_or(&Value::Null));
        let key = (event.cluster.as_str(), name(object));
        let before = first.insert(key, now);
        if event.at >= from && before.is_some_and(|before| before != now) {
            found.insert(format!("{}: {} had {before:?}, then {now:?}", key.0, key.1));
        }
    }
    found.into_iter().collect()
}

/// Number of derived Services that have an address.
pub(crate) fn with_address(recording: &Recording) -> usize {
    let derived = recording.events.iter().filter(|event| {
        event.kind == kinds::SERVICE.kind
            && !text(&event.object, "/status/loadBalancer/ingress/0/ip").is_empty()
    });
    derived.map(|event| (&event.cluster, event.uid())).collect::<BTreeSet<_>>().len()
}

/// Requests of agents that a right, a policy, a quota or a schema rejected.
pub(crate) fn rejected(recording: &Recording) -> Vec<String> {
    let rejected = recording
        .requests
        .iter()
        .filter(|request| request.author.is_agent() && matches!(request.code, 403 | 422))
        .filter(|request| !is_of_older_role(request) && !request.is_outrun());
    let titles = rejected.map(|request| {
        let Request { cluster, user, verb, resource, namespace, name, message, .. } = request;
        format!("{cluster}: {user} {verb} {resource} {namespace}/{name}: {message}")
    });
    titles.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether an agent asks for what charts of the last release give no right to: its ClusterReport, whose definition stays when
/// they are rolled back, member policies, and the addresses of the member's own cluster. The agent goes on without.
fn is_of_older_role(request: &Request) -> bool {
    let unknown = [kinds::CLUSTER_REPORT, kinds::CONFIG_MAP, kinds::NODE, kinds::SERVICE_CIDR];
    let is_unknown = unknown.iter().any(|kind| request.resource == kind.plural);
    request.code == 403 && is_unknown && !request.is_write()
}

/// Objects by `cluster resource namespace/name`, with the number of writes.
pub(crate) type Writes = BTreeMap<String, usize>;

/// The agents' writes of each step: those to objects that rested, and the number of the others.
pub(crate) fn writes(recording: &Recording, steps: &[Step]) -> Vec<(Writes, usize)> {
    let mut of_steps = vec![(Writes::new(), 0); steps.len()];
    for request in recording.requests.iter().filter(|request| is_write(request)) {
        let next = steps.partition_point(|step| step.begin <= request.received);
        let Some(of_step) = next.checked_sub(1).and_then(|step| of_steps.get_mut(step)) else {
            continue;
        };
        if follows_slices(request) {
            of_step.1 += 1;
        } else {
            *of_step.0.entry(title(request)).or_default() += 1;
        }
    }
    of_steps
}

/// What an idle agent writes is left out.
fn is_write(request: &Request) -> bool {
    let idle = match request.resource.as_str() {
        "leases" | "events" => true,
        "internalmemberclusters" => request.subresource == "status",
        _ => false,
    };
    request.author.is_agent() && request.is_write() && request.succeeded() && !idle
}

/// Whether it is about a copy of a slice that changes: its name has the namespace of its Service, or it is there.
fn follows_slices(request: &Request) -> bool {
    OF_SLICES.iter().any(|kind| kind.plural == request.resource)
        && (request.namespace == MOVING || request.name.contains(&format!("-{MOVING}-")))
}

fn title(request: &Request) -> String {
    let Request { cluster, resource, subresource, namespace, name, verb, .. } = request;
    let part = if subresource.is_empty() { "" } else { "/" };
    format!("{cluster} {verb} {resource}{part}{subresource} {namespace}/{name}")
}

#[cfg(test)]
mod tests;
