//! What an agent does between the text of its watches and its plans: decoding, the accumulator, affected keys, plans.
//! No socket, no writer; one thread, on which time stands still.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::{
    Accumulator, Config, Cursor, Discovered, Events, Feed, Feeds, ReadOptions, ResourceVersion,
    Snapshot, SnapshotChange, SourceId, SourceInfo, SourceSet, Tracked, WatchItem,
};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use kube::core::WatchEvent;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time goes on only when no task has anything left to do.
const A_MOMENT: Duration = Duration::from_millis(1);

/// What an API server sends about one kind, as text.
pub(crate) enum Sent {
    /// All objects.
    List(Vec<String>),
    /// One event of the watch.
    Event(String),
}

/// The watching half of an agent.
pub(crate) struct Agent<S> {
    runtime: Runtime,
    cursor: Cursor<S>,
    watches: BTreeMap<usize, mpsc::UnboundedSender<Sent>>,
}

impl<S: Snapshot> Agent<S> {
    /// An agent that watches `sources` and has received nothing yet.
    pub(crate) fn new(sources: SourceSet) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        let context = runtime.enter();
        let pipes = Pipes::default();
        let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
        let accumulator = Accumulator::start(&Config::default(), sources, &pipes, &token, &tasks);
        let watches = pipes.0.into_inner();
        let cursor = accumulator.cursor_over(sources, sources);
        drop(context);
        Self { runtime, cursor, watches }
    }

    /// Whether it watches a source.
    pub(crate) fn watches(&self, source: SourceId) -> bool {
        self.watches.contains_key(&source.index())
    }

    /// Puts something into the pipe of a source; it is not read before the next turn.
    pub(crate) fn send(&self, source: SourceId, sent: Sent) {
        self.watches[&source.index()].send(sent).unwrap();
    }

    /// Reads everything that was sent. `None` if nothing of it is another content.
    pub(crate) fn turn(&mut self) -> Option<SnapshotChange<S>> {
        self.runtime.block_on(async { tokio::time::sleep(A_MOMENT).await });
        self.cursor.try_next()
    }

    /// The step is dealt with.
    pub(crate) fn commit(&mut self, step: SnapshotChange<S>) {
        self.cursor.commit(step);
    }
}

/// Makes the pipes into which a test puts what its sources read.
#[derive(Default)]
struct Pipes(RefCell<BTreeMap<usize, mpsc::UnboundedSender<Sent>>>);

impl Feeds for Pipes {
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.borrow_mut().insert(source.id.index(), sender);
        Box::new(Texts { receiver: Some(receiver) })
    }
}

/// A watch that decodes as `kube` does.
struct Texts {
    /// Taken by the one stream that is ever opened.
    receiver: Option<mpsc::UnboundedReceiver<Sent>>,
}

impl<W: DeserializeOwned + Send + 'static> Feed<W> for Texts {
    fn open(&mut self, _: &ReadOptions, _: Option<&ResourceVersion>) -> Events<W> {
        let receiver = self.receiver.take().expect("no source is listed twice");
        let sent = stream::unfold(receiver, async |mut receiver| {
            receiver.recv().await.map(|sent| (sent, receiver))
        });
        sent.flat_map(|sent| stream::iter(items::<W>(sent))).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

fn items<W: DeserializeOwned>(sent: Sent) -> Vec<WatchItem<W>> {
    match sent {
        Sent::List(objects) => {
            let objects = objects.iter().map(|text| serde_json::from_str(text).unwrap());
            let objects = objects.map(WatchItem::Listed);
            let completed = WatchItem::ListCompleted("1".into());
            std::iter::once(WatchItem::ListStarted).chain(objects).chain([completed]).collect()
        }
        Sent::Event(text) => vec![match serde_json::from_str(&text).unwrap() {
            WatchEvent::Added(wire) | WatchEvent::Modified(wire) => WatchItem::Applied(wire),
            WatchEvent::Deleted(wire) => WatchItem::Deleted(wire),
            other => panic!("no event of an object: {other:?}"),
        }],
    }
}
