//! What agents write: S24 (only allow-listed fields cross a cluster border), S25 (valid output), S26 (what is refused
//! is not tried again and again).

use std::collections::BTreeMap;
use std::net::IpAddr;

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{TraceContext, annotations, kinds, labels};
use serde_json::Value;

use super::history::{History, LAG};
use super::kind::kind;
use super::object::{
    is_made_slice, is_standard_service, is_standard_slice, keys, label, list, subject, text,
};
use super::record::Micros;
use super::requests::Request;
use super::violation::Violation;
use fleet_testbed::fault_proxy::RACED;

/// Start of every label and annotation of the fleet.
const OURS: &str = "networking.fleet.azure.com/";

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut refused: BTreeMap<(&str, &str, &str, String), Micros> = BTreeMap::new();
    for request in history.agent_requests().filter(|request| request.is_write()) {
        if request.succeeded() && matches!(request.verb.as_str(), "create" | "update") {
            found.extend(foreign_fields(request));
            found.extend(forbidden_addresses(request));
        }
        if is_invalid(request) && !is_occupied(request) {
            if !exceeds_what_the_hub_allows(request) {
                found.push(Violation::of_request("S25", request, &request.message));
            }
            let body = format!("{} {} {}", request.name, request.subresource, request.body);
            let key = (&*request.cluster, &*request.user, &*request.resource, body);
            let before = refused.insert(key, request.received);
            if before.is_some_and(|before| !has_reason(history, request, before)) {
                found.push(Violation::of_request("S26", request, "what was invalid is sent again"));
            }
        }
    }
    found
}

/// Whether another user has changed what a request is about since another one was received: whatever its agent makes of
/// that, it has to look at all of it again.
fn has_reason(history: &History<'_>, request: &Request, before: Micros) -> bool {
    let kind = kind(request).map_or("", |kind| kind.kind);
    let Some(service) = subject(kind, &request.body) else { return false };
    let namespace = service.split('/').next();
    let since = before - LAG..request.received;
    let lives = history.lives.iter().filter(|life| Some(life.namespace()) == namespace);
    let mut versions = lives.flat_map(|life| &life.versions);
    versions.any(|version| since.contains(&version.when) && !version.author().is_agent())
}

/// Refused for its content. A JSON patch whose tests fail is answered with the same code: that is a conflict.
fn is_invalid(request: &Request) -> bool {
    matches!(request.code, 400 | 413 | 422) && !request.is_outrun()
}

/// The API server frees the address of a deleted Service after it has shown that the Service is gone; until then this is its answer
/// to a request for that address.
fn is_occupied(request: &Request) -> bool {
    request.resource == kinds::SERVICE.plural
        && request.message.contains("provided IP is already allocated")
}

/// A member's agent cannot know what the hub allows it (P2, P5, P6 of docs/security.md) before it tries.
fn exceeds_what_the_hub_allows(request: &Request) -> bool {
    ["P2", "P5", "P6"]
        .iter()
        .any(|rule| request.message.contains(&format!("denied request: {rule}: ")))
}

fn foreign_fields(request: &Request) -> Vec<Violation> {
    let body = &request.body;
    let resource = request.resource.as_str();
    let crossing = [
        kinds::INTERNAL_SERVICE_EXPORT.plural,
        kinds::INTERNAL_SERVICE_IMPORT.plural,
        kinds::ENDPOINT_SLICE_EXPORT.plural,
        kinds::ENDPOINT_SLICE_IMPORT.plural,
        kinds::SERVICE_IMPORT.plural,
        kinds::SERVICE.plural,
        kinds::ENDPOINT_SLICE.plural,
    ];
    let at_home = resource == kinds::ENDPOINT_SLICE.plural && is_made_slice(body);
    if request.group == kinds::MCS_SERVICE_IMPORT.group || is_of_standard(request) {
        return Vec::new(); // What of an export is to be on imports, users state there.
    }
    if at_home || !crossing.contains(&resource) || !request.subresource.is_empty() {
        return Vec::new();
    }
    let mut fields: Vec<String> = Vec::new();
    // The fault proxy's other writer marks an object where it lies; a replacement keeps what it finds there.
    let foreign = |key: &&str| {
        let known = [
            labels::SERVICE_NAME,
            labels::MANAGED_BY,
            annotations::SERVICE_AZURE_LOAD_BALANCER_INTERNAL,
        ];
        !key.starts_with(OURS) && !key.starts_with(RACED) && !known.contains(key)
    };
    fields.extend(keys(body, "/metadata/labels").filter(foreign).map(str::to_owned));
    fields.extend(keys(body, "/metadata/annotations").filter(foreign).map(str::to_owned));
    fields.extend(strange_context(request).map(str::to_owned));
    let owned = list(body, "/metadata/ownerReferences").next().is_some();
    if owned && resource != kinds::SERVICE_IMPORT.plural {
        fields.push("ownerReferences".to_owned());
    }
    let (endpoints, allowed): (&str, &[&str]) = match resource {
        "endpointslices" => ("/endpoints", &["addresses", "conditions"]),
        _ => ("/spec/endpoints", &["addresses"]),
    };
    for endpoint in list(body, endpoints).chain(list(body, "/spec/drainingEndpoints")) {
        fields.extend(keys(endpoint, "").filter(|key| !allowed.contains(key)).map(str::to_owned));
    }
    if resource == kinds::SERVICE.plural {
        let dangerous = ["selector", "externalIPs", "loadBalancerIP", "externalName", "clusterIP"];
        fields.extend(
            keys(body, "/spec")
                .filter(|key| request.verb == "create" && dangerous.contains(key))
                .map(str::to_owned),
        );
    }
    fields.sort();
    fields.dedup();
    let say = |field| Violation::of_request("S24", request, format!("{field} crosses the border"));
    fields.into_iter().map(say).collect()
}

/// Whether it is about what the standard API imports, or carries for it: host names, zones and owners belong to it.
fn is_of_standard(request: &Request) -> bool {
    let body = &request.body;
    is_standard_slice(body)
        || is_standard_service(body)
        || !label(body, labels::MULTICLUSTER_NAMESPACE).is_empty()
}

/// A trace context is on its way on exported slices alone, and in its own form.
fn strange_context(request: &Request) -> Option<&'static str> {
    let travels = [kinds::ENDPOINT_SLICE_EXPORT.plural, kinds::ENDPOINT_SLICE_IMPORT.plural];
    let seen = request.body.pointer("/metadata/annotations")?.get(annotations::TRACEPARENT)?;
    let right = travels.contains(&&*request.resource)
        && seen.as_str().is_some_and(|text| TraceContext::parse(text).is_some());
    (!right).then_some(annotations::TRACEPARENT)
}

fn forbidden_addresses(request: &Request) -> Vec<Violation> {
    let imported = request.resource == kinds::ENDPOINT_SLICE.plural
        && request.namespace == SYSTEM_NAMESPACE
        && text(&request.body, "/addressType") != "FQDN";
    let addresses = list(&request.body, "/endpoints")
        .filter(|_| imported)
        .flat_map(|endpoint| list(endpoint, "/addresses"))
        .filter_map(Value::as_str);
    let wrong = addresses.filter(|address| address.parse().map_or(true, is_special));
    wrong
        .map(|address| Violation::of_request("S25", request, format!("{address} takes no traffic")))
        .collect()
}

fn is_special(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local
}
