//! The controller of virtual nodes and their Pods in the cluster that the Pods come from.
//!
//! A key is a virtual node, or one Pod by its uid.

mod affected;
mod events;
mod export_state;
mod gauges;
mod key;
mod node;
mod node_writes;
mod pod;
mod sources;
mod status;
mod unread;

use std::sync::Arc;

use fleet_accumulator::SourceSet;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event};
use fleet_virtual_node::node::LEASE_RENEWAL;
use jiff::Timestamp;

pub use gauges::count;
pub use key::Key;

use crate::Settings;
use crate::links::Links;
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;
use crate::status_writes::StatusWrites;

/// Lets Pods of this cluster run in other members.
#[derive(Clone, Debug)]
pub struct OriginController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
    pub(crate) links: Arc<Links>,
    pub(crate) writes: Arc<StatusWrites>,
}

impl Controller for OriginController {
    type Snapshot = MemberSnapshot;
    type Key = Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "virtual_node_origin"
    }

    fn required(&self) -> SourceSet {
        sources::required()
    }

    fn reads(&self) -> SourceSet {
        sources::reads()
    }

    fn affected_keys(&self, old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
        affected::affected(old, new, keys);
    }

    fn plan(&self, key: &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        let Self { settings, links, writes } = self;
        match key {
            Key::Node(executor) => {
                let mut plan = node::plan(settings, links, executor, snapshot, now);
                // Links come and go without a change of the snapshot.
                plan.wake_within(LEASE_RENEWAL);
                plan
            }
            Key::Pod(uid) => pod::plan(settings, (links, writes), uid, snapshot, now),
        }
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.virtual_node_objects.iter().map(|node| LOCAL.blocked(node, reason)).collect()
    }

    fn rejected(&self, key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        events::rejected(key, snapshot, reason)
    }
}
