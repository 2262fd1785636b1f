//! All sources of an agent at one moment.

use std::collections::BTreeSet;
use std::time::Instant;

use fleet_api::{ObjectName, ResourceKind};

use crate::source::feeds::Feeds;
use crate::source::start::Start;
use crate::view::Settling;
use crate::{
    ClusterId, ResourceVersion, SourceId, SourceInfo, SourceSet, SourceState, Tracked, Uid, View,
};

/// What a snapshot knows of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// No source reads that kind of that cluster.
    NotWatched,
    /// No such object was seen.
    Absent,
    /// The object is there.
    Present {
        /// Its incarnation.
        uid: &'a Uid,
        /// The version that was seen last.
        version: &'a ResourceVersion,
    },
}

/// A [`View`] without its type.
pub trait AnyView {
    /// See [`View::state`].
    fn state(&self) -> &SourceState;
    /// See [`View::bootstrapped`].
    fn bootstrapped(&self) -> bool;
    /// Grows with every change of content or state.
    fn revision(&self) -> u64;
    /// Number of objects.
    fn len(&self) -> usize;
    /// Whether there is no object.
    fn is_empty(&self) -> bool;
    /// See [`View::trouble`].
    fn trouble(&self) -> Option<&str>;
    /// Whether the API server went back in time, or another one answered, not long ago: what is absent may come back.
    fn is_settling(&self) -> bool;
    /// Whether the API server went back in time not long ago.
    fn went_back(&self) -> bool;
    /// When the last complete list was begun.
    fn listed(&self) -> Option<Instant>;
    /// When the question was asked to which the API server answered last that it does not serve the kind, or forbids it.
    fn refused(&self) -> Option<Instant>;
    /// Incarnation and version of an object.
    fn find(&self, name: &ObjectName) -> Option<(&Uid, &ResourceVersion)>;
}

impl<T: Tracked> AnyView for View<T> {
    fn state(&self) -> &SourceState {
        &self.standing.state
    }

    fn bootstrapped(&self) -> bool {
        self.standing.bootstrapped
    }

    fn revision(&self) -> u64 {
        self.standing.revision
    }

    fn len(&self) -> usize {
        self.records.len()
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn trouble(&self) -> Option<&str> {
        self.standing.trouble.as_deref()
    }

    fn is_settling(&self) -> bool {
        self.standing.settling.is_some()
    }

    fn went_back(&self) -> bool {
        self.standing.settling == Some(Settling::WentBack)
    }

    fn listed(&self) -> Option<Instant> {
        self.standing.listed
    }

    fn refused(&self) -> Option<Instant> {
        self.standing.refused
    }

    fn find(&self, name: &ObjectName) -> Option<(&Uid, &ResourceVersion)> {
        self.records.get(name).map(|record| (&record.uid, &record.version))
    }
}

/// Gives the view of each source of a snapshot that no watch feeds.
pub trait Views {
    /// The view of one source with the content `T`.
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T>;
}

/// A struct of [`View`]s. Implemented by [`views!`](crate::views) only.
pub trait Snapshot: Clone + Default + Send + Sync + 'static {
    /// All sources, in the order of declaration.
    fn sources() -> &'static [SourceInfo];

    /// The view of a source; `None` for an id of another snapshot type.
    fn view(&self, id: SourceId) -> Option<&dyn AnyView>;

    /// Number of publications before this one: grows by one with each.
    fn seq(&self) -> u64;

    #[doc(hidden)]
    fn set_seq(&mut self, seq: u64);

    /// A snapshot of these views, for tests of what reads snapshots.
    fn of(views: &impl Views) -> Self;

