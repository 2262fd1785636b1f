//! Where endpoints come from: S01 (nothing is invented), S03 (no time travel), S04 (no resurrection), S05
//! (attribution).

use std::collections::BTreeSet;

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace, member_of_namespace};
use fleet_api::{annotations, kinds};
use serde_json::Value;

use super::history::{HUB, History, LAG, Life, Until, Version};
use super::object::{
    addresses, annotation, copied_name, is_imported_slice, ready, terminating, text,
};
use super::requests::Author;
use super::violation::Violation;

const ORIGIN: &str = "/spec/endpointSliceReference";
const CONTENT: [&str; 4] = ["addressType", "endpoints", "drainingEndpoints", "ports"];

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for life in history.of_kind(HUB, kinds::ENDPOINT_SLICE_EXPORT) {
        for version in content_written(life, |slice| content(slice, "spec")) {
            found.extend(exported(history, life, version));
        }
        found.extend(time_travel(history, life));
    }
    for life in history.of_kind(HUB, kinds::ENDPOINT_SLICE_IMPORT) {
        for version in content_written(life, |slice| content(slice, "spec")) {
            found.extend(distributed(history, life, version));
        }
        found.extend(time_travel(history, life));
    }
    for member in history.members() {
        let slices = history.of_kind(member, kinds::ENDPOINT_SLICE);
        for life in slices.filter(|life| life.namespace() == SYSTEM_NAMESPACE) {
            let imported = content_written(life, |slice| content(slice, ""));
            for version in imported.filter(|version| is_imported_slice(version.object())) {
                found.extend(bound(history, life, version));
            }
            found.extend(mark_going_back(life));
        }
    }
    found
}

fn content(slice: &Value, part: &str) -> [Value; 4] {
    let whole = if part.is_empty() { slice } else { &slice[part] };
    CONTENT.map(|field| match &whole[field] {
        Value::Array(list) if list.is_empty() => Value::Null,
        other => other.clone(),
    })
}

/// Versions in which an agent wrote other content than there was: what users write by hand is theirs.
fn content_written<'b, 'a>(
    life: &'b Life<'a>,
    content: impl Fn(&Value) -> [Value; 4] + 'b,
) -> impl Iterator<Item = &'b Version<'a>> {
    let with_previous =
        std::iter::once(None).chain(life.versions.iter().map(Some)).zip(&life.versions);
    with_previous.filter_map(move |(before, version)| {
        let written = version.author().is_agent() && !version.is_end();
        let changed =
            || before.is_none_or(|before| content(before.object()) != content(version.object()));
        (written && changed()).then_some(version)
    })
}

/// What left a member was ready in the slice it names.
fn exported(history: &History<'_>, life: &Life<'_>, version: &Version<'_>) -> Vec<Violation> {
    let Author::Member(member) = version.author() else { return Vec::new() };
    let (object, mut found) = (version.object(), Vec::new());
    let mut say = |invariant, sentence| {
        found.push(Violation::of(invariant, life, version, sentence));
    };
    let origin = object.pointer(ORIGIN).unwrap_or(&Value::Null);
    if text(origin, "/clusterId") != member || life.namespace() != member_namespace(member) {
        say("S05", format!("written by {member}, it claims another cluster"));
    }
    if !history.knows(member) {
        return found;
    }
    let key = (text(origin, "/namespace"), text(origin, "/name"));
    let named = history.named(member, kinds::ENDPOINT_SLICE, key);
    let source = named.filter(|slice| slice.uid() == text(origin, "/uid"));
    let (mut was_ready, mut was_there) = (BTreeSet::new(), BTreeSet::new());
    for slice in source {
        for earlier in slice.until(Until::Time(version.when + LAG)) {
            was_ready.extend(addresses(earlier.object(), "/endpoints", ready));
            was_there.extend(addresses(earlier.object(), "/endpoints", |_| true));
        }
    }
    for address in addresses(object, "/spec/endpoints", |_| true).difference(&was_ready) {
        say("S01", format!("{address} was never ready in its slice"));
    }
    for address in addresses(object, "/spec/drainingEndpoints", |_| true).difference(&was_there) {
        say("S01", format!("{address} was never in its slice"));
    }
    found
}

