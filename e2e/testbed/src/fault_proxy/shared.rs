//! What the connections of a proxy share.

use std::sync::Arc;

use http::header::{CONNECTION, DATE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue};
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
    /// What the answers have for a `Date` in the place of the API server's.
    pub(super) date: Mutex<Option<HeaderValue>>,
}

impl Shared {
    /// Makes the headers of an answer of the API server those of an answer of the proxy.
    pub(super) fn pass_on(&self, headers: &mut HeaderMap) {
        // The proxy frames its answers itself.
        headers.remove(TRANSFER_ENCODING);
        headers.remove(CONNECTION);
        if let Some(date) = &*self.date.lock() {
            headers.insert(DATE, date.clone());
        }
    }
}
