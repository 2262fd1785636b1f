//! When nothing moves: the moments at which what must be so in the end has to be so.
//!
//! A user namespace is quiescent while nothing in any cluster changes that is about it. Only a quiescence that a user
//! ends counts: where an agent is the next to write, it was not done. While servers or agents are stopped on purpose
//! nothing counts.

use std::collections::BTreeMap;

use fleet_api::kinds;

use super::history::{HUB, History, Life, Until};
use super::object::subject;
use super::record::{END, Micros};
use super::slowness::Slowness;

/// How long nothing must have changed, where servers answer at once.
const QUIET_FOR: Micros = 2_000_000;

/// Scenarios that run alone and yet leave servers, agents and rights as they are. All others of those disturb.
const UNDISTURBED: [&str; 3] = ["writes::", "latency::", "silence::"];

/// A user namespace at a time at which nothing moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The namespace.
    pub namespace: String,
    /// The last time before something moved again.
    pub at: Micros,
    /// Whether nothing ever moved again.
    pub last: bool,
}

impl Moment {
    /// For looking into the history.
    pub fn until(&self) -> Until {
        Until::Time(self.at)
    }
}

/// Every quiescence of every user namespace.
pub fn moments(history: &History<'_>) -> Vec<Moment> {
    let mut moves: BTreeMap<String, Vec<(Micros, bool)>> = BTreeMap::new();
    for life in history.lives.iter().filter(|life| is_of_fleet(life.kind)) {
        for version in &life.versions {
            let Some(service) = subject(life.kind, version.object()) else { continue };
            let Some((namespace, _)) = service.split_once('/') else { continue };
            let moves = moves.entry(namespace.to_owned()).or_default();
            moves.push((version.when, version.author().is_agent()));
            // Written between these two.
            moves.push((version.event.at.max(version.when), version.author().is_agent()));
        }
    }
    let disturbed = disturbances(history);
    let writes = history.recording.requests.iter().filter(|request| request.is_write());
    let slowness = Slowness::of(writes.map(|request| (request.received, request.answered)));
    let end = history.recording.marks.iter().find(|mark| mark.mark == END).map(|mark| mark.at);
    let mut found = Vec::new();
    for (namespace, mut moves) in moves {
        moves.sort_unstable();
        moves.extend(end.map(|end| (end, false)));
        for pair in moves.windows(2) {
            let (from, (to, agent)) = (pair[0].0, pair[1]);
            // What was disturbed meanwhile is quiescent from then on.
            let meanwhile = disturbed.iter().filter(|(begin, end)| from <= *end && *begin <= to);
            let from = meanwhile.map(|(_, end)| *end).fold(from, Micros::max);
            let quiet_for = QUIET_FOR + slowness.allowance(from, to);
            if to.saturating_sub(from) >= quiet_for && !agent {
                let last = Some(to) == end;
                found.push(Moment { namespace: namespace.clone(), at: to - 1, last });
            }
        }
    }
    found
}

fn is_of_fleet(kind: &str) -> bool {
    ![kinds::NAMESPACE, kinds::INTERNAL_MEMBER_CLUSTER, kinds::MEMBER_CLUSTER]
        .iter()
        .any(|other| other.kind == kind)
}

/// Times in which servers or agents are stopped, or lose their rights.
pub fn disturbances(history: &History<'_>) -> Vec<(Micros, Micros)> {
    let mut found = Vec::new();
    let mut begun: BTreeMap<&str, Micros> = BTreeMap::new();
    for mark in &history.recording.marks {
        let disturbs =
            |name: &str| !UNDISTURBED.iter().any(|quiescent| name.starts_with(quiescent));
        if let Some(name) = mark.mark.strip_prefix("begin ").filter(|name| disturbs(name)) {
            begun.insert(name, mark.at);
        } else if let Some(name) = mark.mark.strip_prefix("end ") {
            found.extend(begun.remove(name).map(|begin| (begin, mark.at)));
        }
    }
    // One that has not ended lasts.
    found.extend(begun.into_values().map(|begin| (begin, Micros::MAX)));
    found
}

/// Members that take part according to their membership. Who has no membership does nothing.
pub fn takes_part(history: &History<'_>, member: &str, until: Until) -> bool {
    let mut memberships = history.of_kind(HUB, kinds::INTERNAL_MEMBER_CLUSTER);
    memberships.any(|one: &Life<'_>| {
        one.name() == member && one.at(until).is_some_and(|one| one["spec"]["state"] == "Join")
    })
}