    /// Starts the task of a source, with a feed for its content.
    #[doc(hidden)]
    fn start(id: SourceId, feeds: &impl Feeds, start: Start<'_, Self>);

    /// Every source.
    fn all() -> SourceSet {
        Self::sources().iter().map(|source| source.id).collect()
    }

    /// All sources of the clusters that one of these reads.
    fn of_same_clusters(sources: SourceSet) -> SourceSet {
        let all = Self::sources().iter();
        let clusters = all.clone().filter(|it| sources.contains(it.id)).map(|it| it.cluster);
        let clusters = clusters.collect::<BTreeSet<_>>();
        all.filter(|it| clusters.contains(&it.cluster)).map(|it| it.id).collect()
    }

    /// State of a source.
    fn state(&self, id: SourceId) -> &SourceState {
        self.view(id).map_or(&SourceState::Pending, AnyView::state)
    }

    /// Whether the API server of one of these sources went back in time, or another one answered, not long ago: that something is
    /// absent is no reason yet to delete anything. An optional source that is not to be had any more does not count: it would for ever.
    fn is_settling(&self, sources: SourceSet) -> bool {
        is_any(self, sources, |view| view.is_settling())
    }

    /// Whether the API server of one of these sources went back in time not long ago. One that only looks like another, by the way
    /// in which it orders requests, did not.
    fn went_back(&self, sources: SourceSet) -> bool {
        is_any(self, sources, |view| view.went_back())
    }

    /// Whether every source of `required` has listed once, or is optional and known not to be had:
    /// not served, or forbidden.
    fn complete(&self, required: SourceSet) -> bool {
        self.all_answered(required, |view| view.bootstrapped(), |_| true)
    }

    /// Like [`complete`](Self::complete), with lists that were begun at `since` or later. An optional source that is not to be
    /// had has to be asked for again, too: meanwhile its definition may have been installed.
    fn complete_since(&self, required: SourceSet, since: Instant) -> bool {
        let recent = |asked: Option<Instant>| asked.is_some_and(|asked| asked >= since);
        self.all_answered(required, |view| recent(view.listed()), |view| recent(view.refused()))
    }

    #[doc(hidden)]
    fn all_answered(
        &self,
        required: SourceSet,
        is_listed: impl Fn(&dyn AnyView) -> bool,
        is_refused: impl Fn(&dyn AnyView) -> bool,
    ) -> bool {
        Self::sources().iter().filter(|source| required.contains(source.id)).all(|source| {
            let Some(view) = self.view(source.id) else { return false };
            let cannot_be_had = source.optional && view.state().cannot_be_had();
            is_listed(view) || (cannot_be_had && is_refused(view))
        })
    }

    /// What is known of one object, for waiting until own writes have come back. Where several
    /// sources of `reads` have the kind with different selectors, the oldest version that one of them has
    /// counts: a plan may read any of them. One that does not get through shows nothing any more, and is left out if another
    /// one does. Sources that are not in `reads` count only where none of the kind is.
    fn lookup(
        &self,
        reads: SourceSet,
        cluster: ClusterId,
        kind: &ResourceKind,
        name: &ObjectName,
    ) -> Lookup<'_> {
        let of_kind = |source: &&SourceInfo| source.cluster == cluster && source.kind == *kind;
        let of_kind: Vec<_> = Self::sources().iter().filter(of_kind).collect();
        let is_read = |source: &SourceInfo| reads.contains(source.id);
        let any_is_read = of_kind.iter().any(|source| is_read(source));
        let counted = of_kind.into_iter().filter(|source| !any_is_read || is_read(source));
        let views: Vec<_> = counted.map(|source| self.view(source.id)).collect();
        let follows = |view: Option<&dyn AnyView>| view.is_some_and(|it| it.state().follows());
        let any_follows = views.iter().any(|view| follows(*view));
        let mut answer = Lookup::NotWatched;
        for view in views.into_iter().filter(|view| !any_follows || follows(*view)) {
            let found = view.and_then(|view| view.find(name));
            answer = match (answer, found) {
                (Lookup::NotWatched, None) => Lookup::Absent,
                (answer, None) => answer,
                (Lookup::Present { uid, version }, Some((_, newer)))
                    if newer.is_at_least(version) == Some(true) =>
                {
                    Lookup::Present { uid, version }
                }
                (_, Some((uid, version))) => Lookup::Present { uid, version },
            };
        }
        answer
    }
}

/// Whether that is so for one of these sources.
fn is_any<S: Snapshot>(
    snapshot: &S,
    sources: SourceSet,
    is_so: impl Fn(&dyn AnyView) -> bool,
) -> bool {
    let mut sources = S::sources().iter().filter(|source| sources.contains(source.id));
    let counts = |source: &SourceInfo, view: &dyn AnyView| {
        is_so(view) && !(source.optional && view.state().cannot_be_had())
    };
    sources.any(|source| snapshot.view(source.id).is_some_and(|view| counts(source, view)))
}
