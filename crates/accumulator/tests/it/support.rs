//! A world of two clusters, and hands that feed it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use fleet_accumulator::{
    Accumulator, Config, Discovered, Events, Feed, Feeds, Newest, Object, ReadOptions,
    ResourceVersion, Snapshot, SourceInfo, SourceSet, Tracked, View, WatchError, WatchItem,
};
use fleet_api::{ObjectName, ResourceKind};
use futures::StreamExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::core::Status;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The content of a `ConfigMap` as the tests keep it.
#[derive(Debug, PartialEq)]
pub(crate) struct Thing {
    pub(crate) text: String,
    pub(crate) group: Option<String>,
    /// When its text changed last, by the clock of this process. Noted for things of groups only.
    pub(crate) observed: Option<Timestamp>,
}

impl Tracked for Thing {
    // Of a definition, which can be removed.
    const KIND: ResourceKind = ResourceKind {
        group: "example.org",
        version: "v1",
        kind: "ConfigMap",
        plural: "configmaps",
        namespaced: true,
    };
    type Wire = ConfigMap;
    type Index = String;

    fn project(wire: ConfigMap) -> Result<Self, String> {
        let mut data = wire.data.unwrap_or_default();
        let text = data.remove("text").ok_or("no text")?;
        Ok(Self { text, group: data.remove("group"), observed: None })
    }

    fn observe(&mut self, earlier: Option<&Self>, now: fn() -> Timestamp) {
        let same = earlier.filter(|earlier| earlier.text == self.text);
        let same = same.filter(|same| same.observed.is_some());
        let observed = same.map_or_else(|| Some(now()), |same| same.observed);
        self.observed = observed.filter(|_| self.group.is_some());
    }

    fn index(&self, _: &ObjectName) -> Vec<String> {
        self.group.iter().cloned().collect()
    }
}

fleet_accumulator::views! {
    /// Things of two clusters.
    pub(crate) struct World {
        /// Of the own cluster.
        local things: Thing,
        /// Of the hub.
        hub imports: Thing,
        /// May not be served.
        hub optional extras: Thing,
    }
}

pub(crate) fn name(text: &str) -> ObjectName {
    ObjectName::new("team", text)
}

/// A thing as the API server sends it.
pub(crate) fn thing(name: &str, uid: &str, version: u64, text: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some("team".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("text".to_owned(), text.to_owned())])),
        ..ConfigMap::default()
    }
}

/// The same thing, marked for deletion.
pub(crate) fn terminating(mut thing: ConfigMap) -> ConfigMap {
    let time = "2026-01-02T03:04:05Z".parse().unwrap();
    thing.metadata.deletion_timestamp = Some(Time(time));
    thing
}

pub(crate) fn refusal(code: u16) -> kube::Error {
    let message = format!("refused with {code}");
    kube::Error::Api(Box::new(Status { code, message, ..Status::default() }))
}

/// The version at which each list shows the kind.
pub(crate) const LIST_VERSION: &str = "1000";

/// One stream that a source has opened.
pub(crate) struct Tap {
    items: mpsc::UnboundedSender<WatchItem<ConfigMap>>,
    /// The version from which the source wants to continue.
    pub(crate) from: Option<ResourceVersion>,
}

impl Tap {
    pub(crate) fn send(&self, item: WatchItem<ConfigMap>) {
        let _ = self.items.send(item);
    }

    /// The last item of the stream: the source opens another one.
    pub(crate) fn fail(self, error: WatchError) {
        self.send(WatchItem::Failed(error));
    }

    pub(crate) fn requested(&self) {
        self.send(WatchItem::Requested);
    }

    pub(crate) fn watch_started(&self) {
        self.send(WatchItem::WatchStarted);
    }

    pub(crate) fn list_started(&self) {
        self.send(WatchItem::ListStarted);
    }

    pub(crate) fn listed(&self, thing: ConfigMap) {
        self.send(WatchItem::Listed(thing));
    }

    pub(crate) fn list_completed(&self) {
        self.send(WatchItem::ListCompleted(LIST_VERSION.into()));
    }

    pub(crate) fn list(&self, things: impl IntoIterator<Item = ConfigMap>) {
        self.list_started();
        for thing in things {
            self.listed(thing);
        }
        self.list_completed();
    }

    /// A list at a version of its own.
    pub(crate) fn list_at(&self, version: u64, things: impl IntoIterator<Item = ConfigMap>) {
        self.list_started();
        for thing in things {
            self.listed(thing);
        }
        self.send(WatchItem::ListCompleted(version.to_string().into()));
    }

    pub(crate) fn apply(&self, thing: ConfigMap) {
        self.send(WatchItem::Applied(thing));
    }

    pub(crate) fn delete(&self, thing: ConfigMap) {
        self.send(WatchItem::Deleted(thing));
    }

    /// Whether the source still reads this stream.
    pub(crate) fn is_read(&self) -> bool {
        !self.items.is_closed()
    }
}

