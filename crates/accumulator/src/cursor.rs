//! A consumer's own position: which snapshot it has dealt with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::watch;

use crate::metrics::Metrics;
use crate::owner::{Arrival, Published};
use crate::time::now;
use crate::{AnyView, Change, Snapshot, SourceSet, Tracked, View, diff};

/// Reads the snapshots of one consumer in steps. Cursors are independent of each other, and a slow
/// one delays no other: when it returns it finds the newest snapshot, and the exact difference to
/// what it had.
pub struct Cursor<S> {
    published: watch::Receiver<Published<S>>,
    required: SourceSet,
    /// Lists that were begun earlier do not open the gate.
    since: Option<Instant>,
    arrival: Arc<Arrival>,
    metrics: Metrics,
    base: Arc<S>,
    /// Whether a step was ever committed: the first one is offered even if everything is empty.
    started: bool,
    /// The gate never closes again once it was open.
    open: bool,
    /// First arrival of a step that was offered but not committed.
    pending: Option<Instant>,
}

/// Everything that happened since the last committed step.
#[derive(Debug)]
pub struct SnapshotChange<S> {
    /// What the consumer had. Empty and pending in the first step.
    pub old: Arc<S>,
    /// What is there now.
    pub new: Arc<S>,
    /// When the first event of the difference arrived at the agent.
    pub received: Instant,
    changes: AtomicUsize,
}

impl<S> SnapshotChange<S> {
    /// A step between two snapshots, for tests of what reads steps.
    pub fn between(old: Arc<S>, new: Arc<S>, received: Instant) -> Self {
        Self { old, new, received, changes: AtomicUsize::new(0) }
    }

    /// The exact difference in one view; see [`diff`](crate::diff()).
    pub fn diff<'a, T: Tracked>(
        &'a self,
        view: impl Fn(&'a S) -> &'a View<T>,
    ) -> impl Iterator<Item = Change<'a, T>> {
        diff(view(&self.old), view(&self.new)).inspect(|_| {
            self.changes.fetch_add(1, Ordering::Relaxed);
        })
    }
}

impl<S: Snapshot> Cursor<S> {
    pub(crate) fn new(
        published: watch::Receiver<Published<S>>,
        required: SourceSet,
        since: Option<Instant>,
        arrival: Arc<Arrival>,
        metrics: Metrics,
    ) -> Self {
        Self {
            published,
            required,
            since,
            arrival,
            metrics,
            base: Arc::default(),
            started: false,
            open: false,
            pending: None,
        }
    }

    /// Waits until every required source has listed once, then for something to differ from the
    /// last committed step. `None` when the accumulator has ended.
    ///
    /// A step that was not committed is offered again at once, merged with what came since: who
    /// fails waits before trying again.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<SnapshotChange<S>> {
        loop {
            if let Some(step) = self.look() {
                return Some(step);
            }
            self.published.changed().await.ok()?;
        }
    }

    /// The next step if there is one already.
    pub fn try_next(&mut self) -> Option<SnapshotChange<S>> {
        self.look()
    }

    /// The consumer has dealt with the step.
    pub fn commit(&mut self, step: SnapshotChange<S>) {
        #[allow(clippy::cast_precision_loss, reason = "a count for a histogram")]
        self.metrics.step_changes.observe(step.changes.into_inner() as f64);
        self.base = step.new;
        self.started = true;
        self.pending = None;
    }

    fn look(&mut self) -> Option<SnapshotChange<S>> {
        let (new, arrived) = {
            let published = self.published.borrow_and_update();
            (Arc::clone(&published.snapshot), self.arrival.take())
        };
        self.pending = match (self.pending, arrived) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.open = self.open || self.is_complete(&new);
        if !self.open {
            return None;
        }
        if self.started && !self.differs(&new) {
            // Nothing that this consumer reads; keeping the old snapshot would keep its memory.
            self.base = new;
            return None;
        }
        let received = *self.pending.get_or_insert_with(now);
        Some(SnapshotChange::between(Arc::clone(&self.base), new, received))
    }

    fn is_complete(&self, new: &S) -> bool {
        match self.since {
            Some(since) => new.complete_since(self.required, since),
            None => new.complete(self.required),
        }
    }

    fn differs(&self, new: &S) -> bool {
        S::sources().iter().filter(|source| self.arrival.reads.contains(source.id)).any(|source| {
            let revision = |snapshot: &S| snapshot.view(source.id).map(AnyView::revision);
            revision(&self.base) != revision(new)
        })
    }
}
