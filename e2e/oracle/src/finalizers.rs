//! Finalizers: S13 (there before the effect), S14 (gone after it), S15 (no agent touches another's).

use std::collections::BTreeSet;

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace, member_of_namespace};
use fleet_api::{ResourceKind, annotations, finalizers, kinds};
use serde_json::Value;

use super::history::{DOUBLES, HUB, History, LAG, Life, Until, Version};
use super::kind::kind;
use super::object::{
    annotation, copied_name, exporters, finalizers as held, is_made_slice, is_standard_service,
    is_standard_slice, list, subject, terminating, text,
};
use super::record::Micros;
use super::requests::Author;
use super::tenancy::claimants;
use super::violation::Violation;

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for life in &history.lives {
        found.extend(effect_too_early(history, life));
        if life.kind == kinds::SERVICE_IMPORT.kind && life.cluster == HUB {
            found.extend(import_effects(history, life));
        }
        if altered_by_hand(life) {
            continue;
        }
        for (before, after) in life.changes().filter(|(_, after)| after.author().is_agent()) {
            found.extend(released_too_early(history, life, before, after));
            found.extend(foreign_finalizers(life, before, after));
        }
    }
    found
}

/// Whether another user changed or deleted an object of the hub, where all of these are the agents'. Whose write ended
/// it is unknown then, and what it guarded may have a successor already.
fn altered_by_hand(life: &Life<'_>) -> bool {
    life.cluster == HUB && life.versions.iter().any(|version| *version.author() == Author::Other)
}

/// Whether one of these was guarded by a finalizer at some time up to then.
fn guarded<'b, 'a: 'b>(
    lives: impl IntoIterator<Item = &'b Life<'a>>,
    finalizer: &str,
    until: Until,
) -> bool {
    let mut versions = lives.into_iter().flat_map(|life| life.until(until));
    versions.any(|version| held(version.object()).contains(finalizer))
}

fn owner_uid(object: &Value) -> &str {
    let mut owners = list(object, "/metadata/ownerReferences");
    owners.find(|owner| owner["controller"] == true).map_or("", |owner| text(owner, "/uid"))
}

/// S13 where the effect is an object: what it follows from had its finalizer before.
fn effect_too_early(history: &History<'_>, life: &Life<'_>) -> Option<Violation> {
    let made = life.versions.first().filter(|version| version.author().is_agent())?;
    let object = made.object();
    let (time, version) = (Until::Time(made.when), made.here());
    let service = subject(life.kind, object);
    let service = service.as_deref().unwrap_or_default();
    let member = member_of_namespace(life.namespace()).unwrap_or_default();
    let with_uid = |kind: ResourceKind, uid: &str| {
        let lives = history.of_kind(life.cluster, kind);
        lives.filter(|life| life.uid() == uid).collect::<Vec<_>>()
    };
    let imports = kinds::MULTI_CLUSTER_SERVICE;
    let is = |kind: ResourceKind| life.kind == kind.kind;
    let ok = if is(kinds::INTERNAL_SERVICE_EXPORT) && history.knows(member) {
        let exports = history.about(member, kinds::SERVICE_EXPORT, service);
        guarded(exports, finalizers::SERVICE_EXPORT, time)
    } else if is(kinds::INTERNAL_SERVICE_IMPORT) && history.knows(member) {
        let wishes = history.about(member, kinds::SERVICE_IMPORT, service);
        guarded(wishes, finalizers::SERVICE_IMPORT, time)
    } else if is(kinds::SERVICE_IMPORT) && life.cluster != HUB {
        let wishes = with_uid(imports, owner_uid(object));
        guarded(wishes, finalizers::MULTI_CLUSTER_SERVICE, version)
    } else if is_standard_slice(object) || is_standard_service(object) {
        true // Owners take these along.
    } else if is(kinds::SERVICE) {
        let wishes = with_uid(imports, annotation(object, annotations::MULTI_CLUSTER_SERVICE_UID));
        guarded(wishes, finalizers::MULTI_CLUSTER_SERVICE, version)
    } else if is(kinds::ENDPOINT_SLICE_IMPORT) {
        let home = member_namespace(text(object, "/spec/endpointSliceReference/clusterId"));
        let name = copied_name(life.name(), object);
        let exports = history.named(HUB, kinds::ENDPOINT_SLICE_EXPORT, (&home, name));
        guarded(exports.collect::<Vec<_>>(), finalizers::ENDPOINT_SLICE_EXPORT, version)
    } else if is(kinds::ENDPOINT_SLICE) && !is_made_slice(object) {
        let home = member_namespace(life.cluster);
        let copies = history.named(HUB, kinds::ENDPOINT_SLICE_IMPORT, (&home, life.name()));
        guarded(copies.collect::<Vec<_>>(), finalizers::ENDPOINT_SLICE_IMPORT, time)
    } else {
        true
    };
    (!ok).then(|| Violation::of("S13", life, made, "made before its cause had a finalizer"))
}