/// The test's end of a feed.
pub(crate) struct Hand {
    taps: mpsc::UnboundedReceiver<Tap>,
    pub(crate) served: Arc<AtomicBool>,
    pub(crate) asked: Arc<AtomicUsize>,
    /// What discovery answers instead, if anything.
    pub(crate) refusal: Arc<Mutex<Option<Status>>>,
    /// How far the kind is, where that can be asked for.
    pub(crate) newest: Arc<Mutex<Option<Newest>>>,
}

impl Hand {
    /// The next stream that the source opens.
    pub(crate) async fn tap(&mut self) -> Tap {
        self.taps.recv().await.expect("the source lives")
    }
}

pub(crate) struct HandFeed {
    taps: mpsc::UnboundedSender<Tap>,
    served: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    refusal: Arc<Mutex<Option<Status>>>,
    newest: Arc<Mutex<Option<Newest>>>,
}

impl Feed<ConfigMap> for HandFeed {
    fn open(&mut self, _: &ReadOptions, from: Option<&ResourceVersion>) -> Events<ConfigMap> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let _ = self.taps.send(Tap { items: sender, from: from.cloned() });
        futures::stream::poll_fn(move |context| receiver.poll_recv(context)).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let served = self.served.load(Ordering::Relaxed);
        let answer = if served { Discovered::Served } else { Discovered::Absent };
        let refusal = self.refusal.lock().clone().map(|status| kube::Error::Api(Box::new(status)));
        Box::pin(std::future::ready(refusal.map_or(Ok(answer), Err)))
    }

    fn newest(&mut self, _: Option<ObjectName>) -> BoxFuture<'_, kube::Result<Option<Newest>>> {
        Box::pin(std::future::ready(Ok(self.newest.lock().clone())))
    }

    fn ends_after(&self) -> Duration {
        STREAM_LIVES
    }
}

/// How long a stream lives that is all right.
pub(crate) const STREAM_LIVES: Duration = Duration::from_secs(290);

/// Makes feeds that hands drive.
#[derive(Default)]
struct Hands(Mutex<BTreeMap<&'static str, Hand>>);

impl Feeds for Hands {
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>> {
        let (sender, taps) = mpsc::unbounded_channel();
        let served = Arc::new(AtomicBool::new(true));
        let asked = Arc::new(AtomicUsize::new(0));
        let (refusal, newest) = (Arc::<Mutex<_>>::default(), Arc::<Mutex<_>>::default());
        let hand = Hand { taps, served, asked, refusal, newest };
        let feed = HandFeed {
            taps: sender,
            served: Arc::clone(&hand.served),
            asked: Arc::clone(&hand.asked),
            refusal: Arc::clone(&hand.refusal),
            newest: Arc::clone(&hand.newest),
        };
        self.0.lock().insert(source.field, hand);
        let feed: Box<dyn Feed<ConfigMap>> = Box::new(feed);
        let feed: Box<dyn Any> = Box::new(feed);
        *feed.downcast().expect("all sources hold things")
    }
}

/// A running accumulator and the hands that feed it.
pub(crate) struct Rig {
    pub(crate) accumulator: Accumulator<World>,
    pub(crate) things: Hand,
    pub(crate) imports: Hand,
    pub(crate) extras: Hand,
    pub(crate) token: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(&Config::default())
    }

    pub(crate) fn with(config: &Config) -> Self {
        let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
        let hands = Hands::default();
        let accumulator = Accumulator::start(config, World::all(), &hands, &token, &tasks);
        let mut hands = hands.0.into_inner();
        let [things, imports, extras] =
            ["things", "imports", "extras"].map(|field| hands.remove(field).expect("it is fed"));
        Self { accumulator, things, imports, extras, token, tasks }
    }

    /// Waits until the newest snapshot is as wanted. Nothing but the accumulator can run
    /// meanwhile, so with time standing still this is "as soon as possible".
    pub(crate) async fn until(&self, wanted: impl Fn(&World) -> bool) -> Arc<World> {
        let mut pause = Duration::from_millis(1);
        loop {
            for _ in 0..100 {
                let snapshot = self.accumulator.snapshot();
                if wanted(&snapshot) {
                    return snapshot;
                }
                tokio::task::yield_now().await;
            }
            // A task waits for a timer: time goes on only if all tasks do.
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(250));
        }
    }

    /// Lets everything that can run run.
    pub(crate) async fn settle(&self) {
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn local() -> SourceSet {
    SourceSet::from([World::things()])
}

pub(crate) fn both() -> SourceSet {
    SourceSet::from([World::things(), World::imports()])
}

pub(crate) fn texts(view: &View<Thing>) -> Vec<(String, String)> {
    view.iter().map(|record| (record.name.name.to_string(), record.text.clone())).collect()
}

pub(crate) fn record<'a>(view: &'a View<Thing>, text: &str) -> &'a Object<Thing> {
    view.get(&name(text)).expect("the object is there")
}

pub(crate) fn state(world: &World, id: fleet_accumulator::SourceId) -> &'static str {
    world.state(id).as_str()
}
