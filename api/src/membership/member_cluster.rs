//! `MemberCluster`: a cluster of the fleet as its administrators see it.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What administrators want of a member. The hub agent reads only name and deletion time.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "cluster.kubernetes-fleet.io",
    version = "v1beta1",
    kind = "MemberCluster",
    plural = "memberclusters",
    shortname = "cluster",
    category = "fleet",
    category = "fleet-cluster",
    status = "MemberClusterStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A member cluster of the fleet.",
    validation = crate::crds::rules::name_rule(),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct MemberClusterSpec {
    /// Fields of KubeFleet that the agents do not use.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// How the member is doing, as KubeFleet sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberClusterStatus {
    /// Fields of KubeFleet that the agents do not use.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}
