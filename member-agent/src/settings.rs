//! What the member agent was told at start, as its rooms see it.

use crate::Identity;

/// Settings of the rooms. Plans are functions of these and of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which member this is.
    pub identity: Identity,
}

impl Settings {
    /// The member `cluster` with everything else as the flags' defaults have it.
    pub fn new(cluster: impl Into<String>) -> Self {
        Self { identity: Identity::new(cluster) }
    }
}
