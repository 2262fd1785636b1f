//! The status of a Pod in the cluster of its executor.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phase of a Pod.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum PodPhase {
    /// Not all of its containers were started.
    #[default]
    Pending,
    /// They were.
    Running,
    /// They ended well.
    Succeeded,
    /// One of them did not, or the Pod was lost.
    Failed,
}

impl PodPhase {
    /// The phase as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    /// The phase of that name, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];
        all.into_iter().find(|phase| phase.as_str() == text)
    }

    /// Whether it is final.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// How a Pod was lost whose object the executor's cluster does not have any more, or cannot place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RemoteLoss {
    /// It was evicted.
    Evicted,
    /// It made place for a Pod of higher priority.
    Preempted,
    /// Its node is gone.
    Lost,
    /// It was deleted there.
    Deleted,
    /// No node could take it for too long.
    Unschedulable,
}

impl RemoteLoss {
    /// Reason of the status of the Pod in its origin.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Evicted => "RemoteEvicted",
            Self::Preempted => "RemotePreempted",
            Self::Lost => "RemoteLost",
            Self::Deleted => "RemoteDeleted",
            Self::Unschedulable => "RemoteUnschedulable",
        }
    }
}

/// The Pod in the cluster of the executor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemotePod {
    /// Its namespace.
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its uid; absent before it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub uid: Option<String>,
    /// Its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub node: Option<String>,
}

/// Types of the conditions that cross.
pub const REMOTE_CONDITIONS: [&str; 5] =
    ["PodScheduled", "Initialized", "ContainersReady", "Ready", "DisruptionTarget"];

/// A condition of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteCondition {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,
    /// Whether it is met.
    pub status: bool,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// The same, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// State of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerState {
    /// Whether it runs.
    #[serde(default)]
    pub running: bool,
    /// How it ended; absent while it waits or runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it waits or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// The same, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub message: Option<String>,
    /// When it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
}

/// A container of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteContainer {
    /// Its name.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Its state.
    pub state: ContainerState,
    /// Whether it is ready.
    #[serde(default)]
    pub ready: bool,
    /// Whether its start-up probe has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// How often it was restarted.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub restart_count: i32,
    /// Its image.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 512))]
    pub image: String,
    /// Its id in the cluster of the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub container_id: Option<String>,
}

/// The status of a Pod in the cluster of its executor, as far as it crosses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteStatus {
    /// Hash of the spec that the executor acts on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub observed_hash: String,
    /// The Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<RemotePod>,
    /// Its phase.
    #[serde(default)]
    pub phase: PodPhase,
    /// How it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<RemoteLoss>,
    /// Its addresses, at most one of each family.
    #[serde(default, rename = "podIPs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 2),
        inner(length(min = 2, max = 45)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub pod_ips: Vec<String>,
    /// When its node took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<RemoteCondition>,
    /// Its containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub containers: Vec<RemoteContainer>,
    /// Its init containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub init_containers: Vec<RemoteContainer>,
    /// Why it is in this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// The same, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}
