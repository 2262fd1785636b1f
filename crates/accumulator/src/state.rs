//! How far one source can be trusted.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// State of one source. Every state but the first two shows the content of the last complete list
/// and what followed it; only [`Live`](Self::Live) content is evidence for deleting something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SourceState {
    /// Nothing came yet.
    #[default]
    Pending,
    /// The first list is on its way.
    Listing,
    /// Listed and followed by a watch.
    Live,
    /// Being listed again; the content is that from before.
    Resyncing,
    /// Only failures for a while.
    Stale {
        /// First of the failures.
        since: Instant,
        /// Last of them.
        message: Arc<str>,
    },
    /// The API server refuses the list or the watch, or does not answer whether it serves the kind where that decides. Not
    /// the same as empty.
    Forbidden {
        /// First refusal.
        since: Instant,
        /// `list`, `watch` or `discovery`.
        verb: &'static str,
        /// Message of the API server.
        message: Arc<str>,
    },
    /// The API server does not serve the kind. Not the same as empty.
    Missing {
        /// When that was found.
        since: Instant,
    },
}

impl SourceState {
    /// Label value in metrics and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Listing => "listing",
            Self::Live => "live",
            Self::Resyncing => "resyncing",
            Self::Stale { .. } => "stale",
            Self::Forbidden { .. } => "forbidden",
            Self::Missing { .. } => "missing",
        }
    }

    /// Whether the API server does not serve the kind, or forbids it.
    pub fn cannot_be_had(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Forbidden { .. })
    }

    /// Every value of [`as_str`](Self::as_str).
    pub const NAMES: [&'static str; 7] =
        ["pending", "listing", "live", "resyncing", "stale", "forbidden", "missing"];

    /// Whether it gets through, as far as is known.
    pub(crate) fn follows(&self) -> bool {
        !matches!(self, Self::Stale { .. } | Self::Forbidden { .. } | Self::Missing { .. })
    }

    /// Whether absence from this source's content means absence from the cluster.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live)
    }
}

impl fmt::Display for SourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
