//! What a controller is.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::hash::Hash;

use fleet_accumulator::{Snapshot, SourceSet};
use jiff::Timestamp;

use crate::affected::Affected;
use crate::event::Event;
use crate::plan::Plan;
use crate::step::Sample;

/// One decision-making unit of an agent; `fleet_runtime::engine::run_controller` drives it.
///
/// A controller has no state: what it decides follows from the snapshot, its settings and the time.
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

    /// Adds every key whose plan may differ between the two snapshots, including those that only the older
    /// one has. Its cost follows the difference, not the size of the snapshots.
    fn affected_keys(
        &self,
        old: &Self::Snapshot,
        new: &Self::Snapshot,
        keys: &mut Affected<Self::Key>,
    );

    /// Name of the queue of another program's controller, if this one takes its place: it is then
    /// measured by that name too.
    fn queue_name(&self) -> Option<&'static str> {
        None
    }

    /// What `key` still misses. Pure: the same arguments give the same plan.
    fn plan(&self, key: &Self::Key, snapshot: &Self::Snapshot, now: Timestamp) -> Plan;

    /// Events for the users whose objects cannot be reconciled because of `reason`: the controller cannot read one of its
    /// sources.
    fn blocked(&self, snapshot: &Self::Snapshot, reason: &str) -> Vec<Event> {
        let _ = (snapshot, reason);
        Vec::new()
    }

    /// Events for the users whose objects `key` is about: an API server rejects a write for them because of `reason`.
    fn rejected(&self, key: &Self::Key, snapshot: &Self::Snapshot, reason: &str) -> Vec<Event> {
        let _ = (key, snapshot, reason);
        Vec::new()
    }

    /// A step that carried `sample` was acknowledged at `now`.
    fn acknowledged(&self, sample: &Sample, now: Timestamp) {
        let _ = (sample, now);
    }
}

/// The keys of `controller` that the difference of two snapshots affects, each once.
pub fn affected_keys<C: Controller>(
    controller: &C,
    old: &C::Snapshot,
    new: &C::Snapshot,
) -> BTreeSet<C::Key> {
    let mut keys = Affected::new();
    controller.affected_keys(old, new, &mut keys);
    keys.drain().map(|(key, _)| key).collect()
}
