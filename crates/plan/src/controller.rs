//! What a controller is.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::time::Duration;

use fleet_accumulator::{Snapshot, SourceSet};
use jiff::Timestamp;

use crate::event::Event;
use crate::plan::Plan;
use crate::step::Sample;

/// One decision-making unit of an agent; `fleet_runtime::engine::run_controller` drives it.
///
/// A controller holds no state that a restart would miss: what it decides follows from the snapshot.
pub trait Controller: Send + Sync + 'static {
    /// What the controller reads.
    type Snapshot: Snapshot;
    /// What it plans for, one at a time.
    type Key: Clone + Ord + Hash + Display + Debug + Send + Sync + 'static;

    /// Label in metrics and logs.
    fn name(&self) -> &'static str;

    /// What has to have listed once before anything is planned.
    fn required(&self) -> SourceSet;

    /// All that the controller reads: only these wake it. By default what it requires.
    fn reads(&self) -> SourceSet {
        self.required()
    }

    /// Marks every key whose plan may differ between the two snapshots, including those that only
    /// the older one shows. Costs what changed, not what exists.
    fn dirty(&self, old: &Self::Snapshot, new: &Self::Snapshot, mark: &mut dyn FnMut(Self::Key));

    /// Like [`dirty`](Self::dirty), for keys that may wait a while because more changes to them are
    /// to be expected.
    fn dirty_later(
        &self,
        old: &Self::Snapshot,
        new: &Self::Snapshot,
        mark: &mut dyn FnMut(Self::Key, Duration),
    ) {
        let _ = (old, new, mark);
    }

    /// Name of the queue of another program's controller, if this one takes its place: it is then
    /// measured by that name too.
    fn queue_name(&self) -> Option<&'static str> {
        None
    }

    /// What `key` still misses. Pure: the same arguments give the same plan.
    fn plan(&self, key: &Self::Key, snapshot: &Self::Snapshot, now: Timestamp) -> Plan;

    /// Events for the users whose objects have to wait, because of `reason`: sources of this controller cannot be read.
    fn held_up(&self, snapshot: &Self::Snapshot, reason: &str) -> Vec<Event> {
        let _ = (snapshot, reason);
        Vec::new()
    }

    /// Events for the users whose objects `key` is about: an API server refuses what the agent writes for them, because
    /// of `reason`.
    fn refused(&self, key: &Self::Key, snapshot: &Self::Snapshot, reason: &str) -> Vec<Event> {
        let _ = (key, snapshot, reason);
        Vec::new()
    }

    /// A step that carried `sample` was acknowledged at `now`.
    fn acknowledged(&self, sample: &Sample, now: Timestamp) {
        let _ = (sample, now);
    }
}
