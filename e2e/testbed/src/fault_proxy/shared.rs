//! What the connections of a proxy share.

use std::sync::Arc;

use parking_lot::Mutex;

use super::log::Log;
use super::rule::Rules;
use super::stream::Streams;
use super::upstream::Upstream;

/// What every connection works with.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) upstream: Upstream,
    pub(super) rules: Mutex<Rules>,
    pub(super) streams: Arc<Streams>,
    pub(super) log: Log,
}
