//! What is decided about a member that does not renew its Lease.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an administrator has decided about the silence of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SilenceInstruction {
    /// The hub agent judges.
    #[default]
    Auto,
    /// Its present silence is confirmed, whatever the guards. It counts until the member renews its Lease again.
    Confirmed,
    /// It is never silent.
    Never,
}

/// What the hub agent has found out about a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SilenceState {
    /// It renews its Lease, or is not silent for long enough.
    Heard,
    /// It is silent.
    Silent,
    /// It would be silent if not so many others were at once: nothing is done.
    Held,
    /// It has no Lease, and is never silent.
    #[default]
    Unmanaged,
}

impl SilenceState {
    /// The state as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Heard => "Heard",
            Self::Silent => "Silent",
            Self::Held => "Held",
            Self::Unmanaged => "Unmanaged",
        }
    }
}

/// The verdict about a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SilenceStatus {
    /// The verdict.
    #[serde(default)]
    pub state: SilenceState,
    /// Percentage of its endpoints that are last resort for it: 100 while it is silent, less as it returns.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub percent: i64,
    /// The serial with which the member was found silent. Importers apply older verdicts first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub serial: Option<i64>,
    /// How often it was found silent within the last hour, as of the last change: the more often, the longer it has to renew its
    /// Lease before its endpoints return.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 8))]
    pub ejections: i64,
    /// Whether an administrator has confirmed it: importers apply it whatever their own bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// Whether it counts only because all silent members have one failure domain: its endpoints are never removed for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_domain: bool,
    /// Whether the member has renewed its Lease since the confirmation in the spec, which does not count any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lapsed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
