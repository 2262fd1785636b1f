//! The standard API of SIG Multicluster: S33 (imports are what is in force), S34 (exactly the endpoints of the exporters), S35
//! (no endpoint is invented), S36 (nothing of others is written), and S17 for its objects.
//!
//! A cluster takes part while it has the property that names its clusterset.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::{annotations, kinds, labels};
use serde_json::{Value, json};

use super::history::{HUB, History, LAG, Life, Until, Version};
use super::kind::{STANDARD_EXPORT, STANDARD_IMPORT};
use super::object::{
    addresses, annotation, is_standard_service, is_standard_slice, label, list, ready, terminating,
    text,
};
use super::quiescence::{Moment, moments};
use super::requests::Author;
use super::violation::{Violation, said};

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found: Vec<_> =
        moments(history).iter().flat_map(|moment| at(history, moment)).collect();
    for member in history.members() {
        for life in history.of_kind(member, kinds::ENDPOINT_SLICE) {
            found.extend(invented(history, life));
        }
        for life in history.of_kind(member, STANDARD_IMPORT) {
            found.extend(foreign(life));
        }
    }
    found
}

/// What has to hold at rest.
pub(super) fn at(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in history.services(&moment.namespace) {
        found.extend(on_hub(history, moment, service));
        let members = history.members().into_iter();
        for member in members.filter(|member| is_member(history, moment, member)) {
            found.extend(imported(history, moment, (member, service)));
            found.extend(left_over(history, moment, (member, service)));
        }
    }
    found
}

/// Whether a cluster takes part, and has the namespace.
pub(super) fn is_member(history: &History<'_>, moment: &Moment, member: &str) -> bool {
    let alive = |mut lives: Vec<&Life<'_>>| lives.drain(..).any(|life| life.alive(moment.until()));
    alive(history.named(member, kinds::CLUSTER_PROPERTY, ("", CLUSTERSET_ID)).collect())
        && alive(history.named(member, kinds::NAMESPACE, ("", &moment.namespace)).collect())
}

/// What is in force for a Service; `None` if no cluster exports it.
pub(super) fn in_force<'a>(
    history: &History<'a>,
    until: Until,
    service: &str,
) -> Option<&'a Value> {
    let resolved = history.about(HUB, kinds::RESOLVED_SERVICE, service);
    let mut there = resolved.filter_map(|resolved| resolved.at(until));
    there.find(|resolved| list(resolved, "/spec/exporters").next().is_some())
}

pub(super) fn exporters(resolved: &Value) -> BTreeSet<&str> {
    list(resolved, "/spec/exporters").map(|exporter| text(exporter, "/cluster")).collect()
}

/// S17: what is in force is exported, and what is exported has its cause.
fn on_hub(history: &History<'_>, moment: &Moment, service: &str) -> Vec<Violation> {
    let (until, mut found) = (moment.until(), Vec::new());
    for life in history.about(HUB, kinds::EXPORTED_SERVICE, service) {
        let member = member_of_namespace(life.namespace()).unwrap_or_default();
        let mut causes = history.about(member, STANDARD_EXPORT, service);
        if life.alive(until) && history.knows(member) && !causes.any(|cause| cause.alive(until)) {
            found.extend(said("S17", life, moment, "no cluster exports it"));
        }
    }
    for life in history.about(HUB, kinds::ENDPOINT_SLICE_EXPORT, service) {
        let travels = life
            .at(until)
            .filter(|slice| !terminating(slice))
            .is_some_and(|slice| !label(slice, labels::MULTICLUSTER_NAMESPACE).is_empty());
        let mut exports = history.about(HUB, kinds::EXPORTED_SERVICE, service);
        let home = life.namespace();
        if travels && !exports.any(|export| export.namespace() == home && export.alive(until)) {
            found.extend(said("S17", life, moment, "its cluster does not export the Service"));
        }
    }
    for life in history.about(HUB, kinds::RESOLVED_SERVICE, service) {
        let Some(resolved) = life.at(until) else { continue };
        for cluster in exporters(resolved) {
            let home = member_namespace(cluster);
            let mut exports = history.about(HUB, kinds::EXPORTED_SERVICE, service);
            if !exports.any(|export| export.namespace() == home && export.alive(until)) {
                found.extend(said("S17", life, moment, format!("{cluster} does not export it")));
            }
        }
    }
    found
}

