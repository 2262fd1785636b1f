//! The one task that holds the snapshot: puts views into it, publishes, wakes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use fleet_api::ObjectName;
use tokio::sync::{mpsc, oneshot, watch};

use crate::metrics::{Metrics, Reason};
use crate::source::update::{Touched, Update};
use crate::time::now;
use crate::{Expectation, Snapshot, SourceId, SourceSet};

/// The newest snapshot, as cursors see it.
pub(crate) struct Published<S> {
    pub(crate) snapshot: Arc<S>,
    pub(crate) cursors: Vec<Weak<Arrival>>,
}

/// When the first event arrived that a cursor has not seen yet. Written and read under the lock of
/// the channel that carries [`Published`], so that it always belongs to the snapshot beside it.
pub(crate) struct Arrival {
    pub(crate) reads: SourceSet,
    pub(crate) epoch: Instant,
    /// Nanoseconds after `epoch`, plus one; 0 for none.
    nanos: AtomicU64,
}

impl Arrival {
    pub(crate) fn new(reads: SourceSet, epoch: Instant) -> Self {
        Self { reads, epoch, nanos: AtomicU64::new(0) }
    }

    fn note(&self, received: Instant) {
        if self.nanos.load(Ordering::Relaxed) == 0 {
            let after = received.saturating_duration_since(self.epoch).as_nanos();
            let after = u64::try_from(after).unwrap_or(u64::MAX - 1);
            self.nanos.store(after + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn take(&self) -> Option<Instant> {
        let nanos = self.nanos.swap(0, Ordering::Relaxed).checked_sub(1)?;
        Some(self.epoch + std::time::Duration::from_nanos(nanos))
    }
}

/// A task that waits for its own writes to come back.
pub(crate) struct Wait {
    /// What it reads: other sources of the same kind may be behind.
    pub(crate) reads: SourceSet,
    pub(crate) expectations: Vec<Expectation>,
    /// Completed when all are met; dropped when the task gives up.
    pub(crate) done: oneshot::Sender<()>,
}

pub(crate) struct Owner<S> {
    snapshot: S,
    metrics: Metrics,
    batch: usize,
    inbox: mpsc::Receiver<Update<S>>,
    requests: mpsc::UnboundedReceiver<Wait>,
    outlet: Arc<watch::Sender<Published<S>>>,
    waits: Waits,
}

impl<S: Snapshot> Owner<S> {
    pub(crate) fn new(
        metrics: Metrics,
        batch: usize,
        inbox: mpsc::Receiver<Update<S>>,
        requests: mpsc::UnboundedReceiver<Wait>,
        outlet: Arc<watch::Sender<Published<S>>>,
    ) -> Self {
        let (snapshot, waits) = (S::default(), Waits::default());
        Self { snapshot, metrics, batch, inbox, requests, outlet, waits }
    }

    /// Runs until all sources are gone. Awaits nothing but its inboxes.
    pub(crate) async fn run(mut self) {
        let mut updates = Vec::with_capacity(self.batch);
        loop {
            tokio::select! {
                biased;
                Some(wait) = self.requests.recv() => self.waits.add(wait, &self.snapshot),
                count = self.inbox.recv_many(&mut updates, self.batch) => {
                    if count == 0 {
                        return;
                    }
                    self.publish(&mut updates);
                }
            }
        }
    }

    fn publish(&mut self, updates: &mut Vec<Update<S>>) {
        let depth = updates.len();
        let mut reason = Reason::Version;
        let mut loud = SourceSet::EMPTY;
        let mut first = None::<Instant>;
        let mut met = Vec::new();
        let mut touched = Vec::with_capacity(depth);
        for update in updates.drain(..) {
            (update.install)(&mut self.snapshot);
            first = Some(first.map_or(update.received, |first| first.min(update.received)));
            reason = reason.max(update.reason);
            if update.reason != Reason::Version {
                loud = loud.with(update.source);
            }
            touched.push((update.source, update.touched));
        }
        let Some(first) = first else { return };
        self.snapshot.set_seq(self.snapshot.seq() + 1);
        let snapshot = Arc::new(self.snapshot.clone());
        self.outlet.send_if_modified(|published| {
            published.snapshot = snapshot;
            if reason == Reason::Version {
                return false;
            }
            published.cursors.retain(|cursor| {
                let Some(cursor) = cursor.upgrade() else { return false };
                if cursor.reads.intersects(loud) {
                    cursor.note(first);
                }
                true
            });
            true
        });
        // Who waits for an object finds it in the published snapshot.
        for (source, touched) in &touched {
            self.waits.touch(*source, touched, &self.snapshot, &mut met);
        }
        for done in met {
            // An error means that the waiter has given up.
            let _ = done.send(());
        }
        let delay = now().saturating_duration_since(first);
        self.metrics.published(self.snapshot.seq(), reason, delay, depth);
    }
}

/// All waits, found by the objects that they wait for. What was shown once is not looked at again: a wait for many objects
/// costs no more than as many waits for one.
#[derive(Default)]
struct Waits {
    next: u64,
    open: HashMap<u64, OpenWait>,
    /// Expectations by object: the wait, and the position in it.
    by_object: HashMap<ObjectName, HashSet<(u64, usize)>>,
}

struct OpenWait {
    reads: SourceSet,
    /// `None` where the snapshot has shown it.
    expectations: Vec<Option<Expectation>>,
    unmet: usize,
    done: oneshot::Sender<()>,
}

impl Waits {
    fn add<S: Snapshot>(&mut self, wait: Wait, snapshot: &S) {
        // The waiter has looked, but the snapshot may have grown since.
        let is_met = |one: &Expectation| one.is_met(snapshot, wait.reads);
        let unmet = wait.expectations.into_iter().filter(|one| !is_met(one));
        let expectations: Vec<_> = unmet.map(Some).collect();
        if expectations.is_empty() {
            let _ = wait.done.send(());
            return;
        }
        self.sweep();
        self.next += 1;
        for (at, expectation) in expectations.iter().flatten().enumerate() {
            self.by_object.entry(expectation.name.clone()).or_default().insert((self.next, at));
        }
        let unmet = expectations.len();
        let (reads, done) = (wait.reads, wait.done);
        self.open.insert(self.next, OpenWait { reads, expectations, unmet, done });
    }

    /// Checks what waits for something that a source has changed.
    fn touch<S: Snapshot>(
        &mut self,
        source: SourceId,
        touched: &Touched,
        snapshot: &S,
        met: &mut Vec<oneshot::Sender<()>>,
    ) {
        if self.open.is_empty() {
            return;
        }
        let candidates: Vec<(u64, usize)> = match touched {
            Touched::All => self.by_object.values().flatten().copied().collect(),
            Touched::Names(names) => {
                let known = names.iter().filter_map(|name| self.by_object.get(name));
                known.flatten().copied().collect()
            }
        };
        let Some(info) = S::sources().get(source.index()) else { return };
        for (id, at) in candidates {
            let open = self.open.get(&id);
            let expectation = open.and_then(|wait| Some((wait.expectations[at].as_ref()?, wait)));
            let shown = expectation.is_some_and(|(expectation, wait)| {
                expectation.cluster == info.cluster
                    && expectation.kind == info.kind
                    && expectation.is_met(snapshot, wait.reads)
            });
            if shown && let Some(wait) = self.meet(id, at) {
                met.push(wait.done);
            }
        }
    }

    /// The snapshot shows an expectation. Returns the wait if that was the last one.
    fn meet(&mut self, id: u64, at: usize) -> Option<OpenWait> {
        let wait = self.open.get_mut(&id)?;
        let expectation = wait.expectations[at].take()?;
        wait.unmet -= 1;
        let is_done = wait.unmet == 0;
        self.forget(&expectation, (id, at));
        is_done.then(|| self.open.remove(&id)).flatten()
    }

    /// Forgets those that gave up.
    fn sweep(&mut self) {
        let gone = self.open.iter().filter(|(_, wait)| wait.done.is_closed());
        for id in gone.map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(wait) = self.open.remove(&id) else { continue };
            for (at, expectation) in wait.expectations.iter().enumerate() {
                if let Some(expectation) = expectation {
                    self.forget(expectation, (id, at));
                }
            }
        }
    }

    fn forget(&mut self, expectation: &Expectation, place: (u64, usize)) {
        if let Some(places) = self.by_object.get_mut(&expectation.name) {
            places.remove(&place);
            if places.is_empty() {
                self.by_object.remove(&expectation.name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
