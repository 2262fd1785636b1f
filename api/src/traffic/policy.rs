//! The parts of a policy, and what holds without one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which clusters an importer prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Preference {
    /// None: all exporters are one pool.
    #[default]
    None,
    /// The importing cluster itself, then all others.
    LocalFirst,
    /// Those of the first selector, then those of the second, and so on.
    Selectors,
}

impl Preference {
    /// The preference as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::LocalFirst => "LocalFirst",
            Self::Selectors => "Selectors",
        }
    }
}

/// What becomes of clusters that no selector selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Fallback {
    /// They are used after all others.
    #[default]
    All,
    /// They are not used.
    None,
}

/// What the shares of clusters follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Weighting {
    /// Their numbers of endpoints.
    #[default]
    Endpoints,
    /// Their weights.
    Clusters,
}

/// The weight of one exporting cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterWeight {
    /// Name of the cluster.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub cluster: String,
    /// Its weight among the clusters that are used together; 0 puts it out of use, whatever the weighting.
    #[schemars(range(min = 0, max = 1000))]
    pub weight: i64,
}

/// Least part of the endpoints that stays in use, in percent, where no policy has one.
pub const DEFAULT_MIN_SUBSET_PERCENT: i64 = 50;

/// When endpoints of the next clusters join those of the importing cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpillPolicy {
    /// Percentage of the full size that has to be ready. Below it, other clusters help out.
    #[schemars(range(min = 1, max = 100))]
    pub below_percent: i64,
    /// Number of endpoints that the importing cluster has at full size, where that is more than it has at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub size: Option<i64>,
}

/// What becomes of the endpoints of a member that is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SilenceAction {
    /// They stay in use.
    Keep,
    /// They are used when no other endpoint is ready.
    #[default]
    LastResort,
    /// They are last resort, and later out of use.
    Remove,
}

impl SilenceAction {
    /// The action as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "Keep",
            Self::LastResort => "LastResort",
            Self::Remove => "Remove",
        }
    }
}

/// The policy for members that are silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnSilence {
    /// What happens.
    #[serde(default)]
    pub action: SilenceAction,
    /// Seconds for which an importer waits after the verdict.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86_400))]
    pub hold_seconds: i64,
    /// After how many seconds more endpoints leave, with the action `Remove`.
    #[serde(default = "remove_after")]
    #[schemars(range(min = 300, max = 604_800))]
    pub remove_after_seconds: i64,
}

fn remove_after() -> i64 {
    900
}

impl Default for OnSilence {
    fn default() -> Self {
        Self {
            action: SilenceAction::default(),
            hold_seconds: 0,
            remove_after_seconds: remove_after(),
        }
    }
}

/// Who writes the EndpointSlices of the importing cluster's own endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LocalEndpoints {
    /// The member agent.
    #[default]
    Agent,
    /// Kubernetes itself, by a selector on the derived Service of the standard API.
    Kubernetes,
}

impl LocalEndpoints {
    /// The mode as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "Agent",
            Self::Kubernetes => "Kubernetes",
        }
    }
}