/// S13 where the effect is in the hub's ServiceImport: exporters in its status, importers in its claim.
fn import_effects(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let service = format!("{}/{}", life.namespace(), life.name());
    let (mut exporting, mut importing) = (BTreeSet::new(), BTreeSet::new());
    for version in life.states() {
        let until = version.here();
        let in_namespace = |kind, namespace: String| {
            let lives = history.about(HUB, kind, &service);
            lives.filter(move |life| life.namespace() == namespace).collect::<Vec<_>>()
        };
        let (exporters, importers) = (exporters(version.object()), claimants(version.object()));
        if *version.author() == Author::Hub {
            for cluster in exporters.difference(&exporting) {
                let exports =
                    in_namespace(kinds::INTERNAL_SERVICE_EXPORT, member_namespace(cluster));
                if !guarded(exports, finalizers::INTERNAL_SERVICE_EXPORT, until) {
                    let sentence = format!("{cluster} exports before its export had a finalizer");
                    found.push(Violation::of("S13", life, version, sentence));
                }
            }
            for namespace in importers.difference(&importing) {
                let imports = in_namespace(kinds::INTERNAL_SERVICE_IMPORT, namespace.clone());
                if !guarded(imports, finalizers::INTERNAL_SERVICE_IMPORT, until) {
                    let sentence = format!("{namespace} imports before its import had a finalizer");
                    found.push(Violation::of("S13", life, version, sentence));
                }
            }
            let unguarded = !held(version.object()).contains(finalizers::SERVICE_IMPORT);
            if !importers.is_subset(&importing) && unguarded {
                let sentence = "claimed without a finalizer";
                found.push(Violation::of("S13", life, version, sentence));
            }
        }
        (exporting, importing) = (exporters, importers);
    }
    found
}

/// What an agent's write has taken off an object. The removal shows the object as it was before it.
fn released<'b>(before: &'b Version<'_>, after: &'b Version<'_>) -> BTreeSet<&'b str> {
    let before = held(before.object());
    // A deletion takes no finalizer off: the writer that did is hidden behind it.
    let by_deletion = after.request.is_some_and(|request| request.verb == "delete");
    match after.is_end() {
        true if by_deletion => BTreeSet::new(),
        true => before,
        false => &before - &held(after.object()),
    }
}

/// S14: what a finalizer guards is gone, or asked to go, before the finalizer is. Of two that work, the one whose view
/// is older may make again what the other has removed; a Lease is there so that this does not happen.
fn released_too_early(
    history: &History<'_>,
    life: &Life<'_>,
    before: &Version<'_>,
    after: &Version<'_>,
) -> Option<Violation> {
    if history.between(DOUBLES, after.when) {
        return None;
    }
    let object = before.object();
    let (time, version) = (Until::Time(after.when), after.here());
    let service = subject(life.kind, object)?;
    let member = member_of_namespace(life.namespace()).unwrap_or_default();
    let is = |kind: ResourceKind| life.kind == kind.kind;
    let at_home = |kind, member: &str, until| {
        let home = member_namespace(member);
        let mut effects = history.about(HUB, kind, &service);
        effects.any(|effect| {
            let known = match until {
                Until::Time(time) => effect.made_by(time) && !overtaken(history, effect, time),
                Until::Version(_) => true,
            };
            known && effect.namespace() == home && effect.alive(until)
        })
    };
    let import_says = |says: &dyn Fn(&Value) -> bool| {
        let mut imports = history.about(HUB, kinds::SERVICE_IMPORT, &service);
        imports.any(|import| import.at(version).is_some_and(says))
    };
    let gone = released(before, after);
    let frees = |finalizer| gone.contains(finalizer);
    let early = if is(kinds::SERVICE_EXPORT) && frees(finalizers::SERVICE_EXPORT) {
        at_home(kinds::INTERNAL_SERVICE_EXPORT, life.cluster, time)
    } else if is(kinds::INTERNAL_SERVICE_EXPORT) && frees(finalizers::INTERNAL_SERVICE_EXPORT) {
        !at_home(kinds::INTERNAL_SERVICE_EXPORT, member, version)
            && import_says(&|import| exporters(import).contains(member))
    } else if is(kinds::MULTI_CLUSTER_SERVICE) && frees(finalizers::MULTI_CLUSTER_SERVICE) {
        let uid = life.uid();
        let mut imports = history.of_kind(life.cluster, kinds::SERVICE_IMPORT);
        let mut services = history.of_kind(life.cluster, kinds::SERVICE);
        let mark = annotations::MULTI_CLUSTER_SERVICE_UID;
        imports.any(|one| one.alive(version) && one.at(version).map(owner_uid) == Some(uid))
            || services.any(|one| {
                one.alive(version)
                    && one.at(version).is_some_and(|one| annotation(one, mark) == uid)
            })
    } else if is(kinds::SERVICE_IMPORT) && frees(finalizers::SERVICE_IMPORT) {
        if life.cluster == HUB {
            let body = after.request.map_or_else(String::new, |request| request.body.to_string());
            let in_this_write = body.contains("service-in-use-by");
            let claimed = if after.is_end() { object } else { after.object() };
            !claimants(claimed).is_empty() && !in_this_write
        } else {
            at_home(kinds::INTERNAL_SERVICE_IMPORT, life.cluster, time)
        }
    } else if is(kinds::INTERNAL_SERVICE_IMPORT) && frees(finalizers::INTERNAL_SERVICE_IMPORT) {
        !at_home(kinds::INTERNAL_SERVICE_IMPORT, member, version)
            && import_says(&|import| claimants(import).contains(life.namespace()))
    } else if is(kinds::ENDPOINT_SLICE_EXPORT) && frees(finalizers::ENDPOINT_SLICE_EXPORT) {
        let mut copies = history.about(HUB, kinds::ENDPOINT_SLICE_IMPORT, &service);
        let origin = "/spec/endpointSliceReference/clusterId";
        copies.any(|life_of_copy| {
            let copies_it = |copy: &Value| {
                copied_name(life_of_copy.name(), copy) == life.name()
                    && text(copy, origin) == member
            };
            life_of_copy.alive(version) && life_of_copy.at(version).is_some_and(copies_it)
        })
    } else if is(kinds::ENDPOINT_SLICE_IMPORT) && frees(finalizers::ENDPOINT_SLICE_IMPORT) {
        still_bound(history, life, after, member)
    } else {
        false
    };
    early.then(|| Violation::of("S14", life, after, "released before its effect was gone"))
}

