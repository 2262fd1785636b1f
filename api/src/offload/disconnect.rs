//! What an executor does with Pods of an origin that it has no news of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether Pods keep running while origin and executor are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DisconnectMode {
    /// They do. A Pod can exist twice for the time of a partition.
    #[default]
    Keep,
    /// The executor stops them after a time, so that the origin knows when they have ended.
    StopAfter,
}

/// Whether Pods keep running while origin and executor are apart, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.seconds) == (self.mode == 'StopAfter')",
    "message": "seconds has to be set with the mode StopAfter, and only with it"
}]))]
pub struct Disconnect {
    /// Whether they do.
    #[serde(default)]
    pub mode: DisconnectMode,
    /// After how many seconds without a sign of the origin, or of the hub, the executor stops them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 86400))]
    pub seconds: Option<i64>,
}

impl Disconnect {
    /// After how many seconds the executor stops the Pods, if it does.
    pub fn stop_after(self) -> Option<u64> {
        let seconds = self.seconds.and_then(|seconds| u64::try_from(seconds).ok());
        seconds.filter(|_| self.mode == DisconnectMode::StopAfter)
    }
}
