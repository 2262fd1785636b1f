//! What a controller is.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::hash::Hash;

use fleet_accumulator::{Snapshot, SourceSet};
use jiff::Timestamp;

use crate::affected::{Affected, AffectedKey};
use crate::event::Event;
use crate::plan::Plan;

/// One decision-making unit of an agent; `fleet_runtime::engine::run_controller` drives it.
///
/// A controller has no state: what it decides follows from the snapshot, its settings and the time.
pub trait Controller: Send + Sync + 'static {
    /// What the controller reads.
    type Snapshot: Snapshot;
    /// What it plans for, one at a time.
    type Key: Clone + Ord + Hash + Display + Debug + Send + Sync + 'static;

    /// What its plans measure; [`Infallible`](std::convert::Infallible) if they measure nothing.
    type Measurement: Clone + Debug + PartialEq + Send + 'static;

    /// Label in metrics and logs.
    fn name(&self) -> &'static str;

    /// The sources that must have been listed once before anything is planned.
    fn required(&self) -> SourceSet;

    /// The sources that are watched for the controller and whose changes wake it: the required ones, which are the
    /// default, and those that it can do without.
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

    /// The writes that `key` still misses. Pure: the same arguments give the same plan, and planning changes nothing.
    fn plan(
        &self,
        key: &Self::Key,
        snapshot: &Self::Snapshot,
        now: Timestamp,
    ) -> Plan<Self::Measurement>;

    /// Whether it deletes what is whole because something else is absent. On an API server that went back in time not long ago, that may
    /// be about to come back, so deletions wait there. What shows no loss beyond that of an update, which passes, need not wait.
    fn deletes_for_absence(&self) -> bool {
        true
    }

    /// Why nothing is planned although all sources can be read: a clause for the readiness probe and for
    /// [`blocked`](Self::blocked). Pure, as [`plan`](Self::plan) is.
    fn obstacle(&self, snapshot: &Self::Snapshot) -> Option<String> {
        let _ = snapshot;
        None
    }

    /// Events for the users whose objects cannot be reconciled because of `reason`: the controller cannot read one of its
    /// sources, or there is an [`obstacle`](Self::obstacle).
    fn blocked(&self, snapshot: &Self::Snapshot, reason: &str) -> Vec<Event> {
        let _ = (snapshot, reason);
        Vec::new()
    }

    /// Events for the users whose objects `key` is about: an API server rejects a write for them because of `reason`.
    fn rejected(&self, key: &Self::Key, snapshot: &Self::Snapshot, reason: &str) -> Vec<Event> {
        let _ = (key, snapshot, reason);
        Vec::new()
    }
}

/// The keys of `controller` that the difference of two snapshots affects, each once.
pub fn affected_keys<C: Controller>(
    controller: &C,
    old: &C::Snapshot,
    new: &C::Snapshot,
) -> BTreeSet<C::Key> {
    let mut keys = BTreeSet::new();
    let mut add = |affected: AffectedKey<C::Key>| {
        keys.insert(affected.key);
    };
    controller.affected_keys(old, new, &mut Affected::to(&mut add));
    keys
}
