//! Exporters that have not come back to a hub that was built anew, or restored, although all had the time to.
//!
//! What they exported is kept: that they are gone for good is an administrator's word. As of members that are silent, it is last resort
//! (docs/design/traffic.md#exporters-that-do-not-come-back).

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, annotations, labels};
use fleet_model::objects::{ManagedIndex, ManagedSlice};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::Settings;
use crate::hub_side;
use crate::other_hub::{self, OtherHub};
use crate::settings::MulticlusterMode;
use crate::snapshot::MemberSnapshot;

/// What a look at the hub shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The hub.
    pub(crate) incarnation: String,
    /// Whether its members have had their time to come back.
    pub(crate) is_settled: bool,
    /// The exporters that have not.
    pub(crate) missing: BTreeSet<String>,
    /// Those among them whose endpoints this cluster has made last resort before, as their slices show.
    pub(crate) demoted: BTreeSet<String>,
}

/// Looks at the hub. `None` while it does not show all that it has.
pub(crate) fn look(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    followed: Option<&str>,
) -> Option<Seen> {
    if !settings.traffic.enabled {
        return None;
    }
    let (incarnation, is_settled) = other_hub::shown(settings, snapshot)?;
    let other = OtherHub::of(settings, snapshot, followed);
    let mut missing = other.map(|other| other.missing(&settings.identity)).unwrap_or_default();
    if settings.multicluster.mode == MulticlusterMode::On {
        missing.extend(of_standard_api(snapshot, incarnation)?);
    }
    let own = settings.identity.cluster.as_str();
    missing.remove(own);
    let demoted = if missing.is_empty() { BTreeSet::new() } else { demoted(snapshot, &missing) };
    Some(Seen {
        incarnation: incarnation.to_owned(),
        is_settled,
        missing: missing.into_iter().map(str::to_owned).collect(),
        demoted,
    })
}

/// The exporters of imports that this hub has not confirmed. `None` while it does not show what it has of that API.
fn of_standard_api<'a>(
    snapshot: &'a MemberSnapshot,
    incarnation: &str,
) -> Option<BTreeSet<&'a str>> {
    let states = [snapshot.fleet_slices.state(), snapshot.fleet_reports.state()];
    if !states.iter().all(|state| state.is_live()) {
        return None;
    }
    let imports = snapshot.standard_imports.iter();
    let others = imports.filter(|import| import.hub().is_some_and(|hub| hub != incarnation));
    let clusters = others.flat_map(|import| exporters(snapshot, &import.name));
    let clusters: BTreeSet<&str> = clusters.collect();
    if clusters.is_empty() {
        return Some(clusters);
    }
    let slices = snapshot.fleet_slices.iter();
    let back: BTreeSet<&str> = slices.filter_map(|slice| slice.cluster()).collect();
    let is_missing = |cluster: &&str| {
        !back.contains(cluster) && !hub_side::has_published(snapshot, cluster, incarnation)
    };
    Some(clusters.into_iter().filter(is_missing).collect())
}

/// The clusters whose slices are imported for a Service of the standard API.
fn exporters<'a>(
    snapshot: &'a MemberSnapshot,
    service: &ObjectName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let manager = labels::MANAGED_BY_MULTICLUSTER.into();
    let slices = snapshot.managed_slices.by(&ManagedIndex { manager, service: service.clone() });
    slices.filter_map(|slice| source(&slice.slice))
}

/// The clusters of kept slices whose conditions here are not those that the exporter reported.
fn demoted(snapshot: &MemberSnapshot, missing: &BTreeSet<&str>) -> BTreeSet<String> {
    let is_marked = |slice: &&Object<ManagedSlice>| {
        let annotations = slice.slice.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.contains_key(annotations::TERMINATING_AT_EXPORTER))
    };
    let marked = snapshot.managed_slices.iter().filter(is_marked);
    let clusters = marked.filter_map(|slice| source(&slice.slice));
    clusters.filter(|cluster| missing.contains(cluster)).map(str::to_owned).collect()
}

/// The cluster that an imported slice is from, through either API.
fn source(slice: &EndpointSlice) -> Option<&str> {
    let metadata = &slice.metadata;
    let of_standard =
        metadata.labels.as_ref().and_then(|all| all.get(labels::MULTICLUSTER_SOURCE_CLUSTER));
    let of_fleet = || metadata.annotations.as_ref()?.get(annotations::ORIGIN_CLUSTER);
    of_standard.or_else(of_fleet).map(String::as_str)
}

