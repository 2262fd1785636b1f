//! L4: nothing goes to and fro. Where no user has asked for anything meanwhile, no agent brings an object back to what
//! it was before another write of an agent: two that disagree about an object would do that for ever.

use std::collections::BTreeMap;

use fleet_api::kinds;
use serde_json::Value;

use super::history::{History, Life, Version};
use super::object::subject;
use super::quiescence::disturbances;
use super::record::Micros;
use super::violation::Violation;

/// For how long a user's change may have effects, on a machine that is busy with many.
const EFFECT: Micros = 10_000_000;

/// What only servers set, and what differs between incarnations.
const NOT_CONTENT: [&str; 6] = [
    "resourceVersion",
    "generation",
    "managedFields",
    "uid",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
];

/// L4: an agent brings back what it, or another agent, has replaced.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let wishes = Wishes::of(history);
    let mut names: BTreeMap<(&str, &str, &str, &str), Vec<&Life<'_>>> = BTreeMap::new();
    for life in history.lives.iter().filter(|life| is_ours_to_write(life.kind)) {
        let key = (life.cluster, life.kind, life.namespace(), life.name());
        names.entry(key).or_default().push(life);
    }
    names.into_values().filter_map(|lives| returns(lives, &wishes)).collect()
}

fn is_ours_to_write(kind: &str) -> bool {
    ![kinds::NAMESPACE, kinds::INTERNAL_MEMBER_CLUSTER, kinds::MEMBER_CLUSTER]
        .iter()
        .any(|other| other.kind == kind)
}

/// The first such return among the incarnations of a name.
fn returns(mut lives: Vec<&Life<'_>>, wishes: &Wishes) -> Option<Violation> {
    lives.sort_by_key(|life| life.versions.first().map_or(0, Version::version));
    // The contents one after the other, since another user had a hand in it.
    let mut past: Vec<(Value, Micros)> = Vec::new();
    for life in lives {
        for version in &life.versions {
            let content = content(version);
            if !version.author().is_agent() {
                past.clear();
            }
            let same = past.iter().rposition(|(before, _)| *before == content);
            match same {
                Some(at) if at + 1 < past.len() => {
                    if !wishes.explain(life, past[at].1, version.when) {
                        let sentence = "it is again what an agent has replaced";
                        return Some(Violation::of("L4", life, version, sentence));
                    }
                    past = vec![(content, version.when)];
                }
                Some(at) => past[at].1 = version.when,
                None => past.push((content, version.when)),
            }
        }
    }
    None
}

/// What an object contains, apart from who and when; null for one that is gone.
fn content(version: &Version<'_>) -> Value {
    if version.is_end() {
        return Value::Null;
    }
    let mut content = version.object().clone();
    if let Some(metadata) = content["metadata"].as_object_mut() {
        metadata.retain(|field, _| !NOT_CONTENT.contains(&field.as_str()));
    }
    // Status follows what is so; L9 judges it.
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    content
}

/// When another user than an agent has changed something.
struct Wishes {
    /// About Services of a user namespace.
    about: BTreeMap<String, Vec<Micros>>,
    /// About members and namespaces.
    general: Vec<Micros>,
    /// Times in which servers or agents are stopped.
    disturbed: Vec<(Micros, Micros)>,
}

impl Wishes {
    fn of(history: &History<'_>) -> Self {
        let disturbed = disturbances(history);
        let mut wishes = Self { about: BTreeMap::new(), general: Vec::new(), disturbed };
        for life in &history.lives {
            for version in life.versions.iter().filter(|version| !version.author().is_agent()) {
                let times = match user_namespace(life, version) {
                    Some(namespace) => wishes.about.entry(namespace).or_default(),
                    None => &mut wishes.general,
                };
                times.push(version.when);
            }
        }
        wishes
    }

    /// Whether something that happened may have made `life` what it is at `end`, which it was at `begin` before.
    fn explain(&self, life: &Life<'_>, begin: Micros, end: Micros) -> bool {
        let span = begin.saturating_sub(EFFECT)..=end;
        let namespaces = life.versions.iter().filter_map(|version| user_namespace(life, version));
        let mut own = namespaces.filter_map(|namespace| self.about.get(&namespace)).flatten();
        own.any(|time| span.contains(time))
            || self.general.iter().any(|time| span.contains(time))
            || self.disturbed.iter().any(|(from, to)| from <= span.end() && span.start() <= to)
    }
}

fn user_namespace(life: &Life<'_>, version: &Version<'_>) -> Option<String> {
    if !is_ours_to_write(life.kind) {
        return None;
    }
    let service = subject(life.kind, version.object())?;
    service.split_once('/').map(|(namespace, _)| namespace.to_owned())
}
