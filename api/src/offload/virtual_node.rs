//! `VirtualNode`: an executor as one of the members that it offers capacity to sees it, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Capacity, OffloadTerms, PeerLink, Topology};

/// What one executor offers to one origin.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "offload.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "VirtualNode",
    plural = "virtualnodes",
    category = "fleet-networking",
    namespaced,
    status = "VirtualNodeStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Makes a member available to another one as a node. The hub agent writes it, for an OffloadOffer that selects the latter.",
    validation = kube::core::Rule::new("self.metadata.name == self.spec.executor")
        .message("the name has to be that of the executor"),
    printcolumn(name = "Executor", type_ = "string", json_path = ".spec.executor"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".spec.phase"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node.name"),
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.pods"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct VirtualNodeSpec {
    /// Name of the executor.
    #[schemars(
        length(min = 1, max = 63),
        extend("x-kubernetes-validations" = [
            { "rule": "self == oldSelf", "message": "executor cannot be changed" }
        ])
    )]
    pub executor: String,
    /// How far it is.
    #[serde(default)]
    pub phase: VirtualNodePhase,
    /// How much it offers.
    pub capacity: Capacity,
    /// Where it is.
    #[serde(default)]
    pub topology: Topology,
    /// What it accepts.
    pub terms: OffloadTerms,
    /// Ranges of the executor's Pods, as the hub's administrators have registered them. Addresses outside of them are not
    /// believed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        inner(length(min = 1, max = 49)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub pod_cidrs: Vec<String>,
}

/// How far a virtual node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum VirtualNodePhase {
    /// The origin has not accepted it.
    #[default]
    Offered,
    /// Pods are accepted.
    Accepted,
    /// No further Pods are accepted; those that run go on.
    Draining,
    /// The offer does not exist any more.
    Withdrawn,
}

impl VirtualNodePhase {
    /// The phase as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offered => "Offered",
            Self::Accepted => "Accepted",
            Self::Draining => "Draining",
            Self::Withdrawn => "Withdrawn",
        }
    }
}

/// What origin and hub report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualNodeStatus {
    /// Whether the administrators of the origin accept the executor. Written by the origin.
    #[serde(default)]
    pub accepted: bool,
    /// Whether they have given the executor up: nothing waits for its confirmation any more. Written by the origin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    /// The Node that stands for the executor. Written by the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<RegisteredNode>,
    /// Pods that are bound to it. Written by the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub pods: Option<i64>,
    /// The link to the executor. Written by the hub agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<PeerLink>,
}

/// A Node in the cluster of an origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredNode {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its uid.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
}
