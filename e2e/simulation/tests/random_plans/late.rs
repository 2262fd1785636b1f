//! Requests that arrive later than their process waits for them, or than it lives.

use std::time::Duration;

use fleet_oracle::requests::Author;
use fleet_plan::Step;

/// A request is given up after ten seconds, and an API server carries out none that came later than that.
pub(crate) const LATEST: u64 = 10_000;

/// A request that is under way.
pub(crate) struct Late {
    /// When it arrives.
    pub(crate) at: Duration,
    pub(crate) server: usize,
    /// Of the server, when it was sent.
    pub(crate) life: u32,
    pub(crate) step: Step,
    pub(crate) author: Author,
    pub(crate) key: String,
}
