//! `InternalMemberCluster`: what the hub wants of a member, and what the member's agents report.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the hub wants of a member.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.kubernetes-fleet.io",
    version = "v1beta1",
    kind = "InternalMemberCluster",
    plural = "internalmemberclusters",
    shortname = "imc",
    category = "fleet",
    category = "fleet-cluster",
    namespaced,
    status = "InternalMemberClusterStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "States whether a member cluster is in the fleet, and takes its agents' reports.",
    printcolumn(name = "State", type_ = "string", json_path = ".spec.state"),
    printcolumn(
        name = "Joined",
        type_ = "string",
        json_path = ".status.agentStatus[?(@.type=='ServiceExportImportAgent')].conditions[?(@.type=='Joined')].status"
    ),
    printcolumn(
        name = "Heartbeat",
        type_ = "date",
        json_path = ".status.agentStatus[?(@.type=='ServiceExportImportAgent')].lastReceivedHeartbeat"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.agentStatus[?(@.type=='ServiceExportImportAgent')].conditions[?(@.type=='Joined')].reason",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct InternalMemberClusterSpec {
    /// Whether the member is to be in the fleet: `Join` or `Leave`.
    // KubeFleet's schema takes any text.
    #[schemars(with = "String")]
    pub state: ClusterState,
    /// Seconds between heartbeats.
    #[serde(default = "default_heartbeat_period")]
    #[schemars(range(min = 1, max = 600))]
    pub heartbeat_period_seconds: i32,
    /// Fields of KubeFleet that the agents do not use.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl Default for InternalMemberClusterSpec {
    fn default() -> Self {
        Self {
            state: ClusterState::default(),
            heartbeat_period_seconds: default_heartbeat_period(),
            other: BTreeMap::new(),
        }
    }
}

fn default_heartbeat_period() -> i32 {
    60
}

/// Whether a member is to be in the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ClusterState {
    /// Be a member.
    #[default]
    Join,
    /// Clean up and report when done.
    Leave,
    /// A state that this version does not know; ignored.
    #[serde(untagged)]
    Other(String),
}

/// What the member's agents report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InternalMemberClusterStatus {
    /// One entry per agent. A plain list, so each agent sends it whole and must keep the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_status: Vec<AgentStatus>,
    /// Fields of KubeFleet that the agents do not use and must not lose.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Report of one agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Which agent reports.
    // KubeFleet's schema takes any text.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub type_: AgentType,
    /// Condition `Joined`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// When the agent last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_received_heartbeat: Option<Time>,
    /// Fields of KubeFleet that the agents do not use and must not lose.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Kind of agent on a member.
///
/// One networking agent stands for both types of the original's agents, so it reports twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AgentType {
    /// KubeFleet's own agent.
    #[default]
    MemberAgent,
    /// Imports Services.
    MultiClusterServiceAgent,
    /// Exports Services.
    ServiceExportImportAgent,
    /// An agent this version does not know.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_period_has_a_default_and_other_wishes_are_kept() {
        let read: InternalMemberClusterSpec =
            serde_json::from_value(json!({"state": "Pause", "extra": 1})).unwrap();
        assert_eq!(read.heartbeat_period_seconds, 60);
        assert_eq!(read.state, ClusterState::Other("Pause".to_owned()));
        assert_eq!(read.other["extra"], 1);
    }

    #[test]
    fn what_belongs_to_others_survives_our_write() {
        let text = json!({
            "agentStatus": [
                {"type": "MemberAgent", "lastReceivedHeartbeat": "2026-05-06T07:08:09Z", "new": []},
                {"type": "FutureAgent"},
            ],
            "conditions": [{"type": "PropertyCollectionSucceeded"}],
            "resourceUsage": {"capacity": {"cpu": "2"}},
        });
        let read: InternalMemberClusterStatus = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(read.agent_status[0].type_, AgentType::MemberAgent);
        assert_eq!(serde_json::to_value(read).unwrap(), text);
    }
}
