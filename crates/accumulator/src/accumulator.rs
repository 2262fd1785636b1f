//! Putting sources, owner and consumers together.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::metrics::{Metrics, Register, SourceMetrics};
use crate::owner::{Arrival, Owner, Published, Wait};
use crate::silence::silent;
use crate::source::feeds::Feeds;
use crate::source::refresh::Refreshes;
use crate::source::start::Start;
use crate::time::now;
use crate::{ClusterId, Cursor, Expectation, Snapshot, SourceInfo, SourceSet, SourceState, Tasks};

/// A running accumulator: many watches, one snapshot. Clones are handles of the same one.
pub struct Accumulator<S> {
    published: watch::Receiver<Published<S>>,
    /// Weak: cursors must notice when the owner ends.
    outlet: Weak<watch::Sender<Published<S>>>,
    requests: mpsc::UnboundedSender<Wait>,
    metrics: Metrics,
    sources: Arc<[SourceMetrics]>,
    refreshes: Refreshes,
}

impl<S> Clone for Accumulator<S> {
    fn clone(&self) -> Self {
        Self {
            published: self.published.clone(),
            outlet: Weak::clone(&self.outlet),
            requests: self.requests.clone(),
            metrics: self.metrics.clone(),
            sources: Arc::clone(&self.sources),
            refreshes: self.refreshes.clone(),
        }
    }
}

impl<S: Snapshot> Accumulator<S> {
    /// Starts one task for each source of `sources`, with a feed of `feeds`, and one for the snapshot.
    /// They end when `token` is cancelled.
    ///
    /// # Panics
    /// If the settings cannot work; [`Config::validate`] checks them beforehand.
    pub fn start(
        config: &Config,
        sources: SourceSet,
        feeds: &impl Feeds,
        token: &CancellationToken,
        tasks: &dyn Tasks,
    ) -> Self {
        config.validate().expect("valid settings");
        let metrics = Metrics::new();
        let (outbox, inbox) = mpsc::channel(config.inbox);
        let (requests, requested) = mpsc::unbounded_channel();
        let empty = Published { snapshot: Arc::default(), cursors: Vec::new() };
        let (outlet, published) = watch::channel(empty);
        let outlet = Arc::new(outlet);
        let refreshes = Refreshes::new();
        let start = |source: &SourceInfo| {
            let metrics = metrics.source(source, now());
            let (outbox, refresh) = (outbox.clone(), refreshes.of(source.cluster));
            let start = Start { config, metrics: metrics.clone(), outbox, refresh, token, tasks };
            S::start(source.id, feeds, start);
            metrics
        };
        let started = S::sources().iter().filter(|source| sources.contains(source.id)).map(start);
        let accumulator = Self {
            published,
            outlet: Arc::downgrade(&outlet),
            requests,
            metrics: metrics.clone(),
            sources: started.collect(),
            refreshes: refreshes.clone(),
        };
        drop(outbox);
        let owner = Owner::new(metrics, config.batch, inbox, requested, outlet);
        let token = token.clone();
        let run = async move {
            token.run_until_cancelled(owner.run()).await;
        };
        tasks.run("snapshot", Box::pin(run));
        accumulator
    }

    /// The newest snapshot. Before anything was listed it is empty and pending.
    pub fn snapshot(&self) -> Arc<S> {
        Arc::clone(&self.published.borrow().snapshot)
    }

    /// A consumer that starts when all of `required` have listed once (or are optional and not
    /// served), and receives every change.
    pub fn cursor(&self, required: SourceSet) -> Cursor<S> {
        self.cursor_over(required, S::all())
    }

    /// Like [`cursor`](Self::cursor), for a consumer that reads only `required` and `reads`: what
    /// changes elsewhere does not wake it.
    pub fn cursor_over(&self, required: SourceSet, reads: SourceSet) -> Cursor<S> {
        self.cursor_of(required, reads, None)
    }

