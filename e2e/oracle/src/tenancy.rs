//! Who may touch what: S07 (the hub agent serves only who asked), S08 (a member writes only in its own namespace), S09
//! (status by identity), S10 (confined landing), S11 (only its own derived Services), S16 (a single importer, where
//! that is wanted).

use std::collections::BTreeSet;

use fleet_api::names::{MEMBER_LEASE, SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ServiceInUseBy, annotations, kinds};
use serde_json::Value;

use super::history::{EXCLUSIVE, HUB, History, LAG, Life, Until, Version};
use super::object::{
    annotation, back_pointer, copied_name, exporters, is_made_slice, is_standard_service,
    is_standard_slice, subject, terminating, text,
};
use super::quiescence::disturbances;
use super::requests::{Author, Request};
use super::violation::Violation;

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found: Vec<Violation> = Vec::new();
    for life in history.of_kind(HUB, kinds::ENDPOINT_SLICE_IMPORT) {
        found.extend(unasked(history, life));
        found.extend(withdrawn(history, life));
    }
    for life in history.of_kind(HUB, kinds::SERVICE_IMPORT) {
        found.extend(strangers(history, life));
        found.extend(crowd(history, life));
    }
    for member in history.members() {
        for life in history.of_kind(member, kinds::SERVICE) {
            found.extend(foreign_services(history, life));
        }
    }
    for request in history.agent_requests().filter(|request| request.succeeded()) {
        found.extend(away_from_home(request));
        found.extend(landing(history, request));
    }
    found
}

/// Hub namespaces of the members that import a Service.
pub(super) fn claimants(import: &Value) -> BTreeSet<String> {
    let claim = annotation(import, annotations::SERVICE_IN_USE_BY);
    let claim = ServiceInUseBy::parse(Some(claim)).unwrap_or_default();
    claim.member_clusters.into_keys().collect()
}

/// Whether something held at a version or shortly before: what the hub agent saw may be a little older.
fn held_lately(
    history: &History<'_>,
    version: &Version<'_>,
    service: &str,
    holds: impl Fn(&Value) -> bool,
) -> bool {
    let imports = history.about(HUB, kinds::SERVICE_IMPORT, service);
    imports.flat_map(|import| import.until(version.here()).iter().rev()).any(|earlier| {
        let recent = earlier.when >= version.when - LAG;
        holds(earlier.object()) && (recent || !earlier.is_end())
    })
}

/// S07: a slice is given only to a member whose claim is there.
fn unasked(history: &History<'_>, life: &Life<'_>) -> Option<Violation> {
    let made = life.versions.first().filter(|version| *version.author() == Author::Hub)?;
    let service = subject(life.kind, made.object())?;
    let claimed = |import: &Value| claimants(import).contains(life.namespace());
    let asked = held_lately(history, made, &service, claimed);
    (!asked).then(|| Violation::of("S07", life, made, "the member has not asked for it"))
}

/// S07: a slice is taken away only if its origin, its acceptance or the claim is gone.
fn withdrawn(history: &History<'_>, life: &Life<'_>) -> Option<Violation> {
    let (before, deleted) = life
        .changes()
        .find(|(before, after)| !terminating(before.object()) && terminating(after.object()))
        .filter(|(_, after)| *after.author() == Author::Hub)?;
    let origin = text(before.object(), "/spec/endpointSliceReference/clusterId");
    let service = subject(life.kind, before.object())?;
    let home = member_namespace(origin);
    let moments = [deleted.here(), Until::Time(deleted.when - LAG)];
    let exported = |until| {
        let name = copied_name(life.name(), before.object());
        let mut exports = history.named(HUB, kinds::ENDPOINT_SLICE_EXPORT, (home.as_str(), name));
        exports.any(|export| {
            let same = |object: &Value| subject(export.kind, object).as_deref() == Some(&service);
            export.alive(until) && export.at(until).is_some_and(same)
        })
    };
    let wanted = |until| {
        let mut imports = history.about(HUB, kinds::SERVICE_IMPORT, &service);
        imports.any(|import| {
            import.alive(until)
                && import.at(until).is_some_and(|import| {
                    exporters(import).contains(origin)
                        && claimants(import).contains(life.namespace())
                })
        })
    };
    let asked = |until| {
        let mut asks = history.about(HUB, kinds::INTERNAL_SERVICE_IMPORT, &service);
        asks.any(|ask| ask.namespace() == life.namespace() && ask.alive(until))
    };
    let accepted = |until| {
        let mut exports = history.about(HUB, kinds::INTERNAL_SERVICE_EXPORT, &service);
        exports.any(|export| export.namespace() == home && export.alive(until))
    };
    let groundless = moments
        .into_iter()
        .all(|until| exported(until) && accepted(until) && wanted(until) && asked(until));
    // An agent that is set to allow one importer only takes the others' slices away.
    let told = disturbances(history);
    let told = told.iter().any(|(begin, end)| (*begin..=*end).contains(&deleted.when));
    (groundless && !told)
        .then(|| Violation::of("S07", life, deleted, "deleted, though nothing is gone"))
}

