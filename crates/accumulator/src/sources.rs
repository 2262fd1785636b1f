//! The sources of a snapshot: names, sets, and what is declared of each.

use fleet_api::ResourceKind;

use crate::ClusterId;

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
