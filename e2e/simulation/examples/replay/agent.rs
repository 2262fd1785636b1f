//! What an agent does between the text of its watches and its plans: decoding, the accumulator, dirty keys, plans. No
//! socket, no writer; one thread, on which time stands still.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use fleet_accumulator::macros::{Field, FieldVisitor};
use fleet_accumulator::{
    Accumulator, Builder, Config, Cursor, Discovered, Events, Feed, Snapshot, SnapshotChange,
    SourceId, SourceSet, Tracked, WatchItem,
};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use kube::core::WatchEvent;
use kube::runtime::watcher::Event;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time goes on only when nobody has anything left to do.
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
    /// An agent that watches `sources` and has heard of nothing yet.
    pub(crate) fn new(sources: SourceSet) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        let context = runtime.enter();
        let mut watches = BTreeMap::new();
        let mut builder = Accumulator::builder(Config::default());
        for source in S::sources().iter().filter(|source| sources.contains(source.id)) {
            let (sender, receiver) = mpsc::unbounded_channel();
            watches.insert(source.id.index(), sender);
            builder = S::visit(source.id, Attach { builder, id: source.id, receiver }).unwrap();
        }
        let accumulator = builder.start(&CancellationToken::new(), &TaskTracker::new());
        let cursor = accumulator.cursor_over(sources, sources);
        drop(context);
        Self { runtime, cursor, watches }
    }

    /// Whether it watches a source.
    pub(crate) fn watches(&self, source: SourceId) -> bool {
        self.watches.contains_key(&source.index())
    }

    /// Puts something into the pipe of a source; nobody reads it before the next turn.
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

/// Starts the watch of a source whose type only the snapshot knows.
struct Attach<S> {
    builder: Builder<S>,
    id: SourceId,
    receiver: mpsc::UnboundedReceiver<Sent>,
}

impl<S: Snapshot> FieldVisitor<S> for Attach<S> {
    type Out = Builder<S>;

    fn visit<T: Tracked>(self, _: Field<S, T>) -> Builder<S> {
        let Self { builder, id, receiver } = self;
        builder.feed::<T>(id, Texts { receiver: Some(receiver), content: PhantomData })
    }
}

/// A watch that decodes as `kube` does.
struct Texts<T> {
    /// Taken by the one stream that is ever opened.
    receiver: Option<mpsc::UnboundedReceiver<Sent>>,
    content: PhantomData<fn() -> T>,
}

impl<T: Tracked> Feed<T> for Texts<T> {
    fn open(&mut self) -> Events<T::Wire> {
        let receiver = self.receiver.take().expect("no source is listed twice");
        let sent = stream::unfold(receiver, async |mut receiver| {
            receiver.recv().await.map(|sent| (sent, receiver))
        });
        let events = sent.flat_map(|sent| stream::iter(events::<T>(sent)));
        events.map(|event| WatchItem::Event(Ok(event))).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

fn events<T: Tracked>(sent: Sent) -> Vec<Event<T::Wire>> {
    match sent {
        Sent::List(objects) => {
            let objects = objects.iter().map(|text| serde_json::from_str(text).unwrap());
            let objects = objects.map(Event::InitApply);
            std::iter::once(Event::Init).chain(objects).chain([Event::InitDone]).collect()
        }
        Sent::Event(text) => vec![match serde_json::from_str(&text).unwrap() {
            WatchEvent::Added(wire) | WatchEvent::Modified(wire) => Event::Apply(wire),
            WatchEvent::Deleted(wire) => Event::Delete(wire),
            other => panic!("no event of an object: {other:?}"),
        }],
    }
}
