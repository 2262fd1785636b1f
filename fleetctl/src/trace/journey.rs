//! Combines observations into journeys: one change of one EndpointSlice, observed at every stage of its path. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use fleet_api::ObjectName;

/// A stage of the path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// The exporter's own EndpointSlice.
    Origin,
    /// The EndpointSliceExport.
    Published,
    /// The EndpointSliceImport for a member.
    Copied(String),
    /// A member's imported EndpointSlice.
    Arrived(String),
    /// A member's EndpointSlice that was imported by the API of multicluster.x-k8s.io.
    Imported(String),
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin => f.write_str("changed in the exporter's EndpointSlice"),
            Self::Published => f.write_str("exported to the hub, as EndpointSliceExport"),
            Self::Copied(member) => write!(f, "copied for {member}, as EndpointSliceImport"),
            Self::Arrived(_) => f.write_str("bound to the derived Service"),
            Self::Imported(_) => f.write_str("imported through multicluster.x-k8s.io"),
        }
    }
}

/// Which slice: the exporting member, and the slice's name there.
pub(super) type Slice = (String, ObjectName);

/// The stages that a change passes, by the exporting member.
pub(super) type Wanted = BTreeMap<String, BTreeSet<Stage>>;

/// Ready addresses; `None` if the object is deleted.
pub(super) type Addresses = Option<Vec<String>>;

/// One object as it was seen at one moment.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub(super) at: Instant,
    /// Where: a member, or `hub`.
    pub(super) cluster: String,
    pub(super) stage: Stage,
    pub(super) slice: Slice,
    pub(super) addresses: Addresses,
    /// It was there before anything was watched.
    pub(super) known: bool,
}

/// The output for an observation that belongs to a journey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) cluster: String,
    pub(super) stage: Stage,
    pub(super) slice: Slice,
    pub(super) addresses: Addresses,
    /// Since the journey began.
    pub(super) since: Duration,
    /// Since the hop before it.
    pub(super) step: Duration,
    /// Whether this was the last one.
    pub(super) last: bool,
}

/// Puts sightings together.
#[derive(Debug)]
pub(super) struct Tracker {
    wanted: Wanted,
    seen: BTreeMap<(Stage, Slice), Addresses>,
    journeys: BTreeMap<Slice, Journey>,
}

#[derive(Debug)]
struct Journey {
    began: Instant,
    before: Instant,
    addresses: Addresses,
    missing: BTreeSet<Stage>,
}

