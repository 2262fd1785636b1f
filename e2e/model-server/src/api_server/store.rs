//! The objects of an API server, and what wakes its watches.

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::answer::typed;
use super::target::Target;
use crate::{Change, ModelServer};

pub(super) struct Store {
    model: Mutex<ModelServer>,
    /// Number of changes so far.
    count: watch::Sender<usize>,
}

impl Store {
    pub(super) fn new(model: ModelServer) -> Self {
        Self { model: Mutex::new(model), count: watch::Sender::new(0) }
    }

    pub(super) fn model(&self) -> MutexGuard<'_, ModelServer> {
        self.model.lock()
    }

    /// Changes objects, and calls `on_change` with each change.
    pub(super) fn write<R>(
        &self,
        write: impl FnOnce(&mut ModelServer) -> R,
        on_change: impl Fn(&Change),
    ) -> R {
        let mut model = self.model.lock();
        let before = model.changes().len();
        let result = write(&mut model);
        let changes = model.changes();
        changes[before..].iter().for_each(on_change);
        self.count.send_replace(changes.len());
        result
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Changes of a kind from a position on, as lines of a watch, and the position after them.
    pub(super) fn since(&self, position: usize, target: &Target) -> (Vec<u8>, usize) {
        let model = self.model.lock();
        let changes = model.changes();
        let of_target =
            |change: &&Change| change.kind == target.kind && target.covers(&change.name);
        let mut lines = Vec::new();
        for change in changes[position..].iter().filter(of_target) {
            let object = typed(change.kind, &change.object);
            // The type first: a client cannot read the object before it knows what it is.
            let line = format!("{{\"type\":\"{}\",\"object\":{object}}}\n", change.event);
            lines.extend_from_slice(line.as_bytes());
        }
        (lines, changes.len())
    }

    /// The position of the first change after a version.
    pub(super) fn position_after(&self, version: u64) -> usize {
        self.model.lock().changes().partition_point(|change| change.version <= version)
    }
}
