//! What an engine remembers: on what it has planned, and what it plans again when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_plan::{Controller, affected_keys};

use crate::snapshot::MemberSnapshot;

/// Time after which a key is planned again of which a write has failed.
const RETRY: Duration = Duration::from_secs(1);

/// The keys of one controller.
pub(super) struct Queue<K> {
    seen: MemberSnapshot,
    due: BTreeMap<K, Duration>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self { seen: MemberSnapshot::default(), due: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// The keys that a change concerns, or that have asked for it.
    pub(super) fn keys<C>(
        &mut self,
        controller: &C,
        snapshot: &MemberSnapshot,
        now: Duration,
    ) -> BTreeSet<K>
    where
        C: Controller<Key = K, Snapshot = MemberSnapshot>,
    {
        let mut keys = affected_keys(controller, &self.seen, snapshot);
        self.seen = snapshot.clone();
        self.due.retain(|key, at| {
            let is_due = *at <= now;
            if is_due {
                keys.insert(key.clone());
            }
            !is_due
        });
        keys
    }

    /// Takes note of when a key is planned again even if nothing changes.
    pub(super) fn planned(&mut self, key: K, wake: Option<Duration>, failed: bool, now: Duration) {
        let wake = if failed { Some(wake.map_or(RETRY, |wake| wake.min(RETRY))) } else { wake };
        if let Some(wake) = wake {
            self.due.insert(key, now + wake);
        }
    }
}