impl Tracker {
    /// A journey is at its end when it was seen at all stages of its exporter.
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { wanted, seen: BTreeMap::new(), journeys: BTreeMap::new() }
    }

    /// Takes a sighting in. `None` if it is no hop of a journey: nothing changed, or something older arrived.
    pub(super) fn take(&mut self, sighting: Sighting) -> Option<Hop> {
        let Sighting { at, cluster, stage, slice, addresses, known } = sighting;
        let before = self.seen.insert((stage.clone(), slice.clone()), addresses.clone());
        if known || before.unwrap_or_default() == addresses {
            return None;
        }
        if matches!(stage, Stage::Origin | Stage::Published) {
            self.begin(&slice, at, &addresses);
        }
        let journey = self.journeys.get_mut(&slice)?;
        if journey.addresses != addresses {
            return None;
        }
        journey.missing.remove(&stage);
        let since = at.saturating_duration_since(journey.began);
        let step = at.saturating_duration_since(journey.before);
        journey.before = journey.before.max(at);
        let last = journey.missing.is_empty();
        if last {
            self.journeys.remove(&slice);
        }
        Some(Hop { cluster, stage, slice, addresses, since, step, last })
    }

    /// What an unfinished journey still has to be seen at.
    pub(super) fn missing(&self) -> BTreeSet<&Stage> {
        self.journeys.values().flat_map(|journey| &journey.missing).collect()
    }

    /// The stages of an exporter that was none when the watch began.
    fn all(&self) -> BTreeSet<Stage> {
        self.wanted.values().flatten().cloned().collect()
    }

    /// The first to show new addresses begins; a change on the way takes the place of an older one.
    fn begin(&mut self, slice: &Slice, at: Instant, addresses: &Addresses) {
        if self.journeys.get(slice).is_none_or(|journey| journey.addresses != *addresses) {
            let missing = self.wanted.get(&slice.0).cloned().unwrap_or_else(|| self.all());
            let addresses = addresses.clone();
            let journey = Journey { began: at, before: at, addresses, missing };
            self.journeys.insert(slice.clone(), journey);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Watch {
        tracker: Tracker,
        begin: Instant,
    }

    impl Watch {
        fn new() -> Self {
            let west = || "west".to_owned();
            let wanted =
                [Stage::Origin, Stage::Published, Stage::Copied(west()), Stage::Arrived(west())];
            let wanted = Wanted::from([("east".to_owned(), wanted.into())]);
            Self { tracker: Tracker::new(wanted), begin: Instant::now() }
        }

        fn see(
            &mut self,
            stage: Stage,
            millis: u64,
            address: Option<&str>,
            known: bool,
        ) -> Option<Hop> {
            self.tracker.take(Sighting {
                at: self.begin + Duration::from_millis(millis),
                cluster: "c".to_owned(),
                stage,
                slice: ("east".to_owned(), ObjectName::new("shop", "web-1")),
                addresses: address.map(|address| vec![address.to_owned()]),
                known,
            })
        }
    }

    fn stages() -> [Stage; 4] {
        let west = || "west".to_owned();
        [Stage::Origin, Stage::Published, Stage::Copied(west()), Stage::Arrived(west())]
    }

    #[test]
    fn a_change_is_followed_from_its_origin_to_the_last_importer() {
        let mut watch = Watch::new();
        for stage in stages() {
            assert_eq!(watch.see(stage, 0, Some("old"), true), None);
        }
        let mut told = Vec::new();
        for (at, stage) in stages().into_iter().enumerate() {
            let hop = watch.see(stage, 10 + 5 * at as u64, Some("new"), false).unwrap();
            told.push((hop.since.as_millis(), hop.step.as_millis(), hop.last));
        }
        assert_eq!(told, [(0, 0, false), (5, 5, false), (10, 5, false), (15, 5, true)]);
        assert!(watch.tracker.missing().is_empty());
    }

    #[test]
    fn what_did_not_change_and_what_is_older_is_no_hop() {
        let [origin, published, copied, _] = stages();
        let mut watch = Watch::new();
        watch.see(origin.clone(), 0, Some("a"), true);
        assert_eq!(watch.see(origin.clone(), 1, Some("a"), false), None);
        assert!(watch.see(origin.clone(), 2, Some("b"), false).is_some());
        assert!(watch.see(origin, 3, Some("c"), false).is_some());
        assert_eq!(watch.see(copied.clone(), 4, Some("b"), false), None);
        assert!(watch.see(published, 5, Some("c"), false).is_some());
        assert_eq!(
            watch.tracker.missing().into_iter().collect::<Vec<_>>(),
            [&copied, &stages()[3]]
        );
    }

    #[test]
    fn a_slice_that_goes_travels_too() {
        let mut watch = Watch::new();
        for stage in stages() {
            watch.see(stage, 0, Some("a"), true);
        }
        let hops: Vec<_> =
            stages().into_iter().map(|stage| watch.see(stage, 1, None, false)).collect();
        assert!(hops[3].as_ref().unwrap().last, "{hops:?}");
    }

    /// Exporters of one API alone have importers of their own.
    #[test]
    fn each_exporter_has_its_stages() {
        let stages = |importer: &str| {
            BTreeSet::from([Stage::Published, Stage::Imported(importer.to_owned())])
        };
        let wanted = [("east", "west"), ("north", "south")];
        let wanted = wanted.map(|(from, to)| (from.to_owned(), stages(to)));
        let mut tracker = Tracker::new(Wanted::from(wanted));
        let mut see = |exporter: &str, stage| {
            let hop = tracker.take(Sighting {
                at: Instant::now(),
                cluster: "c".to_owned(),
                stage,
                slice: (exporter.to_owned(), ObjectName::new("shop", "web-1")),
                addresses: Some(vec!["10.1.0.1".to_owned()]),
                known: false,
            });
            hop.unwrap().last
        };
        assert!(!see("east", Stage::Published));
        assert!(!see("east", Stage::Imported("south".to_owned())));
        assert!(see("east", Stage::Imported("west".to_owned())));
        assert!(!see("north", Stage::Published));
        assert!(see("north", Stage::Imported("south".to_owned())));
    }
}
