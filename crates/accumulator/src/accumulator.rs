//! Putting sources, owner and consumers together.

use std::any::Any;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::metrics::{Metrics, Register, SourceMetrics};
use crate::owner::{Arrival, Owner, Published, Wait};
use crate::silence::silent;
use crate::snapshot::{Field, FieldVisitor};
use crate::source::feed::{Feed, KubeFeed, SourceSpec};
use crate::source::task::Task;
use crate::source::update::Update;
use crate::time::now;
use crate::{Cursor, Expectation, Snapshot, SourceId, SourceInfo, SourceSet, SourceState, Tracked};

/// Collects the sources of an accumulator before it starts.
pub struct Builder<S> {
    config: Config,
    metrics: Metrics,
    sources: Vec<SourceMetrics>,
    starters: Vec<Starter<S>>,
}

type Starter<S> = Box<dyn FnOnce(&Start<'_, S>) + Send>;

/// What a source's task needs to start.
struct Start<'a, S> {
    outbox: mpsc::Sender<Update<S>>,
    token: &'a CancellationToken,
    tasks: &'a TaskTracker,
}

/// A running accumulator: many watches, one snapshot. Clones are handles of the same one.
pub struct Accumulator<S> {
    published: watch::Receiver<Published<S>>,
    /// Weak: cursors must notice when the owner ends.
    outlet: Weak<watch::Sender<Published<S>>>,
    requests: mpsc::UnboundedSender<Wait>,
    metrics: Metrics,
    sources: Arc<[SourceMetrics]>,
}

impl<S> Clone for Accumulator<S> {
    fn clone(&self) -> Self {
        Self {
            published: self.published.clone(),
            outlet: Weak::clone(&self.outlet),
            requests: self.requests.clone(),
            metrics: self.metrics.clone(),
            sources: Arc::clone(&self.sources),
        }
    }
}

/// Starts the task of a field with a feed whose type is known to the caller only.
struct Attach<S> {
    info: SourceInfo,
    config: Config,
    metrics: SourceMetrics,
    feed: FeedChoice,
    snapshot: std::marker::PhantomData<fn() -> S>,
}

enum FeedChoice {
    Kube(SourceSpec),
    /// A `Box<dyn Feed<T>>` for the `T` of the field.
    Given(Box<dyn Any + Send>),
}

impl<S: Snapshot> FieldVisitor<S> for Attach<S> {
    type Out = Option<Starter<S>>;

    fn visit<T: Tracked>(self, field: Field<S, T>) -> Self::Out {
        let Self { info, config, metrics, feed, .. } = self;
        let feed: Box<dyn Feed<T>> = match feed {
            FeedChoice::Kube(spec) => {
                Box::new(KubeFeed::<T>::new(spec, config.page_size, metrics.decoding()))
            }
            FeedChoice::Given(feed) => *feed.downcast::<Box<dyn Feed<T>>>().ok()?,
        };
        Some(Box::new(move |start| {
            let outbox = start.outbox.clone();
            let task = Task::new(field, info, config, feed, metrics, outbox);
            let token = start.token.clone();
            start.tasks.spawn(async move {
                token.run_until_cancelled(task.run()).await;
            });
        }))
    }
}

impl<S: Snapshot> Builder<S> {
    /// Watches the kind of a source on an API server.
    #[must_use]
    pub fn source(self, id: SourceId, spec: SourceSpec) -> Self {
        self.attach(id, FeedChoice::Kube(spec))
    }

    /// Takes the events of a source from somewhere else: a test, or another kind of connection.
    ///
    /// # Panics
    /// If the source has another content than `T`.
    #[must_use]
    pub fn feed<T: Tracked>(self, id: SourceId, feed: impl Feed<T>) -> Self {
        let feed: Box<dyn Feed<T>> = Box::new(feed);
        self.attach(id, FeedChoice::Given(Box::new(feed)))
    }

    fn attach(mut self, id: SourceId, feed: FeedChoice) -> Self {
        let info = *S::sources().get(id.index()).expect("the id belongs to this snapshot");
        let metrics = self.metrics.source(&info, now());
        self.sources.push(metrics.clone());
        let config = self.config.clone();
        let snapshot = std::marker::PhantomData;
        let starter = S::visit(id, Attach { info, config, metrics, feed, snapshot }).flatten();
        self.starters.push(starter.expect("the feed has the content of the source"));
        self
    }