/// Whether an agent has looked for an object in vain at about the time it was made: what a killed one had under way
/// arrives when its successor has already looked, and releases. (Where there is a Lease, the successor waits longer
/// than a write may take.)
fn overtaken(history: &History<'_>, effect: &Life<'_>, until: Micros) -> bool {
    let Some(made) = effect.versions.first() else { return false };
    let name = (effect.cluster, effect.namespace(), effect.name());
    history.agent_requests().any(|request| {
        request.verb == "get"
            && request.code == 404
            && (request.cluster.as_str(), request.namespace.as_str(), request.name.as_str()) == name
            && kind(request).is_some_and(|kind| kind.kind == effect.kind)
            && (made.when - LAG..until).contains(&request.received)
    })
}

/// The importer's slice is there; only a member that is gone for good is spared.
fn still_bound(history: &History<'_>, life: &Life<'_>, after: &Version<'_>, member: &str) -> bool {
    if *after.author() == Author::Hub {
        let until = after.here();
        let mut memberships = history.of_kind(HUB, kinds::MEMBER_CLUSTER);
        return !memberships
            .any(|one| one.name() == member && one.at(until).is_some_and(terminating));
    }
    let answered = after.request.map_or(after.when, |request| request.answered.max(after.when));
    let time = Until::Time(answered);
    let key = (SYSTEM_NAMESPACE, life.name());
    // One that was made later is a successor's.
    let older =
        |slice: &Life<'_>| slice.versions.first().is_some_and(|made| made.when < after.when);
    let mut slices = history.named(member, kinds::ENDPOINT_SLICE, key);
    slices.any(|slice| slice.alive(time) && older(slice))
}

/// S15: after its making an agent adds and removes only its own finalizers.
fn foreign_finalizers(
    life: &Life<'_>,
    before: &Version<'_>,
    after: &Version<'_>,
) -> Vec<Violation> {
    let own: &[&str] = match after.author() {
        Author::Hub => &[
            finalizers::INTERNAL_SERVICE_EXPORT,
            finalizers::INTERNAL_SERVICE_IMPORT,
            finalizers::SERVICE_IMPORT,
            finalizers::ENDPOINT_SLICE_EXPORT,
            finalizers::ENDPOINT_SLICE_IMPORT,
        ],
        Author::Member(_) if life.cluster == HUB => &[finalizers::ENDPOINT_SLICE_IMPORT],
        _ => &[
            finalizers::SERVICE_EXPORT,
            finalizers::MULTI_CLUSTER_SERVICE,
            finalizers::SERVICE_IMPORT,
        ],
    };
    let removed = released(before, after);
    let after_it = held(after.object());
    let added: BTreeSet<&str> = &after_it - &held(before.object());
    let touched = removed.union(&added).filter(|finalizer| !own.contains(finalizer));
    let say = |finalizer| {
        Violation::of("S15", life, after, format!("{finalizer} is not its own to touch"))
    };
    touched.map(say).collect()
}
