//! The strip of members.

use serde::Serialize;

use super::reach::ReachCounts;
use crate::status::MemberStatus;

/// One member, as far as a picture of the fleet shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// Its name.
    pub name: String,
    /// Its state, as in [`MemberStatus`].
    pub state: &'static str,
    /// Seconds since the last heartbeat of its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_seconds: Option<i64>,
    /// Whether its agent reaches the hub, by its heartbeats; none if it sends none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaches_hub: Option<bool>,
    /// Release of its agent, as its chart labels it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// State of its credential for the hub, as in [`CredentialStatus`](crate::credential::CredentialStatus).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<&'static str>,
    /// When its token for the hub expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_expires: Option<String>,
    /// EndpointSlices that have yet to be written for it or by it.
    pub lag: usize,
    /// Why its own cluster could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
    /// How far it is drained of all that it exports, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drained: Option<Drained>,
    /// What it reaches of what it imports, if its agent dials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<ReachCounts>,
}

/// How far the drain of a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Drained {
    /// `Draining`, `Drained`, `Returning` or `Refused`.
    pub state: &'static str,
    /// Endpoints that are last resort, in percent.
    pub percent: i64,
}

impl From<MemberStatus> for MemberView {
    fn from(status: MemberStatus) -> Self {
        let standard = status.standard.map(|standard| standard.lag.slices).unwrap_or_default();
        Self {
            reaches_hub: reaches_hub(status.state),
            name: status.name,
            state: status.state,
            heartbeat_seconds: status.heartbeat_seconds,
            agent_version: None,
            credential: None,
            token_expires: None,
            lag: status.lag.slices + standard,
            unseen: status.unseen,
            drained: None,
            reach: None,
        }
    }
}

fn reaches_hub(state: &str) -> Option<bool> {
    match state {
        "Joined" => Some(true),
        "Silent" => Some(false),
        _ => None,
    }
}
