//! What the connections of a proxy share.

use std::sync::Arc;

use anyhow::Result;
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue};
use hyper::body::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

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
    /// The release that the API server seems to be, such as `v1.33.0`.
    pub(super) release: Mutex<Option<String>>,
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

    /// The answer of the API server about itself, if the proxy has another one.
    pub(super) fn version(&self, headers: &mut HeaderMap, body: &Bytes) -> Result<Option<Bytes>> {
        let Some(release) = self.release.lock().clone() else { return Ok(None) };
        let mut answer: Value = serde_json::from_slice(body)?;
        answer["gitVersion"] = json!(release);
        headers.remove(CONTENT_LENGTH);
        Ok(Some(answer.to_string().into()))
    }
}
