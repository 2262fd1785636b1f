//! How far a Pod is, for metrics and explanations.

use fleet_api::offload::PodPhase;

use super::observed::ExportState;
use crate::pod::LocalPod;

/// How far a Pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It is bound to the virtual node.
    Desired,
    /// It is on the hub.
    Exported,
    /// The executor has it.
    Accepted,
    /// It runs.
    Running,
    /// It does not cross.
    Rejected,
    /// It has ended.
    Terminal,
    /// It is to end.
    Stopping,
    /// The executor has nothing of it any more.
    Released,
}

impl State {
    /// The state as a label of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Desired => "Desired",
            Self::Exported => "Exported",
            Self::Accepted => "Accepted",
            Self::Running => "Running",
            Self::Rejected => "Rejected",
            Self::Terminal => "Terminal",
            Self::Stopping => "Stopping",
            Self::Released => "Released",
        }
    }
}

/// How far a Pod is, by what there is of it.
pub fn state(pod: Option<&LocalPod>, export: Option<&ExportState>) -> State {
    let stopping = pod.is_none_or(|pod| pod.deletion.is_some());
    match export {
        None if stopping => State::Released,
        Some(export) if export.released => State::Released,
        Some(export) if stopping || export.deleting => State::Stopping,
        _ if pod.is_some_and(|pod| pod.phase.is_terminal()) => State::Terminal,
        None => State::Desired,
        Some(export) => of_export(export),
    }
}

fn of_export(export: &ExportState) -> State {
    let phase = export.remote.as_ref().map(|remote| remote.phase);
    match phase {
        _ if export.rejected.is_some() => State::Rejected,
        Some(PodPhase::Running) => State::Running,
        Some(phase) if phase.is_terminal() => State::Terminal,
        _ if export.accepted => State::Accepted,
        _ => State::Exported,
    }
}
