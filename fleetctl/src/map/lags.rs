//! How long changes of endpoints took to importers, of those that the page has seen arrive.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use fleet_api::{ObjectName, annotations};
use fleet_model::objects::EndpointSlice;
use jiff::Timestamp;

use crate::picture::Picture;
use crate::view::View;

/// Changes that are remembered for each importer of a Service.
const KEPT: usize = 100;
/// Changes that are drawn.
const DRAWN: usize = 40;
/// Importers of Services that are remembered.
const IMPORTS: usize = 20_000;

/// Times of changes, by Service and importer.
#[derive(Debug, Default)]
pub(super) struct Lags {
    seen: BTreeMap<(String, ObjectName), String>,
    times: BTreeMap<(ObjectName, String), VecDeque<Duration>>,
    began: bool,
}

impl Lags {
    /// Takes note of what has arrived since the last look. Changes from before the first look are not counted.
    pub(super) fn observe(&mut self, picture: &Picture) {
        let began = std::mem::replace(&mut self.began, true);
        let mut seen = BTreeMap::new();
        for (name, member) in &picture.members {
            for slice in member.snapshot.endpoint_slices.iter() {
                let Some((service, version, since)) = import(picture, name, slice) else {
                    continue;
                };
                let key = (name.clone(), slice.name.clone());
                let before = self.seen.get(&key);
                if began && before.is_some_and(|before| *before != version) {
                    self.add(service, name, picture.now, since);
                }
                seen.insert(key, version);
            }
        }
        self.seen = seen;
    }

    fn add(&mut self, service: ObjectName, importer: &str, now: Timestamp, since: Timestamp) {
        let Ok(time) = Duration::try_from(now.duration_since(since)) else { return };
        if self.times.len() >= IMPORTS {
            self.times.pop_first();
        }
        let times = self.times.entry((service, importer.to_owned())).or_default();
        times.push_back(time);
        if times.len() > KEPT {
            times.pop_front();
        }
    }

    /// Adds what is known to a view.
    pub(super) fn complete(&self, view: &mut View) {
        let names = self.times.keys().map(|(service, _)| service).collect::<BTreeSet<_>>();
        for service in &mut view.services {
            let name = ObjectName::new(service.namespace.as_str(), service.name.as_str());
            if !names.contains(&name) {
                continue;
            }
            for edge in &mut Arc::make_mut(service).importers {
                let times = self.times.get(&(name.clone(), edge.member.clone()));
                edge.lag_p99_millis = times.and_then(p99);
                edge.lags_millis = times.map(last).unwrap_or_default();
            }
        }
    }
}

/// The Service and the version of an imported slice, and since when its exporter knows that version.
fn import(
    picture: &Picture,
    member: &str,
    slice: &fleet_accumulator::Object<EndpointSlice>,
) -> Option<(ObjectName, String, Timestamp)> {
    let service = slice.imported_for()?;
    let generation = slice.object.meta.annotation(annotations::LAST_OBSERVED_GENERATION)?;
    let hub = &picture.members.get(member)?.snapshot.slice_imports;
    let mut copies = hub.by(&service).filter(|copy| copy.name.name == slice.name.name);
    let reference = &copies.next()?.spec.endpoint_slice_reference;
    let since = reference.exported_since.as_ref()?.0;
    (reference.generation.to_string() == generation)
        .then(|| (service, generation.to_owned(), since))
}

/// The last of them, which a drawing has.
fn last(times: &VecDeque<Duration>) -> Vec<u64> {
    let skipped = times.len().saturating_sub(DRAWN);
    let millis = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    times.iter().skip(skipped).map(millis).collect()
}

fn p99(times: &VecDeque<Duration>) -> Option<u64> {
    let mut sorted: Vec<_> = times.iter().collect();
    sorted.sort();
    let at = (sorted.len() * 99).div_ceil(100).checked_sub(1)?;
    sorted.get(at).and_then(|time| u64::try_from(time.as_millis()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_a_hundred_is_the_99th_percentile() {
        let times: VecDeque<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(p99(&times), Some(99));
        assert_eq!(p99(&[Duration::from_millis(5)].into()), Some(5));
        assert_eq!(p99(&VecDeque::new()), None);
    }
}
