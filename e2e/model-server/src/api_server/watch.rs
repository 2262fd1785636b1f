//! Watches.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use tokio::time::Instant;

use super::store::Store;
use super::target::Target;

/// Duration in seconds of a watch without `timeoutSeconds`.
const LONGEST: u64 = 300;

/// A watch as it is asked for.
pub(super) struct Watch {
    version: u64,
    timeout: Duration,
}

impl Watch {
    /// Reads the query of a request; `None` if it is a list.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let number = |name| value(name).and_then(|text| text.parse().ok());
        if value("watch") != Some("true") {
            return None;
        }
        let timeout = Duration::from_secs(number("timeoutSeconds").unwrap_or(LONGEST));
        Some(Self { version: number("resourceVersion").unwrap_or_default(), timeout })
    }

    /// All changes since its version, as they come, until its time is over.
    pub(super) fn follow(
        self,
        server: Arc<Store>,
        target: Target,
    ) -> StreamBody<impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send> {
        let end = Instant::now() + self.timeout;
        let position = server.position_after(self.version);
        let news = server.subscribe();
        let state = (server, target, position, news);
        let lines =
            stream::unfold(state, move |(server, target, mut position, mut news)| async move {
                loop {
                    news.mark_unchanged();
                    let (lines, after) = server.since(position, &target);
                    position = after;
                    if !lines.is_empty() {
                        let frame = Ok(Frame::data(Bytes::from(lines)));
                        return Some((frame, (server, target, position, news)));
                    }
                    match tokio::time::timeout_at(end, news.changed()).await {
                        Ok(Ok(())) => {}
                        _ => return None,
                    }
                }
            });
        StreamBody::new(lines.boxed())
    }
}
