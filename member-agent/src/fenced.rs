//! Controllers of the fleet, which write only while this cluster is the one that the hub knows by the member's name.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use fleet_accumulator::SourceSet;
use fleet_api::kinds;
use fleet_plan::{Action, Affected, Controller, Event, Step};
use jiff::Timestamp;

use crate::Identity;
use crate::fence::{self, Fence};
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;
use crate::tenure::{Permit, Records, Tenure};

/// A controller that plans nothing while another cluster has the member's name.
#[derive(Debug)]
pub(crate) struct Fenced<C> {
    controller: C,
    identity: Identity,
    tenure: Arc<Tenure>,
    measured: bool,
    without_hub: bool,
}

impl<C> Fenced<C> {
    /// Fences a controller. Those of one agent share what they remember.
    pub(crate) fn new(controller: C, identity: &Identity, tenure: &Arc<Tenure>) -> Self {
        let (identity, tenure) = (identity.clone(), Arc::clone(tenure));
        Self { controller, identity, tenure, measured: false, without_hub: false }
    }

    /// Plans also while it is not known which cluster the hub has recorded: what the controller writes to the hub depends on
    /// a [`HubSide`](crate::hub_side::HubSide), which does not exist then.
    #[must_use]
    pub(crate) fn without_hub(self) -> Self {
        Self { without_hub: true, ..self }
    }

    /// Measures the fence with each plan.
    #[must_use]
    pub(crate) fn measured(self) -> Self {
        Self { measured: true, ..self }
    }
}

impl<C> Controller for Fenced<C>
where
    C: Controller<Snapshot = MemberSnapshot, Measurement = Measurement>,
{
    type Snapshot = MemberSnapshot;
    type Key = C::Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        self.controller.name()
    }

    fn required(&self) -> SourceSet {
        let required = self.controller.required();
        if self.without_hub {
            required.with(MemberSnapshot::namespaces())
        } else {
            required.union(fence::sources())
        }
    }

    fn reads(&self) -> SourceSet {
        self.controller.reads().union(fence::sources())
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<C::Key>,
    ) {
        self.controller.affected_keys(old, new, keys);
        if Fence::of(&self.identity, old) != Fence::of(&self.identity, new) {
            self.controller.affected_keys(&MemberSnapshot::default(), new, keys);
        }
    }

    fn plan(&self, key: &C::Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        let fence = Fence::of(&self.identity, snapshot);
        let mut plan = match self.tenure.permit(&fence, Records::of(snapshot), now) {
            Permit::Open => self.controller.plan(key, snapshot, now),
            Permit::Closed if self.without_hub && fence == Fence::Unknown => {
                self.controller.plan(key, snapshot, now)
            }
            Permit::Wait(rest) => {
                let whole = self.controller.plan(key, snapshot, now);
                let steps = whole.steps.into_iter().filter(is_record).collect();
                Plan { steps, wake_after: Some(rest), ..Plan::default() }
            }
            Permit::Closed => Plan::default(),
        };
        let delay = self.tenure.delay();
        if !delay.is_zero()
            && let Some(record) = plan.steps.pop_if(|step| is_record(step))
        {
            plan.debounce(delay, "record", record);
        }
        if self.measured {
            plan.measure(Measurement::Fence(fence));
        }
        plan
    }

    fn deletes_for_absence(&self) -> bool {
        self.controller.deletes_for_absence()
    }

    fn obstacle(&self, snapshot: &MemberSnapshot) -> Option<String> {
        match Fence::of(&self.identity, snapshot) {
            Fence::Taken(taken) => Some(taken.to_string()),
            _ => self.controller.obstacle(snapshot),
        }
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        self.controller.blocked(snapshot, reason)
    }

    fn rejected(&self, key: &C::Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        self.controller.rejected(key, snapshot, reason)
    }
}

/// Whether a step records the cluster. It is the last one of its plan, and waits for no other.
fn is_record(step: &Step) -> bool {
    step.kind == kinds::CLUSTER_REPORT && matches!(step.action, Action::Create(_))
}
