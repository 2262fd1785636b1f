//! The controller that stops Pods of other members while the hub is out of reach.
//!
//! Their origins count on it that they end, if that was agreed on. The executor's other controller plans nothing before it has listed the
//! hub in its term, and a process that begins to lead meanwhile cannot: so what was agreed on is on each Pod, and this controller needs
//! nothing but its own cluster. Where both plan, both stop the same Pods.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{ClusterId, SourceSet, diff};
use fleet_api::ObjectName;
use fleet_plan::{Affected, Controller};
use fleet_virtual_node::executor::{cut_off, stop_after};
use jiff::Timestamp;

use super::super::steps;
use super::pod::is_in_place;
use crate::links::Links;
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;

/// When to look again at the latest, and at the earliest: the hub's silence is no event.
const LATEST: Duration = Duration::from_hours(1);
const EARLIEST: Duration = Duration::from_secs(1);

/// Stops Pods of other members while the hub is out of reach.
#[derive(Clone, Debug)]
pub struct CutOffController {
    pub(crate) links: Arc<Links>,
}

/// A Pod of another member in this cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemotePod(ObjectName);

impl fmt::Display for RemotePod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {}", self.0)
    }
}

impl Controller for CutOffController {
    type Snapshot = MemberSnapshot;
    type Key = RemotePod;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "virtual_node_cut_off"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([MemberSnapshot::namespaces(), MemberSnapshot::remote_pods()])
    }

    fn reads(&self) -> SourceSet {
        self.required().with(MemberSnapshot::pod_imports())
    }

    /// A Pod is there that is to end.
    fn deletes_for_absence(&self) -> bool {
        false
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<RemotePod>,
    ) {
        for change in diff(&old.remote_pods, &new.remote_pods) {
            if let Some(pod) = change.new()
                && stop_after(&pod.object.document).is_some()
            {
                keys.add(RemotePod(pod.name.clone()));
            }
        }
    }

    fn plan(&self, RemotePod(name): &RemotePod, snapshot: &MemberSnapshot, _: Timestamp) -> Plan {
        let mut plan = Plan::default();
        let Some(pod) = snapshot.remote_pods.get(name) else { return plan };
        let member = pod.object.origin().map(|(member, _)| member);
        let after = stop_after(&pod.object.document);
        let Some((member, after)) = member.zip(after) else { return plan };
        // Where the hub is read, the executor's other controller plans.
        let silent = self.links.hub_silence_within(after);
        let is_cut = !snapshot.pod_imports.state().is_live();
        if is_cut && is_in_place(pod, member, snapshot) {
            let ends = cut_off(&pod.object.document, silent);
            let step = ends.and_then(|write| steps::step(ClusterId::Local, write, Some(pod)));
            plan.steps.extend(step.map(fleet_plan::Step::urgent));
        }
        plan.wake_within(after.saturating_sub(silent).clamp(EARLIEST, LATEST));
        plan
    }
}
