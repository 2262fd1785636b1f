//! What is to be done about one uid, as data.

use std::time::Duration;

use fleet_api::offload::PodExportSpec;

use crate::pod::Rejection;
use crate::status::DesiredStatus;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The export is created. A second one for the same Pod has the same name, so there is never one.
    Export(Box<PodExportSpec>),
    /// The export is replaced.
    Update(Box<PodExportSpec>),
    /// The export gets this time for its containers to end, and is deleted if it is not being deleted yet.
    Stop {
        /// Seconds.
        grace_seconds: i64,
    },
    /// The status of the Pod is written, unless it is like this already.
    Status(Box<DesiredStatus>),
    /// The Pod is deleted at once, if it still has this uid.
    Remove {
        /// The uid.
        uid: String,
    },
    /// Users are informed.
    Notify(Notice),
}

/// What users are informed of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Reason of the Event.
    pub reason: &'static str,
    /// Whether something is wrong.
    pub warning: bool,
    /// What it is.
    pub message: String,
}

/// What is to be done about one uid, and when to decide again even if nothing changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// What is to be done, in this order.
    pub actions: Vec<Action>,
    /// Why the Pod does not cross, if it does not.
    pub refused: Option<Rejection>,
    /// Time until the next decision.
    pub again_after: Option<Duration>,
}

impl Decision {
    pub(super) fn of(actions: impl IntoIterator<Item = Action>) -> Self {
        Self { actions: actions.into_iter().collect(), ..Self::default() }
    }

    pub(super) fn wait(again_after: Duration) -> Self {
        Self { again_after: Some(again_after), ..Self::default() }
    }

    pub(super) fn again(mut self, after: Duration) -> Self {
        self.again_after = Some(after);
        self
    }
}
