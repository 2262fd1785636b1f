//! The controller of members that join, leave or stop sending heartbeats.
//!
//! The EndpointSliceImports of a member have the member's finalizer, which its agent removes. If the agent does
//! not run any more, they would block the deletion of the member's namespace on the hub for ever. The other
//! objects in that namespace have finalizers of the hub agent, which the controller of the Services removes.

mod acceptance;
mod confirmation;
mod force_delete;
mod keys;
mod policy;
mod silence;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use fleet_accumulator::SourceSet;
use fleet_plan::{Affected, Controller, Plan};
use jiff::Timestamp;

pub use keys::Member;

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Names the hub to members and accepts them, releases the slices of those that do not leave in time, and reports those without heartbeats.
#[derive(Clone, Debug, Default)]
pub struct MemberController {
    /// Settings that plans depend on.
    pub settings: Settings,
}

impl Controller for MemberController {
    type Snapshot = HubSnapshot;
    type Key = Member;
    type Measurement = Infallible;

    fn name(&self) -> &'static str {
        "member"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([
            HubSnapshot::member_clusters(),
            HubSnapshot::internal_members(),
            HubSnapshot::slice_imports(),
            HubSnapshot::cluster_reports(),
            HubSnapshot::namespaces(),
        ])
    }

    fn reads(&self) -> SourceSet {
        let reads = self.required().with(HubSnapshot::member_policies());
        if self.settings.traffic { reads.with(HubSnapshot::fleet_traffics()) } else { reads }
    }

    fn affected_keys(&self, old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Member>) {
        keys::affected(old, new, keys);
    }

    fn plan(&self, member: &Member, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        acceptance::plan(&self.settings, member, snapshot, now, &mut plan);
        plan.events.extend(policy::report(&self.settings, member, snapshot));
        confirmation::plan(member, snapshot, &mut plan);
        let deadline = force_delete::plan(&self.settings, member, snapshot, now, &mut plan);
        let timeout = silence::plan(&self.settings, member, snapshot, now, &mut plan);
        plan.wake_after = deadline.into_iter().chain(timeout).min();
        plan
    }
}
