//! What the hub agent was told, as its controllers see it.

use std::time::Duration;

/// How long a member that was deleted may take to leave unless a flag says otherwise.
pub(crate) const FORCE_DELETE_WAIT: Duration = Duration::from_mins(15);

/// Settings of the controllers. Plans are functions of these and of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// One importer per Service in the whole fleet, as the original has it, instead of any number.
    pub exclusive_imports: bool,
    /// How long a member that was deleted may take to leave.
    pub force_delete_wait: Duration,
    /// How long a member may be silent; `None` for some heartbeats.
    pub heartbeat_ttl: Option<Duration>,
}

impl Default for Settings {
    /// As the flags' defaults have it.
    fn default() -> Self {
        Self { exclusive_imports: false, force_delete_wait: FORCE_DELETE_WAIT, heartbeat_ttl: None }
    }
}
