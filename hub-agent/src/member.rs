//! The controller of leaving, vanished and silent members.
//!
//! Slices that a member imported carry its finalizer, and only its agent takes that off. If the agent
//! is gone for good, they would keep the member's namespace on the hub forever. Everything else in
//! there is held by the hub's own finalizers, which the controller of the Services releases.

mod force_delete;
mod heartbeat;
mod keys;
mod metrics;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_plan::{Affected, Controller, Plan};
use jiff::Timestamp;

pub use heartbeat::{last_heard, patience};
pub use keys::Member;
pub use metrics::HeartbeatMetrics;

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Lets go of what members cannot release themselves any more, and tells who has fallen silent.
#[derive(Clone, Debug, Default)]
pub struct MemberController {
    /// What its plans depend on beside the snapshot.
    pub settings: Settings,
}

impl Controller for MemberController {
    type Snapshot = HubSnapshot;
    type Key = Member;

    fn name(&self) -> &'static str {
        "member"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([
            HubSnapshot::member_clusters(),
            HubSnapshot::internal_members(),
            HubSnapshot::slice_imports(),
        ])
    }

    fn affected_keys(&self, old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Member>) {
        keys::affected(old, new, keys);
    }

    fn plan(&self, member: &Member, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        let due = force_delete::plan(&self.settings, member, snapshot, now, &mut plan);
        let silent = heartbeat::plan(&self.settings, member, snapshot, now, &mut plan);
        plan.wake_after = due.into_iter().chain(silent).min();
        plan
    }
}
