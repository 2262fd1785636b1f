//! What a source reads.

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use kube::runtime::watcher;
use prometheus::Histogram;

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

/// Something that came from an API server.
#[derive(Debug)]
pub enum WatchItem<W> {
    /// An event of the list or the watch, or a failure.
    Event(watcher::Result<watcher::Event<W>>),
    /// A request is on its way: until something comes back, there is no connection for certain.
    /// `watcher` replaces a silent watch without a word, so that an API server which has fallen
    /// silent would go unnoticed until some timeout of the new connection.
    Requested,
    /// The API server has accepted a watch. `watcher` does not report it, and a quiet kind would look
    /// broken for as long as nothing changes.
    WatchStarted,
}

/// What one source receives.
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
    /// Starts from the beginning: a full list that is not older than this call, then its changes.
    fn open(&mut self, options: &ReadOptions) -> Events<W>;

    /// Asks discovery for the kind.
    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>>;

    /// Something that only changes when the client talks to another cluster; `None` if it cannot
    /// be read.
    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
