//! Whether the hub has a sign of life of a member.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the Lease of a member is renewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LinkState {
    /// It is.
    #[default]
    Connected,
    /// It has not been for 60 s.
    Silent,
}

impl LinkState {
    /// The state as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "Connected",
            Self::Silent => "Silent",
        }
    }
}

/// What the hub knows of the link to one member; written when it changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerLink {
    /// Name of the member.
    #[schemars(length(min = 1, max = 63))]
    pub cluster: String,
    /// Whether its Lease is renewed.
    pub state: LinkState,
    /// What the hub agent has decided about it, where it decides about traffic: `Silent` by verdict, and `Connected` otherwise, also
    /// while so many members are silent that it passes no verdict. Pods of a member are ready and count as served by this, where it is
    /// there; whether they have ended by themselves depends on the Lease alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<LinkState>,
    /// Since when both are so, by the clock of the hub.
    pub since: Time,
}

impl PeerLink {
    /// The verdict, or whether its Lease is renewed where there is none.
    pub fn standing(&self) -> LinkState {
        self.verdict.unwrap_or(self.state)
    }
}