/// The import of a Service in a member, if there is one.
pub(super) fn import_of<'b, 'a>(
    history: &'b History<'a>,
    moment: &Moment,
    (member, service): (&'b str, &str),
) -> Option<(&'b Life<'a>, &'a Value)> {
    let imports = history.about(member, STANDARD_IMPORT, service);
    let mut there = imports.filter_map(|life| Some((life, life.at(moment.until())?)));
    there.find(|(_, import)| !terminating(import))
}

pub(super) fn is_ours(import: &Value) -> bool {
    !annotation(import, annotations::MULTICLUSTER_HUB).is_empty()
}

/// S33 and S34.
fn imported(history: &History<'_>, moment: &Moment, at: (&str, &str)) -> Vec<Violation> {
    let (until, mut found) = (moment.until(), Vec::new());
    let resolved = in_force(history, until, at.1);
    let Some((life, import)) = import_of(history, moment, at) else {
        let lives = history.about(HUB, kinds::RESOLVED_SERVICE, at.1);
        let missing = lives.filter(|_| resolved.is_some()).take(1);
        let sentence = format!("{} does not import it", at.0);
        found.extend(missing.filter_map(|life| said("S33", life, moment, sentence.clone())));
        return found;
    };
    if !is_ours(import) {
        return found;
    }
    let Some(resolved) = resolved else {
        found.extend(said("S33", life, moment, "no cluster exports it"));
        return found;
    };
    let named: BTreeSet<_> =
        list(import, "/status/clusters").map(|it| text(it, "/cluster")).collect();
    if named != exporters(resolved) || import["spec"]["type"] != resolved["spec"]["type"] {
        found.extend(said("S33", life, moment, "it is another than what is in force"));
    }
    if addresses_of(history, moment, at) != import["spec"]["ips"] {
        found.extend(said("S33", life, moment, "its addresses are not those of its Service"));
    }
    let (has, wanted) =
        (slices(history, moment, at), carried(history, moment, import, resolved, at.1));
    if has != wanted {
        found.extend(said("S34", life, moment, format!("it has {has:?} and not {wanted:?}")));
    }
    found
}

/// The addresses of the derived Service; null where there is none, or it is being deleted.
fn addresses_of(history: &History<'_>, moment: &Moment, (member, service): (&str, &str)) -> Value {
    let services = history.about(member, kinds::SERVICE, service);
    let mut there = services.filter_map(|life| life.at(moment.until()));
    let derived = there.find(|it| is_standard_service(it) && !terminating(it));
    derived.map_or(Value::Null, |derived| derived["spec"]["clusterIPs"].clone())
}

type Endpoints<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The imported endpoints, by the cluster that they are attributed to.
fn slices<'a>(
    history: &History<'a>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Endpoints<'a> {
    let mut found = Endpoints::new();
    for slice in history.about(member, kinds::ENDPOINT_SLICE, service) {
        let Some(slice) = slice.at(moment.until()).filter(|slice| is_standard_slice(slice)) else {
            continue;
        };
        let cluster = label(slice, labels::MULTICLUSTER_SOURCE_CLUSTER);
        found.entry(cluster).or_default().extend(addresses(slice, "/endpoints", |_| true));
    }
    found.retain(|_, addresses| !addresses.is_empty());
    found
}

/// What the exporters have, in the families of the import.
fn carried<'a>(
    history: &History<'a>,
    moment: &Moment,
    import: &Value,
    resolved: &'a Value,
    service: &str,
) -> Endpoints<'a> {
    let families: BTreeSet<_> =
        list(import, "/spec/ipFamilies").filter_map(Value::as_str).collect();
    let mut found = Endpoints::new();
    for cluster in exporters(resolved).into_iter().filter(|cluster| history.knows(cluster)) {
        for slice in history.about(cluster, kinds::ENDPOINT_SLICE, service) {
            let Some(slice) = slice.at(moment.until()).filter(|slice| backs(slice, service)) else {
                continue;
            };
            if !terminating(slice) && families.contains(text(slice, "/addressType")) {
                found.entry(cluster).or_default().extend(addresses(slice, "/endpoints", travels));
            }
        }
    }
    found.retain(|_, addresses| !addresses.is_empty());
    found
}

/// Whether a slice is one of the Service's own cluster.
fn backs(slice: &Value, service: &str) -> bool {
    let name = service.split_once('/').map_or("", |(_, name)| name);
    label(slice, labels::SERVICE_NAME) == name && !is_standard_slice(slice)
}

/// Whether an endpoint takes traffic, or does while no other is left.
fn travels(endpoint: &Value) -> bool {
    let draining = json!({ "ready": false, "serving": true, "terminating": true });
    ready(endpoint) || endpoint["conditions"] == draining
}

/// S17: what an import owns goes with it.
fn left_over(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Vec<Violation> {
    if import_of(history, moment, (member, service)).is_some_and(|(_, import)| is_ours(import)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let slices = history.about(member, kinds::ENDPOINT_SLICE, service);
    let services = history.about(member, kinds::SERVICE, service);
    for life in slices.chain(services) {
        let Some(object) = life.at(moment.until()) else { continue };
        if is_standard_service(object) || is_standard_slice(object) {
            found.extend(said("S17", life, moment, "its ServiceImport is gone"));
        }
    }
    found
}

/// S35: each address was an endpoint of the cluster that it is attributed to.
fn invented(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for version in life.states().filter(|version| version.author().is_agent()) {
        let slice = version.object();
        let cluster = label(slice, labels::MULTICLUSTER_SOURCE_CLUSTER);
        if !is_standard_slice(slice) || !history.knows(cluster) {
            continue;
        }
        let service = annotation(slice, annotations::FLEET_SERVICE);
        let sources = history.about(cluster, kinds::ENDPOINT_SLICE, service);
        let until = Until::Time(version.when + LAG);
        let had: BTreeSet<_> = sources
            .flat_map(|source| source.until(until))
            .filter(|earlier| backs(earlier.object(), service))
            .flat_map(|earlier| addresses(earlier.object(), "/endpoints", |_| true))
            .collect();
        for address in addresses(slice, "/endpoints", |_| true).difference(&had) {
            let sentence = format!("{address} was never an endpoint of {cluster}");
            found.push(Violation::of("S35", life, version, sentence));
        }
    }
    found
}

/// S36: agents write the ServiceImports that they have made.
fn foreign(life: &Life<'_>) -> Vec<Violation> {
    let is_made = life.versions.first().map(|made| (None, made));
    let changes = life.changes().map(|(before, after)| (Some(before), after));
    let of_others = |(before, after): &(Option<&Version<'_>>, &Version<'_>)| {
        let judged = before.unwrap_or(after);
        matches!(after.author(), Author::Member(_)) && !is_ours(judged.object())
    };
    let wrong = is_made.into_iter().chain(changes).filter(of_others);
    wrong.map(|(_, version)| Violation::of("S36", life, version, "another has made it")).collect()
}
