//! The controller that reports to users what of their traffic policies is in force in this cluster.

mod status;
#[cfg(test)]
mod tests;

use std::time::Duration;

use fleet_accumulator::SourceSet;
use fleet_api::ObjectName;
use fleet_model::changes::each_touched;
use fleet_plan::{Affected, Controller};
use jiff::Timestamp;

use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;
use crate::traffic::Subject;
use crate::traffic_memory::TrafficMemory;

/// Time between two reports on one policy.
const PERIOD: Duration = Duration::from_secs(30);
/// How long the first one waits for what it is about.
const FIRST: Duration = Duration::from_secs(2);

/// Reports on `ServiceTraffic` objects.
#[derive(Clone, Debug)]
pub struct TrafficStatusController {
    /// What plans have decided about traffic.
    pub memory: TrafficMemory,
}

impl Controller for TrafficStatusController {
    type Snapshot = MemberSnapshot;
    type Key = ObjectName;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "traffic_status"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([MemberSnapshot::service_traffics()])
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<ObjectName>,
    ) {
        each_touched(&old.service_traffics, &new.service_traffics, |policy| {
            keys.add(policy.name.clone());
        });
    }

    fn plan(&self, service: &ObjectName, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        let Some(policy) = snapshot.service_traffics.get(service) else { return plan };
        // What is in force changes no object here.
        plan.wake_within(PERIOD);
        let standard = self.memory.report(&Subject::standard(service));
        let report = standard.or_else(|| self.memory.report(&Subject::fleet(service)));
        if let Some(step) = status::write(policy, report, now) {
            let delay = if policy.status.conditions.is_empty() { FIRST } else { PERIOD };
            plan.debounce(delay, "what is in force", step);
        }
        plan
    }
}
