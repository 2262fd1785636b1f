//! One watched kind: from an API server's events to the view of it.

pub(crate) mod brake;
mod content;
pub(crate) mod error;
pub(crate) mod feed;
pub(crate) mod item;
pub(crate) mod state;
pub(crate) mod task;

use std::time::Instant;

use crate::SourceId;
use crate::metrics::Reason;
use state::Touched;

/// A new view, on its way from a source's task to the owner.
pub(crate) struct Update<S> {
    pub(crate) source: SourceId,
    /// When the first event that it contains arrived.
    pub(crate) received: Instant,
    pub(crate) reason: Reason,
    pub(crate) touched: Touched,
    /// Puts the view into the snapshot.
    pub(crate) install: Box<dyn FnOnce(&mut S) + Send>,
}
