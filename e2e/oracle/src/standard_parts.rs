//! Of what an import of the standard API consists: S37 (derived Service and slices fit the import), S38 (no name resolves to an
//! address that no Service had), S39 (a ServiceExport is ready while its cluster is an exporter).

use std::collections::BTreeSet;

use fleet_api::{kinds, labels};
use serde_json::Value;

use super::history::{History, Life};
use super::kind::{STANDARD_EXPORT, STANDARD_IMPORT};
use super::object::{
    condition_status, is_standard_service, is_standard_slice, label, list, name, terminating, text,
};
use super::quiescence::{Moment, moments};
use super::standard::{exporters, import_of, in_force, is_member, is_ours};
use super::violation::{Violation, said};

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found: Vec<_> =
        moments(history).iter().flat_map(|moment| at(history, moment)).collect();
    for member in history.members() {
        let imports = history.of_kind(member, STANDARD_IMPORT);
        found.extend(imports.flat_map(|life| addressed(history, life)));
    }
    found
}

/// What has to hold at rest.
fn at(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in history.services(&moment.namespace) {
        let members = history.members().into_iter();
        for member in members.filter(|member| is_member(history, moment, member)) {
            found.extend(parts(history, moment, (member, service)));
            found.extend(reported(history, moment, (member, service)));
        }
    }
    found
}

/// The objects about a Service in a member that are there and not being deleted.
fn live<'b, 'a>(
    history: &'b History<'a>,
    moment: &Moment,
    (member, service): (&'b str, &str),
    kind: fleet_api::ResourceKind,
    is: fn(&Value) -> bool,
) -> Vec<(&'b Life<'a>, &'a Value)> {
    let lives = history.about(member, kind, service);
    let there = lives.filter_map(|life| Some((life, life.at(moment.until())?)));
    there.filter(|(_, object)| is(object) && !terminating(object)).collect()
}

/// S37.
fn parts(history: &History<'_>, moment: &Moment, at: (&str, &str)) -> Vec<Violation> {
    let Some((_, import)) = import_of(history, moment, at).filter(|(_, import)| is_ours(import))
    else {
        return Vec::new();
    };
    let derived = live(history, moment, at, kinds::SERVICE, is_standard_service);
    let slices = live(history, moment, at, kinds::ENDPOINT_SLICE, is_standard_slice);
    let is_headless = import["spec"]["type"] == "Headless";
    let surplus = derived.iter().skip(usize::from(!is_headless));
    let mut found: Vec<_> = surplus
        .filter_map(|(life, _)| said("S37", life, moment, "its import has no use for it"))
        .collect();
    for (life, service) in derived.iter().take(usize::from(!is_headless)) {
        let why = unlike(service, import);
        found.extend(why.and_then(|why| said("S37", life, moment, why)));
    }
    let service = derived.first().filter(|_| !is_headless).map(|(_, service)| *service);
    // Slices of an import that waits for its Service are bound to a name.
    for (life, slice) in slices.into_iter().filter(|_| is_headless || service.is_some()) {
        let why = unbound(slice, service, import);
        found.extend(why.and_then(|why| said("S37", life, moment, why)));
    }
    found
}

/// Why a derived Service is not that of the import.
fn unlike(service: &Value, import: &Value) -> Option<&'static str> {
    let spec = &service["spec"];
    let is_selecting = spec["selector"].as_object().is_some_and(|selector| !selector.is_empty());
    if is_selecting || !["", "ClusterIP"].contains(&text(service, "/spec/type")) {
        Some("it has a selector, or another type")
    } else if numbers(service) != numbers(import) {
        Some("its ports are not those of its import")
    } else if !is_owned(service, import) {
        Some("it does not belong to its import")
    } else {
        None
    }
}

/// Why a slice does not belong to the import: proxies read it for another Service, or for none.
fn unbound(slice: &Value, service: Option<&Value>, import: &Value) -> Option<&'static str> {
    let is_headless = !slice["metadata"]["labels"][labels::HEADLESS].is_null();
    let bound = label(slice, labels::SERVICE_NAME);
    if service.is_some() == is_headless || bound != service.map_or("", name) {
        Some("it is bound to another Service than that of its import")
    } else if !is_owned(slice, import) {
        Some("it does not belong to its import")
    } else if !names(slice, "/ports").is_subset(&names(service.unwrap_or(import), "/spec/ports")) {
        Some("it has a port that its import lacks")
    } else {
        None
    }
}

/// Protocols and numbers of the ports.
fn numbers(object: &Value) -> BTreeSet<(&str, Option<i64>)> {
    list(object, "/spec/ports").map(|port| (protocol(port), port["port"].as_i64())).collect()
}

fn protocol(port: &Value) -> &str {
    match text(port, "/protocol") {
        "" => "TCP",
        protocol => protocol,
    }
}

/// Names of the ports.
fn names<'a>(object: &'a Value, pointer: &str) -> BTreeSet<&'a str> {
    list(object, pointer).map(|port| text(port, "/name")).collect()
}

fn is_owned(object: &Value, import: &Value) -> bool {
    let mut owners = list(object, "/metadata/ownerReferences");
    owners.any(|owner| owner["uid"] == import["metadata"]["uid"])
}

/// S39.
fn reported(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Vec<Violation> {
    let resolved = in_force(history, moment.until(), service);
    let is_exporter = resolved.is_some_and(|resolved| exporters(resolved).contains(member));
    let exports = live(history, moment, (member, service), STANDARD_EXPORT, |_| true);
    let wrong = exports
        .into_iter()
        .filter(|(_, export)| (condition_status(export, "Ready") == "True") != is_exporter);
    wrong
        .filter_map(|(life, _)| said("S39", life, moment, "Ready does not show who exports it"))
        .collect()
}

/// S38: an address comes from a derived Service, and a headless import has none.
fn addressed(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before = &Value::Null;
    for version in life.states() {
        let import = version.object();
        let ips = &import["spec"]["ips"];
        let has_ips = ips.as_array().is_some_and(|ips| !ips.is_empty());
        let is_new = has_ips && ips != before;
        before = ips;
        if !version.author().is_agent() || !is_ours(import) {
            continue;
        }
        let service = format!("{}/{}", life.namespace(), life.name());
        let mut derived = history.about(life.cluster, kinds::SERVICE, &service);
        let had = |derived: &Life<'_>| {
            let mut versions = derived.until(version.here()).iter();
            versions.any(|version| version.object()["spec"]["clusterIPs"] == *ips)
        };
        if has_ips && import["spec"]["type"] == "Headless" {
            found.push(Violation::of("S38", life, version, "a headless import has an address"));
        } else if is_new && !derived.any(had) {
            found.push(Violation::of("S38", life, version, "no Service had this address"));
        }
    }
    found
}
