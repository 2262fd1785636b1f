//! Drains of a member: what is asked for, and how far it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stands for all Services that a member exports.
pub const ALL_SERVICES: &str = "*";

/// A drain that is asked for, or the end of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainRequest {
    /// The Service as `namespace/name`, or `*` for all that have no entry of their own.
    #[schemars(
        length(min = 1, max = 127),
        regex(pattern = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")
    )]
    pub service: String,
    /// Percentage of the endpoints that are to be last resort. 0 ends the drain.
    #[schemars(range(min = 0, max = 100))]
    pub percent: i64,
    /// Seconds that a whole drain takes. It goes in steps if that is a minute or more.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86_400))]
    pub over_seconds: i64,
    /// Whether the endpoints are out of use with the last step, rather than last resort.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
    /// Whether Services are drained that no other member serves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// How far a drain is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrainStatus {
    /// The Service as `namespace/name`, or `*` for all that have no entry of their own.
    #[schemars(length(min = 1, max = 127))]
    pub service: String,
    /// Percentage of the endpoints that are last resort now.
    #[schemars(range(min = 0, max = 100))]
    pub percent: i64,
    /// Whether they are out of use instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// How far it is, in one word.
    pub reason: DrainReason,
}

/// How far a drain is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DrainReason {
    /// It goes on in steps.
    #[default]
    Draining,
    /// What was asked for is reached.
    Drained,
    /// It is being taken back in steps.
    Returning,
    /// It does not go on, since too many Services would be left without ready endpoints.
    Refused,
}

impl DrainReason {
    /// The reason as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draining => "Draining",
            Self::Drained => "Drained",
            Self::Returning => "Returning",
            Self::Refused => "Refused",
        }
    }
}
