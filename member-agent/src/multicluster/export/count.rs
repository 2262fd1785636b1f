//! How many ServiceExports there are of each kind of outcome.

use fleet_api::conditions::standard::FAILED;
use fleet_api::conditions::{CONFLICT, FALSE, READY, TRUE};
use fleet_model::objects::multicluster::standard;
use fleet_plan::conditions::{find, is};

use crate::snapshot::MemberSnapshot;

/// What became of a ServiceExport, as its user reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportState {
    /// It is exported, and all clusters agree.
    Ready,
    /// It is exported, and clusters differ.
    Conflicting,
    /// It waits.
    Pending,
    /// It is not exported, for a reason that does not pass by itself.
    Refused,
}

impl ExportState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Ready, Self::Conflicting, Self::Pending, Self::Refused];

    /// Label value in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Conflicting => "conflicting",
            Self::Pending => "pending",
            Self::Refused => "refused",
        }
    }

    fn of(export: &standard::ServiceExport) -> Self {
        let ready = find(&export.conditions, READY);
        match ready {
            Some(ready) if ready.status == TRUE && is(&export.conditions, CONFLICT, TRUE) => {
                Self::Conflicting
            }
            Some(ready) if ready.status == TRUE => Self::Ready,
            Some(ready) if ready.status == FALSE && ready.reason == FAILED => Self::Refused,
            _ => Self::Pending,
        }
    }
}

/// How many ServiceExports are in a state.
pub fn count(snapshot: &MemberSnapshot, state: ExportState) -> usize {
    let exports = snapshot.standard_exports.iter();
    exports.filter(|export| ExportState::of(export) == state).count()
}
