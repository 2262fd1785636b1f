//! All controllers of the agent, on a model server.

mod purity;
pub(crate) mod verdicts;

use fleet_accumulator::{Object, View};
use fleet_model::objects::{InternalMemberCluster, Report};
use jiff::Timestamp;

use crate::snapshot::HubSnapshot;

/// The snapshot of an agent that observed the heartbeat of each report at this time.
pub(crate) fn observed(
    snapshot: HubSnapshot,
    at: impl Fn(&Report) -> Option<Timestamp>,
) -> HubSnapshot {
    let observe = |member: &Object<InternalMemberCluster>| {
        let mut content = InternalMemberCluster::clone(&member.object);
        for report in &mut content.reports {
            report.observed = at(report);
        }
        Object::new(member.name.clone(), member.uid.clone(), member.version.clone(), content)
    };
    let internal_members = View::of(snapshot.internal_members.iter().map(observe));
    HubSnapshot { internal_members, ..snapshot }
}
