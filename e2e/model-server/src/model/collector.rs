//! When the garbage collector looks at an object that may have lost its owners.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use fleet_api::{ObjectName, ResourceKind};
use serde_json::Value;

use super::stored::Stored;

/// How long it may take, in milliseconds.
const LONGEST: u64 = 10_000;

/// Objects that it will look at.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    /// Of a small generator (xorshift), so that a run can be repeated.
    state: u64,
    now: Duration,
    waiting: Vec<(Duration, ResourceKind, ObjectName)>,
}

impl Collector {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed | 1, now: Duration::ZERO, waiting: Vec::new() }
    }

    /// Looks at an object in a while.
    pub(super) fn look_at(&mut self, kind: ResourceKind, name: &ObjectName) {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let at = self.now + Duration::from_millis(self.state % LONGEST);
        self.waiting.push((at, kind, name.clone()));
    }

    /// What it looks at by this time.
    pub(super) fn due(&mut self, now: Duration) -> Vec<(ResourceKind, ObjectName)> {
        self.now = self.now.max(now);
        let due = self.waiting.extract_if(.., |(at, ..)| *at <= now);
        due.map(|(_, kind, name)| (kind, name)).collect()
    }
}

pub(super) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

pub(super) fn has_owners(object: &Value) -> bool {
    owners(object).next().is_some()
}

/// Of these objects those that lack owners, with the references to owners that are there. Those that are being deleted are left alone.
pub(super) fn without_owners(
    objects: &BTreeMap<(ResourceKind, ObjectName), Stored>,
    due: Vec<(ResourceKind, ObjectName)>,
) -> Vec<(ResourceKind, ObjectName, Vec<Value>)> {
    let uids = objects.values().filter_map(|object| object["metadata"]["uid"].as_str());
    let uids: HashSet<&str> = uids.collect();
    let is_there = |owner: &&Value| owner["uid"].as_str().is_some_and(|uid| uids.contains(uid));
    let lacking = due.into_iter().filter_map(|(kind, name)| {
        let object = objects.get(&(kind, name.clone()))?;
        let present: Vec<_> = owners(object).filter(is_there).cloned().collect();
        let is_going = !object["metadata"]["deletionTimestamp"].is_null();
        let lacks = present.len() < owners(object).count();
        (lacks && !is_going).then_some((kind, name, present))
    });
    lacking.collect()
}
