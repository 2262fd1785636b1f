//! `ClusterReport`: which cluster a member is, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which cluster the member is.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "multicluster.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ClusterReport",
    plural = "clusterreports",
    category = "fleet-networking",
    namespaced,
    status = "ClusterReportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Records which cluster a member is, so that a second cluster of that name writes nothing.",
    printcolumn(name = "Cluster-Uid", type_ = "string", json_path = ".spec.clusterUid"),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Accepted')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Accepted')].reason"
    ),
    printcolumn(
        name = "Clusterset",
        type_ = "string",
        json_path = ".status.clustersetId",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReportSpec {
    /// Uid of the namespace `kube-system` of the member's cluster. It cannot be changed: to give the name to another
    /// cluster, run `fleetctl join NAME --replace`.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-validations" = [
            { "rule": "self == oldSelf", "message": "clusterUid cannot be changed" }
        ])
    )]
    pub cluster_uid: String,
    /// The incarnation of the hub on which all that the member exports by the standard API was complete. Importers forget what
    /// a rebuilt hub lacks of a member only after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_to: Option<String>,
}

/// What the hub agent answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReportStatus {
    /// Which hub the member talks to, and since which restart of its history: the uid of the hub's namespace
    /// `kube-system`, a slash, and a number that is 0. A hub that was rebuilt has another uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    pub incarnation: Option<String>,
    /// Id of the clusterset that the members of this hub form, where the hub agent serves the standard API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub clusterset_id: Option<String>,
    /// Condition `Accepted`, where the hub agent serves the standard API: whether the member may take part in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
