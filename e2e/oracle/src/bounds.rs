//! How much agents write: L3 (bounded work).

use std::collections::BTreeMap;

use fleet_api::kinds;

use super::history::History;
use super::object::subject;
use super::quiescence::disturbances;
use super::violation::Violation;

/// The most expensive single change, the first export with its first import, costs 17 writes; every further importer
/// adds less than that.
const WRITES_OF_A_CHANGE: usize = 20;

/// L3: in a user namespace, agents write a bounded number of times per change of another user.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let disturbed = disturbances(history);
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for life in &history.lives {
        if life.kind == kinds::NAMESPACE.kind {
            continue;
        }
        for version in &life.versions {
            let Some(service) = subject(life.kind, version.object()) else { continue };
            let namespace = service.split('/').next().unwrap_or_default();
            let (changes, writes) = counts.entry(namespace.to_owned()).or_default();
            if disturbed.iter().any(|(begin, end)| (*begin..=*end).contains(&version.when)) {
                // Agents that come back look at everything again: as good as a change.
                *changes += 1;
            } else if version.author().is_agent() {
                *writes += 1;
            } else {
                *changes += 1;
            }
        }
    }
    let busy = counts
        .into_iter()
        .filter(|(_, (changes, writes))| *writes > WRITES_OF_A_CHANGE * changes.max(&1));
    busy.map(|(namespace, (changes, writes))| Violation {
        invariant: "L3",
        cluster: "all".to_owned(),
        object: format!("Namespace {namespace}"),
        version: 0,
        sentence: format!("{writes} writes for {changes} changes"),
    })
    .collect()
}
