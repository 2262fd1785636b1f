//! Pods of one member that run in another: offers become virtual nodes, exports become imports, and what executors report goes
//! back. What one Pod needs is decided in `crates/virtual-node`; here is when the hub can be sure of what it sees.

mod affected;
mod count;
mod evidence;
mod import;
mod key;
mod link;
mod members;
mod node;
mod offer;
mod orphan;
mod pod;
mod steps;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use fleet_accumulator::SourceSet;
use fleet_model::steps::HUB;
use fleet_plan::{Affected, Controller, Event, Plan};
use jiff::Timestamp;

pub use count::{PodCount, count};
pub use key::Key;

use crate::snapshot::HubSnapshot;

/// Carries Pods between members.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualNodeController {
    /// Whether it is decided which members are silent, and not only seen.
    pub traffic: bool,
}

impl VirtualNodeController {
    /// The kinds whose absence counts only after they were followed for a while.
    pub fn cautious() -> SourceSet {
        evidence::sources()
    }
}

impl Controller for VirtualNodeController {
    type Snapshot = HubSnapshot;
    type Key = Key;
    type Measurement = Infallible;

    fn name(&self) -> &'static str {
        "virtual_node"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([
            HubSnapshot::offload_offers(),
            HubSnapshot::virtual_nodes(),
            HubSnapshot::pod_exports(),
            HubSnapshot::pod_imports(),
            HubSnapshot::member_policies(),
            HubSnapshot::namespaces(),
        ])
    }

    fn reads(&self) -> SourceSet {
        let verdicts = SourceSet::from([HubSnapshot::member_traffics()]);
        self.required()
            .union(SourceSet::from([HubSnapshot::member_clusters(), HubSnapshot::hearing()]))
            .union(if self.traffic { verdicts } else { SourceSet::EMPTY })
    }

    fn affected_keys(&self, old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
        affected::affected(old, new, keys);
    }

    fn plan(&self, key: &Key, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        match key {
            Key::Offer(name) => offer::plan(name, snapshot, now, &mut plan),
            Key::Node { origin, executor } => {
                node::plan(origin, executor, snapshot, now, &mut plan);
            }
            Key::Pod { origin, uid } => pod::plan(origin, uid, snapshot, now, &mut plan),
        }
        plan
    }

    fn blocked(&self, snapshot: &HubSnapshot, reason: &str) -> Vec<Event> {
        snapshot.offload_offers.iter().map(|offer| HUB.blocked(offer, reason)).collect()
    }
}