/// S08: on the hub a member has its own namespace, and nothing else.
fn away_from_home(request: &Request) -> Option<Violation> {
    let Author::Member(member) = &request.author else { return None };
    let outside = request.cluster == HUB
        && !request.resource.is_empty()
        && request.namespace != member_namespace(member)
        && !reads_what_all_read(request);
    outside.then(|| Violation::of_request("S08", request, "outside the member's namespace"))
}

/// What importers of the standard API read of the whole fleet, and members that direct traffic.
fn reads_what_all_read(request: &Request) -> bool {
    let shared = [
        kinds::RESOLVED_SERVICE.plural,
        kinds::ENDPOINT_SLICE_EXPORT.plural,
        kinds::CLUSTER_REPORT.plural,
        kinds::SERVICE_TRAFFIC.plural,
        kinds::MEMBER_TRAFFIC.plural,
        kinds::FLEET_TRAFFIC.plural,
    ];
    matches!(request.verb.as_str(), "list" | "watch") && shared.contains(&request.resource.as_str())
}

/// S09: a cluster is named as exporter only if it exports.
fn strangers(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let service = format!("{}/{}", life.namespace(), life.name());
    let mut known = BTreeSet::new();
    for version in life.states() {
        let named = exporters(version.object());
        for cluster in named.difference(&known) {
            let home = member_namespace(cluster);
            let mut exports = history.about(HUB, kinds::INTERNAL_SERVICE_EXPORT, &service);
            let exports_it = exports.any(|export| {
                let until = version.here();
                export.namespace() == home && !export.until(until).is_empty()
            });
            if *version.author() == Author::Hub && !exports_it {
                let sentence = format!("{cluster} does not export it");
                found.push(Violation::of("S09", life, version, sentence));
            }
        }
        known = named;
    }
    found
}

/// S10: agents make few kinds of objects, in few places.
fn landing(history: &History<'_>, request: &Request) -> Option<Violation> {
    if request.verb != "create" {
        return None;
    }
    let at_home = request.namespace == SYSTEM_NAMESPACE;
    let allowed = match (&request.author, request.resource.as_str()) {
        (_, "events")
        | (Author::Hub, "serviceimports" | "endpointsliceimports" | "membertraffics") => true,
        (Author::Member(member), "leases") if request.cluster == HUB => {
            request.namespace == member_namespace(member) && request.name == MEMBER_LEASE
        }
        (_, "leases") | (Author::Hub, "resolvedservices") => at_home,
        (Author::Member(_), "clusterproperties") => request.cluster != HUB,
        (Author::Member(member), "clusterreports") => {
            request.cluster == HUB && request.name == *member
        }
        // A token of its own, which is no object.
        (Author::Member(member), "serviceaccounts") => {
            let own = request.namespace == member_namespace(member);
            request.cluster == HUB && request.subresource == "token" && own
        }
        (Author::Member(_), resource) if request.cluster == HUB => matches!(
            resource,
            "internalserviceexports"
                | "internalserviceimports"
                | "endpointsliceexports"
                | "exportedservices"
        ),
        (Author::Member(_), "endpointslices") => {
            at_home || is_made_slice(&request.body) || is_standard_slice(&request.body)
        }
        (Author::Member(_), "services") => at_home || is_standard_service(&request.body),
        (Author::Member(_), "serviceimports")
            if request.group == kinds::MCS_SERVICE_IMPORT.group =>
        {
            true
        }
        (Author::Member(member), "serviceimports") => {
            let mut imports = history.of_kind(member, kinds::MULTI_CLUSTER_SERVICE);
            imports.any(|import| import.namespace() == request.namespace)
        }
        _ => false,
    };
    (!allowed).then(|| Violation::of_request("S10", request, "nothing of ours belongs there"))
}

/// S11: a member agent writes only Services that it made for an import.
fn foreign_services(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before: Option<&Version<'_>> = None;
    for version in &life.versions {
        if version.author().is_agent() {
            let judged = before.unwrap_or(version);
            let complete = before.is_none();
            let of_standard = is_standard_service(judged.object());
            if !of_standard
                && (life.namespace() != SYSTEM_NAMESPACE
                    || !is_derived(history, life.cluster, judged.object(), complete))
            {
                found.push(Violation::of("S11", life, version, "it was made for no import"));
            }
        }
        before = Some(version);
    }
    found
}

/// Marked as made for an import, by labels or by annotation, and for which incarnation of it; only one whose uid
/// was lost may be known by its labels alone.
fn is_derived(history: &History<'_>, cluster: &str, service: &Value, complete: bool) -> bool {
    let uid = annotation(service, annotations::MULTI_CLUSTER_SERVICE_UID);
    let mut imports = history.of_kind(cluster, kinds::MULTI_CLUSTER_SERVICE);
    let labelled = back_pointer(service).is_some();
    let marked = labelled || !annotation(service, annotations::FLEET_SERVICE).is_empty();
    let known = marked && imports.any(|import| import.uid() == uid);
    known || (labelled && uid.is_empty() && !complete)
}

/// S16: while imports are exclusive, never two at once.
fn crowd(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let exclusive = |version: &&Version<'_>| history.between(EXCLUSIVE, version.when);
    let crowded = |version: &&Version<'_>| {
        *version.author() == Author::Hub && claimants(version.object()).len() > 1
    };
    let versions = life.states().filter(exclusive).filter(crowded);
    versions.map(|version| Violation::of("S16", life, version, "two import it at once")).collect()
}
