//! On which hop the way to an executor is interrupted.

use fleet_api::conditions::offload_reasons as reasons;

/// The link from an origin to its executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// It works.
    #[default]
    Alive,
    /// The origin has not reached the hub for 60 s.
    HubUnreachable,
    /// The hub has had no sign of the executor for 60 s.
    ExecutorUnreachable,
}

impl Link {
    /// Reason of what is not ready because of it.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Alive => None,
            Self::HubUnreachable => Some(reasons::HUB_UNREACHABLE),
            Self::ExecutorUnreachable => Some(reasons::EXECUTOR_UNREACHABLE),
        }
    }

    /// The same for users, with the name of the executor.
    pub fn message(self, executor: &str) -> String {
        match self {
            Self::Alive => format!("cluster {executor} is reached through the hub"),
            Self::HubUnreachable => {
                format!("this cluster does not reach the hub, and so not cluster {executor}")
            }
            Self::ExecutorUnreachable => {
                format!("the hub has no sign of the member agent of cluster {executor}")
            }
        }
    }
}