/// The exporters that count as silent, and since when it is known that members have had their time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The hub, and since when this process has seen without a break that it is settled.
    since: Option<(String, Duration)>,
    /// Those that count as silent; `None` until a look has shown it.
    missing: Option<BTreeSet<String>>,
}

impl Wait {
    /// Those that count as silent; `None` until a look has shown it: slices that are kept stay as they are.
    pub(crate) fn missing(&self) -> Option<&BTreeSet<String>> {
        self.missing.as_ref()
    }

    /// Takes note of a look. What is not seen changes nothing, and interrupts the wait.
    pub(crate) fn note(&mut self, seen: Option<Seen>, patience: Duration, now: Duration) {
        let Some(Seen { incarnation, is_settled, missing, demoted }) = seen else {
            self.since = None;
            return;
        };
        let known = self.since.take().filter(|(known, _)| *known == incarnation);
        let since = known.map_or(now, |(_, since)| since);
        let is_over = is_settled && now >= since.saturating_add(patience);
        // A process that begins anew goes on where the last one was; later, what is noted may be from an earlier time.
        let is_first = self.missing.is_none();
        let before = self.missing.take().unwrap_or_default();
        let counts = |cluster: &String| {
            is_over || before.contains(cluster) || (is_first && demoted.contains(cluster))
        };
        self.missing = Some(missing.into_iter().filter(counts).collect());
        self.since = is_settled.then_some((incarnation, since));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(hub: &str, missing: &[&str], demoted: &[&str]) -> Seen {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Seen {
            incarnation: hub.to_owned(),
            is_settled: true,
            missing: set(missing),
            demoted: set(demoted),
        }
    }

    /// The wait is one without a break, on one hub; who counts already goes on until it is back.
    #[test]
    fn an_exporter_is_missing_after_a_while_and_until_it_is_back() {
        let mut wait = Wait::default();
        assert_eq!(wait.missing(), None);
        let story = [
            (0, Some(seen("h/0", &["a"], &[])), &[][..]),
            (9, None, &[]),
            (10, Some(seen("h/0", &["a"], &[])), &[]),
            (19, Some(seen("h/0", &["a"], &[])), &[]),
            (20, Some(seen("h/0", &["a", "b"], &[])), &["a", "b"]),
            (21, None, &["a", "b"]),
            (22, Some(seen("h/0", &["a", "c"], &[])), &["a"]),
            (23, Some(seen("h/1", &["a", "c"], &[])), &["a"]),
            (32, Some(seen("h/1", &["a", "c"], &[])), &["a"]),
            (33, Some(seen("h/1", &["a", "c"], &[])), &["a", "c"]),
            (34, Some(seen("h/1", &[], &[])), &[]),
        ];
        for (at, seen, expected) in story {
            wait.note(seen, Duration::from_secs(10), Duration::from_secs(at));
            let found: Vec<_> = wait.missing().into_iter().flatten().collect();
            assert_eq!(found, expected, "{at}");
        }
    }

    /// The hub may be rebuilt once more meanwhile.
    #[test]
    fn who_is_back_counts_no_longer_whatever_the_hub_waits_for() {
        let mut wait = Wait::default();
        let patience = Duration::from_secs(10);
        wait.note(Some(seen("h/0", &["a", "b"], &[])), patience, Duration::ZERO);
        wait.note(Some(seen("h/0", &["a", "b"], &[])), patience, patience);
        let rebuilding = Seen { is_settled: false, ..seen("h/1", &["b", "c"], &["c"]) };
        wait.note(Some(rebuilding.clone()), patience, 2 * patience);
        wait.note(Some(rebuilding), patience, 4 * patience);
        assert_eq!(wait.missing(), Some(&BTreeSet::from(["b".to_owned()])));
    }

    /// A process that begins anew goes on where the last one was.
    #[test]
    fn what_was_last_resort_before_stays_so() {
        let mut wait = Wait::default();
        wait.note(
            Some(seen("h/0", &["a", "b"], &["b", "c"])),
            Duration::from_secs(10),
            Duration::ZERO,
        );
        assert_eq!(wait.missing(), Some(&BTreeSet::from(["b".to_owned()])));
    }
}
