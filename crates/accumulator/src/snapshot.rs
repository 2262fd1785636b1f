//! All sources of an agent at one moment.

use fleet_api::{ObjectName, ResourceKind};

use crate::{ClusterId, ResourceVersion, SourceState, Tracked, Uid, View};

/// One source of a snapshot, by its position in the declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(u8);

impl SourceId {
    /// Most sources a snapshot can have: a [`SourceSet`] is one word.
    pub const LIMIT: usize = 64;

    /// Names the source at a position. For [`views!`](crate::views), which checks the limit while
    /// compiling.
    #[doc(hidden)]
    #[allow(clippy::cast_possible_truncation, reason = "checked by the assertion before")]
    pub const fn new(position: usize) -> Self {
        assert!(position < Self::LIMIT, "a snapshot has at most 64 sources");
        Self(position as u8)
    }

    /// Position in the declaration.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of sources of one snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSet(u64);

impl SourceSet {
    /// No source.
    pub const EMPTY: Self = Self(0);

    /// Whether the source is in the set.
    pub const fn contains(self, id: SourceId) -> bool {
        self.0 & (1 << id.0) != 0
    }

    /// The set with one more source.
    #[must_use]
    pub const fn with(self, id: SourceId) -> Self {
        Self(self.0 | 1 << id.0)
    }

    /// All sources of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a source is in both sets.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<SourceId> for SourceSet {
    fn from_iter<I: IntoIterator<Item = SourceId>>(ids: I) -> Self {
        ids.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl<const N: usize> From<[SourceId; N]> for SourceSet {
    fn from(ids: [SourceId; N]) -> Self {
        ids.into_iter().collect()
    }
}

/// What is declared of one source.
#[derive(Clone, Copy, Debug)]
pub struct SourceInfo {
    /// Its id.
    pub id: SourceId,
    /// Its field in the snapshot.
    pub field: &'static str,
    /// Cluster it reads.
    pub cluster: ClusterId,
    /// Kind it reads.
    pub kind: ResourceKind,
    /// Whether the agent works where the API server does not serve the kind, or forbids it.
    pub optional: bool,
}

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
    /// Incarnation and version of an object.
    fn find(&self, name: &ObjectName) -> Option<(&Uid, &ResourceVersion)>;
}

impl<T: Tracked> AnyView for View<T> {
    fn state(&self) -> &SourceState {
        &self.state
    }

    fn bootstrapped(&self) -> bool {
        self.bootstrapped
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn len(&self) -> usize {
        self.records.len()
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn find(&self, name: &ObjectName) -> Option<(&Uid, &ResourceVersion)> {
        self.records.get(name).map(|record| (&record.uid, &record.version))
    }
}

/// One field of a snapshot, with its type.
#[doc(hidden)]
pub struct Field<S, T: Tracked> {
    pub id: SourceId,
    pub get: fn(&S) -> &View<T>,
    pub get_mut: fn(&mut S) -> &mut View<T>,
}

/// Code that works for a field of any type.
#[doc(hidden)]
pub trait FieldVisitor<S> {
    type Out;
    fn visit<T: Tracked>(self, field: Field<S, T>) -> Self::Out;
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

    #[doc(hidden)]
    fn visit<V: FieldVisitor<Self>>(id: SourceId, visitor: V) -> Option<V::Out>;

    /// State of a source.
    fn state(&self, id: SourceId) -> &SourceState {
        self.view(id).map_or(&SourceState::Pending, AnyView::state)
    }

    /// Whether every source of `required` has listed once, or is optional and known not to be had:
    /// not served, or forbidden.
    fn complete(&self, required: SourceSet) -> bool {
        Self::sources().iter().filter(|source| required.contains(source.id)).all(|source| {
            let state = self.state(source.id);
            let refused =
                matches!(state, SourceState::Missing { .. } | SourceState::Forbidden { .. });
            let bootstrapped = self.view(source.id).is_some_and(AnyView::bootstrapped);
            bootstrapped || (source.optional && refused)
        })
    }

    /// What is known of one object, for waiting until own writes have come back. Where several
    /// sources read the kind with different selectors, the oldest version that one of them has
    /// counts: a plan may read any of them.
    fn lookup(&self, cluster: ClusterId, kind: &ResourceKind, name: &ObjectName) -> Lookup<'_> {
        let mut answer = Lookup::NotWatched;
        for source in Self::sources() {
            if source.cluster != cluster || source.kind != *kind {
                continue;
            }
            let found = self.view(source.id).and_then(|view| view.find(name));
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
