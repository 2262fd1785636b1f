//! `ClusterProperty`: what a cluster states about itself.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the property that holds the cluster's id in its clusterset.
pub const CLUSTER_ID: &str = "cluster.clusterset.k8s.io";
/// Name of the property that holds the id of the clusterset; it exists exactly while the cluster is a member.
pub const CLUSTERSET_ID: &str = "clusterset.k8s.io";

/// A property of the cluster.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "about.k8s.io",
    version = "v1beta1",
    kind = "ClusterProperty",
    plural = "clusterproperties",
    category = "multicluster",
    derive = "PartialEq",
    derive = "Default",
    doc = "A property of the cluster that it is in."
)]
pub struct ClusterPropertySpec {
    /// Value of the property.
    pub value: String,
}