    /// Starts one task per source and one for the snapshot. They end when `token` is cancelled.
    pub fn start(self, token: &CancellationToken, tasks: &TaskTracker) -> Accumulator<S> {
        let (outbox, inbox) = mpsc::channel(self.config.inbox);
        let (requests, requested) = mpsc::unbounded_channel();
        let empty = Published { snapshot: Arc::default(), cursors: Vec::new() };
        let (outlet, published) = watch::channel(empty);
        let outlet = Arc::new(outlet);
        let accumulator = Accumulator {
            published,
            outlet: Arc::downgrade(&outlet),
            requests,
            metrics: self.metrics.clone(),
            sources: self.sources.into(),
        };
        let start = Start { outbox, token, tasks };
        for starter in self.starters {
            starter(&start);
        }
        drop(start);
        let owner = Owner::new(self.metrics, self.config.batch, inbox, requested, outlet);
        let token = token.clone();
        tasks.spawn(async move {
            token.run_until_cancelled(owner.run()).await;
        });
        accumulator
    }
}

impl<S: Snapshot> Accumulator<S> {
    /// Begins to declare what is watched.
    ///
    /// # Panics
    /// If the settings cannot work; [`Config::validate`] tells beforehand.
    pub fn builder(config: Config) -> Builder<S> {
        config.validate().expect("valid settings");
        let metrics = Metrics::new();
        Builder { config, metrics, sources: Vec::new(), starters: Vec::new() }
    }

    /// The newest snapshot. Before anything was listed it is empty and pending.
    pub fn snapshot(&self) -> Arc<S> {
        Arc::clone(&self.published.borrow().snapshot)
    }

    /// A consumer that starts when all of `required` have listed once (or are optional and not
    /// served), and is told of every change.
    pub fn cursor(&self, required: SourceSet) -> Cursor<S> {
        self.cursor_over(required, S::sources().iter().map(|source| source.id).collect())
    }

    /// Like [`cursor`](Self::cursor), for a consumer that reads only `required` and `reads`: what
    /// changes elsewhere does not wake it.
    pub fn cursor_over(&self, required: SourceSet, reads: SourceSet) -> Cursor<S> {
        let arrival = Arc::new(Arrival::new(reads.union(required), now()));
        if let Some(outlet) = self.outlet.upgrade() {
            outlet.send_if_modified(|published| {
                published.cursors.push(Arc::downgrade(&arrival));
                false
            });
        }
        let metrics = self.metrics.clone();
        Cursor::new(self.published.clone(), required, arrival, metrics)
    }

    /// Waits until the newest snapshot shows all of `expectations`; returns those that it does
    /// not show at the deadline. A read of those objects decides then, never the snapshot.
    pub async fn wait(
        &self,
        mut expectations: Vec<Expectation>,
        deadline: Duration,
    ) -> Vec<Expectation> {
        // The own event often arrives with the answer to the write.
        self.keep_unmet(&mut expectations);
        if expectations.is_empty() {
            return expectations;
        }
        let (done, waiter) = oneshot::channel();
        let wait = Wait { expectations: expectations.clone(), done };
        let asked = self.requests.send(wait).is_ok();
        if asked && matches!(tokio::time::timeout(deadline, waiter).await, Ok(Ok(()))) {
            return Vec::new();
        }
        self.keep_unmet(&mut expectations);
        if !expectations.is_empty() {
            self.metrics.expectation_timeouts.inc();
        }
        expectations
    }

    fn keep_unmet(&self, expectations: &mut Vec<Expectation>) {
        let snapshot = self.snapshot();
        expectations.retain(|expectation| !expectation.is_met(&*snapshot));
    }

    /// Registers the metrics, prefix `fleet_accumulator_`.
    pub fn register_metrics(&self, registry: &impl Register) -> prometheus::Result<()> {
        self.metrics.register(registry, self.sources.to_vec())
    }

    /// What keeps a consumer of `required` from working, one sentence per source; empty if
    /// nothing does. For readiness.
    pub fn blocking(&self, required: SourceSet) -> Vec<String> {
        blocking(&*self.snapshot(), required)
    }

    /// Which clusters none of their sources in `asked` has got through to for `limit`, one sentence
    /// per cluster. For readiness.
    pub fn silent(&self, asked: SourceSet, limit: Duration) -> Vec<String> {
        silent(&*self.snapshot(), asked, now(), limit)
    }
}

/// See [`Accumulator::blocking`].
fn blocking<S: Snapshot>(snapshot: &S, required: SourceSet) -> Vec<String> {
    let mut sentences = Vec::new();
    for source in S::sources().iter().filter(|source| required.contains(source.id)) {
        let Some(view) = snapshot.view(source.id) else { continue };
        let what = format!("{} of the {} cluster", source.kind.plural, source.cluster);
        let sentence = match view.state() {
            SourceState::Missing { .. } | SourceState::Forbidden { .. } if source.optional => {
                continue;
            }
            SourceState::Forbidden { verb, message, .. } => {
                format!("{what}: {verb} is forbidden ({message})")
            }
            SourceState::Missing { .. } => format!("{what}: the kind is not served"),
            _ if view.bootstrapped() => continue,
            _ => match view.trouble() {
                Some(trouble) => format!("{what}: not listed yet ({trouble})"),
                None => format!("{what}: not listed yet"),
            },
        };
        sentences.push(sentence);
    }
    sentences
}