    /// Like [`cursor_over`](Self::cursor_over), for a consumer that cannot trust what was listed before
    /// `since`, as after another process has written: all sources are listed again, unless the last
    /// list of a source was begun later. The consumer starts when that is done for all of `required`.
    pub fn cursor_since(&self, required: SourceSet, reads: SourceSet, since: Instant) -> Cursor<S> {
        self.refreshes.demand_all(since);
        self.cursor_of(required, reads, Some(since))
    }

    fn cursor_of(
        &self,
        required: SourceSet,
        reads: SourceSet,
        since: Option<Instant>,
    ) -> Cursor<S> {
        let arrival = Arc::new(Arrival::new(reads.union(required), now()));
        if let Some(outlet) = self.outlet.upgrade() {
            outlet.send_if_modified(|published| {
                published.cursors.push(Arc::downgrade(&arrival));
                false
            });
        }
        let metrics = self.metrics.clone();
        Cursor::new(self.published.clone(), required, since, arrival, metrics)
    }

    /// Lists all sources of a cluster again: what its API server has contradicts what they show.
    pub fn relist(&self, cluster: ClusterId) {
        self.refreshes.demand(cluster, now());
    }

    /// Waits until the newest snapshot shows all of `expectations` to a reader of `reads`; returns those that it does
    /// not show at the deadline. A read of those objects decides then, never the snapshot.
    pub async fn wait(
        &self,
        reads: SourceSet,
        mut expectations: Vec<Expectation>,
        deadline: Duration,
    ) -> Vec<Expectation> {
        // The own event often arrives with the answer to the write.
        self.keep_unmet(reads, &mut expectations);
        if expectations.is_empty() {
            return expectations;
        }
        let (done, waiter) = oneshot::channel();
        let wait = Wait { reads, expectations: expectations.clone(), done };
        let asked = self.requests.send(wait).is_ok();
        if asked && matches!(tokio::time::timeout(deadline, waiter).await, Ok(Ok(()))) {
            return Vec::new();
        }
        self.keep_unmet(reads, &mut expectations);
        if !expectations.is_empty() {
            self.metrics.expectation_timeouts.inc();
        }
        expectations
    }

    fn keep_unmet(&self, reads: SourceSet, expectations: &mut Vec<Expectation>) {
        let snapshot = self.snapshot();
        expectations.retain(|expectation| !expectation.is_met(&*snapshot, reads));
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

    /// Of which kinds a consumer of [`cursor_since`](Self::cursor_since) still waits for a list begun at `since` or later,
    /// though they were listed before; what [`blocking`](Self::blocking) names is left out. For readiness.
    pub fn outdated(&self, required: SourceSet, since: Instant) -> Vec<String> {
        outdated(&*self.snapshot(), required, since)
    }

    /// Which clusters none of their sources in `asked` has got through to for `limit`, one sentence
    /// per cluster. For readiness.
    pub fn silent(&self, asked: SourceSet, limit: Duration) -> Vec<String> {
        silent(&*self.snapshot(), asked, now(), limit)
    }
}

/// See [`Accumulator::outdated`].
fn outdated<S: Snapshot>(snapshot: &S, required: SourceSet, since: Instant) -> Vec<String> {
    let mut kinds = Vec::new();
    for source in S::sources().iter().filter(|source| required.contains(source.id)) {
        let Some(view) = snapshot.view(source.id) else { continue };
        if view.state().cannot_be_had() || view.listed().is_none_or(|listed| listed >= since) {
            continue;
        }
        let what = format!("{} of the {} cluster", source.kind.resource(), source.cluster);
        kinds.push(match view.trouble() {
            Some(trouble) => format!("{what} ({trouble})"),
            None => what,
        });
    }
    kinds
}

/// See [`Accumulator::blocking`].
fn blocking<S: Snapshot>(snapshot: &S, required: SourceSet) -> Vec<String> {
    let mut sentences = Vec::new();
    for source in S::sources().iter().filter(|source| required.contains(source.id)) {
        let Some(view) = snapshot.view(source.id) else { continue };
        let what = format!("{} of the {} cluster", source.kind.resource(), source.cluster);
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
