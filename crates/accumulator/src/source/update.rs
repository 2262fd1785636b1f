//! What a source's task sends to the owner task.

use std::time::Instant;

use fleet_api::ObjectName;

use crate::SourceId;
use crate::metrics::Reason;

/// A new view of one source.
pub(crate) struct Update<S> {
    pub(crate) source: SourceId,
    /// When the first event that it contains arrived.
    pub(crate) received: Instant,
    pub(crate) reason: Reason,
    pub(crate) touched: Touched,
    /// Puts the view into the snapshot.
    pub(crate) install: Box<dyn FnOnce(&mut S) + Send>,
}

/// Names that changed since the last update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    Names(Vec<ObjectName>),
    /// A whole list was applied.
    All,
}