/// What the hub agent hands on is what the export contained at some time, and the export is there.
fn distributed(history: &History<'_>, life: &Life<'_>, version: &Version<'_>) -> Vec<Violation> {
    if *version.author() != Author::Hub {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut say = |invariant, sentence: &str| {
        found.push(Violation::of(invariant, life, version, sentence));
    };
    let origin = version.object().pointer(ORIGIN).unwrap_or(&Value::Null);
    let home = member_namespace(text(origin, "/clusterId"));
    let name = copied_name(life.name(), version.object());
    let sources: Vec<_> =
        history.named(HUB, kinds::ENDPOINT_SLICE_EXPORT, (home.as_str(), name)).collect();
    let until = version.here();
    let wanted = content(version.object(), "spec");
    let uid = annotation(version.object(), annotations::SLICE_EXPORT_UID);
    let is_of = |source: &Life<'_>| uid.is_empty() || source.uid() == uid;
    let earlier = || sources.iter().flat_map(|source| source.until(until));
    if earlier().next().is_none() {
        say("S05", "the cluster that it names never exported it");
    } else if !earlier().any(|earlier| content(earlier.object(), "spec") == wanted) {
        say("S01", "its content was never that of the export");
    } else if !sources.iter().any(|source| is_of(source) && source.at(until).is_some()) {
        say("S04", "its export was gone before");
    }
    let claimed = annotation(version.object(), annotations::ORIGIN_NAMESPACE);
    if !claimed.is_empty() && claimed != home {
        say("S05", "it is attributed to another namespace than that of its cluster");
    }
    found
}

/// What is bound to a derived Service came in by the import of the same name; own endpoints may come from their own slices, too.
fn bound(history: &History<'_>, life: &Life<'_>, version: &Version<'_>) -> Vec<Violation> {
    let Author::Member(member) = version.author() else { return Vec::new() };
    let mut found = Vec::new();
    let mut say = |invariant, sentence: String| {
        found.push(Violation::of(invariant, life, version, sentence));
    };
    let home = member_namespace(member);
    let imports: Vec<_> =
        history.named(HUB, kinds::ENDPOINT_SLICE_IMPORT, (home.as_str(), life.name())).collect();
    let (mut was_ready, mut was_there) = (BTreeSet::new(), BTreeSet::new());
    for earlier in imports.iter().flat_map(|one| one.until(Until::Time(version.when + LAG))) {
        was_ready.extend(addresses(earlier.object(), "/spec/endpoints", |_| true));
        was_there.extend(addresses(earlier.object(), "/spec/drainingEndpoints", |_| true));
    }
    let object = version.object();
    for earlier in own_sources(history, member, object)
        .iter()
        .flat_map(|one| one.until(Until::Time(version.when + LAG)))
    {
        was_ready.extend(addresses(earlier.object(), "/endpoints", ready));
        was_there.extend(addresses(earlier.object(), "/endpoints", |_| true));
    }
    was_there.extend(&was_ready);
    for address in addresses(object, "/endpoints", ready).difference(&was_ready) {
        say("S01", format!("{address} was never in the import"));
    }
    for address in addresses(object, "/endpoints", |one| !ready(one)).difference(&was_there) {
        say("S01", format!("{address} was never in the import"));
    }
    // The agent may not have seen the end of the import yet.
    let a_moment_ago = Until::Time(version.when - LAG);
    let ended =
        |one: &&Life<'_>| one.at(a_moment_ago).is_none() && !one.until(a_moment_ago).is_empty();
    let adds = !addresses(object, "/endpoints", |_| true).is_empty();
    if adds && !imports.is_empty() && imports.iter().all(ended) {
        say("S04", "its import was gone long before".to_owned());
    }
    found.extend(mislabelled(&imports, life, version));
    found
}

/// The slices of the Service in this member, if that is where a slice is from: an agent that directs traffic does not wait for the hub.
fn own_sources<'b, 'a>(
    history: &'b History<'a>,
    member: &'b str,
    slice: &Value,
) -> Vec<&'b Life<'a>> {
    if annotation(slice, annotations::ORIGIN_CLUSTER) != member {
        return Vec::new();
    }
    let service = annotation(slice, annotations::FLEET_SERVICE);
    let all = history.about(member, kinds::ENDPOINT_SLICE, service);
    all.filter(|life| life.namespace() != SYSTEM_NAMESPACE).collect()
}

/// The origin that an imported slice names is that of its import.
fn mislabelled(imports: &[&Life<'_>], life: &Life<'_>, version: &Version<'_>) -> Option<Violation> {
    let claimed = annotation(version.object(), annotations::ORIGIN_CLUSTER);
    let origins: BTreeSet<_> = imports
        .iter()
        .flat_map(|import| import.until(Until::Time(version.when + LAG)))
        .map(|import| text(import.object(), "/spec/endpointSliceReference/clusterId"))
        .collect();
    let wrong = !claimed.is_empty() && !origins.contains(claimed);
    wrong.then(|| Violation::of("S05", life, version, format!("it is attributed to {claimed}")))
}

/// Source and generation of exports and imports never go back.
fn time_travel(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut last: Option<(&str, i64)> = None;
    for version in life.states().filter(|version| version.author().is_agent()) {
        let origin = version.object().pointer(ORIGIN).unwrap_or(&Value::Null);
        let now = (text(origin, "/uid"), origin["generation"].as_i64().unwrap_or(0));
        if let Some((uid, generation)) = last {
            if uid == now.0 && now.1 < generation {
                let sentence = format!("generation {} after {generation}", now.1);
                found.push(Violation::of("S03", life, version, sentence));
            }
            let owner = member_of_namespace(life.namespace()).unwrap_or_default();
            if uid != now.0 && lives_on(history, owner, uid, version) {
                let sentence = format!("another source while {uid} is there");
                found.push(Violation::of("S03", life, version, sentence));
            }
        }
        last = Some(now);
    }
    found
}

fn lives_on(history: &History<'_>, cluster: &str, uid: &str, version: &Version<'_>) -> bool {
    let mut sources = history.of_kind(cluster, kinds::ENDPOINT_SLICE);
    let until = Until::Time(version.when + LAG);
    sources.any(|source| {
        let there = source.at(until).is_some_and(|slice| !terminating(slice));
        source.uid() == uid && there
    })
}

/// The generation that was measured never goes back.
fn mark_going_back(life: &Life<'_>) -> Vec<Violation> {
    let mut last = 0;
    let mut found = Vec::new();
    for version in life.states().filter(|version| version.author().is_agent()) {
        let mark = annotation(version.object(), annotations::LAST_OBSERVED_GENERATION);
        let Ok(mark) = mark.parse::<i64>() else { continue };
        if mark < last {
            let sentence = format!("generation {mark} after {last}");
            found.push(Violation::of("S03", life, version, sentence));
        }
        last = mark;
    }
    found
}
