//! What a source reads.

use std::time::Duration;

use fleet_api::ObjectName;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use prometheus::Histogram;

use crate::{ResourceVersion, Uid};

/// How discovery lists a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovered {
    /// It is served and objects can be created.
    Served,
    /// It is served, but about to go: a definition that is being deleted loses `create` first.
    Terminating,
    /// It is not served.
    Absent,
}

/// Something that came from an API server, or the request for it.
#[derive(Debug)]
pub enum WatchItem<W> {
    /// A request is on its way: until something comes back, there is no connection for certain.
    Requested,
    /// A part of an answer has arrived, or a part of a page is decoded: a list gets on. Others have their turn before the
    /// next item is taken.
    Progress,
    /// A list starts.
    ListStarted,
    /// An object of the list.
    Listed(W),
    /// The list is complete, and shows the kind at this version.
    ListCompleted(ResourceVersion),
    /// The API server has accepted a watch. Otherwise a quiet kind would look broken for as long as
    /// nothing changes.
    WatchStarted,
    /// An object was added or changed.
    Applied(W),
    /// An object is gone.
    Deleted(W),
    /// Nothing else has changed up to this version.
    Bookmark(ResourceVersion),
    /// Another API server answers than before: what it lacks proves nothing.
    ServerChanged,
    /// A request or a watch failed. The last item of its stream.
    Failed(WatchError),
}

/// Why a list or a watch ended early.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// A list, or one page of it.
    #[error("list failed: {0}")]
    List(#[source] kube::Error),
    /// The request for a watch.
    #[error("watch cannot start: {0}")]
    WatchStart(#[source] kube::Error),
    /// A watch that was running.
    #[error("watch failed: {0}")]
    Watch(#[source] kube::Error),
    /// A list or an object lacks the resource version from which a watch could continue.
    #[error("no resourceVersion in the answer of the API server")]
    NoResourceVersion,
    /// What was begun with one API server cannot continue with another.
    #[error("another API server answers")]
    OtherServer,
}

/// How far an API server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// The newest version of the kind.
    pub version: ResourceVersion,
    /// The object that was asked for, if it is there.
    pub object: Option<(Uid, ResourceVersion)>,
    /// Whether another API server has answered than before.
    pub is_another: bool,
}

/// What one source receives: it ends with a failure, or where the API server ends a watch.
pub type Events<W> = BoxStream<'static, WatchItem<W>>;

/// How a source wants to be read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Objects per page of a list.
    pub page_size: u32,
    /// Takes how long each object took to decode, in seconds.
    pub decoding: Histogram,
}

/// An API server, as far as one source needs it. Tests feed events by hand.
pub trait Feed<W>: Send + 'static {
    /// The changes after `from`; without it a full list that is not older than this call, then the
    /// changes after the list. A feed that cannot continue from a version lists instead.
    fn open(&mut self, options: &ReadOptions, from: Option<&ResourceVersion>) -> Events<W>;

    /// Asks discovery for the kind.
    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>>;

    /// How far the API server is, and an object, from a request that reads next to nothing; `None` if the feed has no such request.
    fn newest(&mut self, _: Option<ObjectName>) -> BoxFuture<'_, kube::Result<Option<Newest>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// After how long the API server ends a stream that is all right.
    fn ends_after(&self) -> Duration {
        Duration::ZERO
    }

    /// Something that only changes when the client talks to another cluster; `None` if it cannot
    /// be read.
    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
