//! What the networking agents of a member have reported in its InternalMemberCluster.

use fleet_accumulator::Object;
use fleet_api::conditions::{self, reasons};
use fleet_api::membership::AgentType;
use fleet_model::objects::{InternalMemberCluster, NETWORKING_AGENTS};
use fleet_plan::conditions::find;

/// A state that an agent can report, as its condition `Joined` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportedState {
    /// Status of the condition.
    pub(crate) status: &'static str,
    /// Reason of the condition.
    pub(crate) reason: &'static str,
    /// Whether a report comes with a heartbeat.
    pub(crate) heartbeat: bool,
}

/// The member takes part in the fleet.
pub(crate) const JOINED: ReportedState =
    ReportedState { status: conditions::TRUE, reason: reasons::AGENT_JOINED, heartbeat: true };
/// The member has left: nothing of it remains.
pub(crate) const LEFT: ReportedState =
    ReportedState { status: conditions::FALSE, reason: reasons::AGENT_LEFT, heartbeat: false };

/// Whether both networking agents report `state`, for whatever generation of the object.
pub(crate) fn reports(cluster: &Object<InternalMemberCluster>, state: ReportedState) -> bool {
    generation(cluster, state).is_some()
}

/// Whether both networking agents report `state` for the object's current generation.
pub(crate) fn is_current(cluster: &Object<InternalMemberCluster>, state: ReportedState) -> bool {
    generation(cluster, state) == Some(cluster.meta.generation)
}

/// The oldest generation for which both agents report `state`.
pub(super) fn generation(
    cluster: &Object<InternalMemberCluster>,
    state: ReportedState,
) -> Option<i64> {
    let observed = |agent: &AgentType| {
        let joined = find(&cluster.report(agent)?.status.conditions, conditions::JOINED)?;
        let same = joined.status == state.status && joined.reason == state.reason;
        same.then(|| joined.observed_generation.unwrap_or_default())
    };
    NETWORKING_AGENTS.iter().map(observed).collect::<Option<Vec<_>>>()?.into_iter().min()
}
