//! `ResolvedService`: what is in force for a Service of the clusterset, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ServiceProperties, ServiceReference};

/// What is in force for one Service, and whose endpoints form it.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "multicluster.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ResolvedService",
    plural = "resolvedservices",
    category = "fleet-networking",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "States what is in force for a Service that members export with a ServiceExport of multicluster.x-k8s.io.",
    printcolumn(
        name = "Namespace-Of-Service",
        type_ = "string",
        json_path = ".spec.service.namespace"
    ),
    printcolumn(name = "Service", type_ = "string", json_path = ".spec.service.name"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Winner", type_ = "string", json_path = ".spec.winner"),
    printcolumn(name = "Clusters", type_ = "string", json_path = ".spec.exporters"),
    printcolumn(name = "Conflict", type_ = "string", json_path = ".spec.conflicts[0].reason"),
    printcolumn(name = "Withdrawn", type_ = "date", json_path = ".spec.withdrawnAt"),
    printcolumn(name = "Ports", type_ = "string", json_path = ".spec.ports", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.withdrawnAt) == (size(self.exporters) == 0)",
    "message": "withdrawnAt has to be set where there are no exporters, and only there"
}]))]
pub struct ResolvedServiceSpec {
    /// The Service.
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self == oldSelf", "message": "service cannot be changed" }
    ]))]
    pub service: ServiceReference,
    /// What is in force.
    #[serde(flatten)]
    pub properties: ServiceProperties,
    /// The cluster whose export decides where exports differ; absent without exporters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub winner: String,
    /// The clusters whose endpoints form the Service.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"]))]
    pub exporters: Vec<Exporter>,
    /// In what the exports differ, in a fixed order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub conflicts: Vec<Conflict>,
    /// When the last export was withdrawn; the hub agent keeps the object for a while, so that members can distinguish
    /// a Service that is over from one that a hub has lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn_at: Option<Time>,
}

/// A cluster whose endpoints form the Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Exporter {
    /// Name of the member cluster.
    pub cluster: String,
    /// Names of its ports that are not in force as the cluster exports them: its endpoints get no traffic on these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub withheld: Vec<String>,
}

/// In what exports of a Service differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Reason of the condition `Conflict` of the ServiceExports.
    pub reason: ConflictReason,
    /// What is in force, whose it is, and who differs.
    pub message: String,
}

/// Reasons of the condition `Conflict`, in the order in which a condition names them.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ConflictReason {
    /// One is headless, another is not.
    TypeConflict,
    /// The ports differ.
    PortConflict,
    /// The session affinity differs.
    SessionAffinityConflict,
    /// How long a client stays with its endpoint differs.
    SessionAffinityConfigConflict,
    /// The internal traffic policy differs.
    InternalTrafficPolicyConflict,
    /// The distribution of traffic differs.
    TrafficDistributionConflict,
    /// A cluster lacks a family of addresses.
    IPFamilyConflict,
    /// The exported labels differ.
    LabelsConflict,
    /// The exported annotations differ.
    AnnotationsConflict,
}

impl ConflictReason {
    /// All reasons, in their order.
    pub const ALL: [Self; 9] = [
        Self::TypeConflict,
        Self::PortConflict,
        Self::SessionAffinityConflict,
        Self::SessionAffinityConfigConflict,
        Self::InternalTrafficPolicyConflict,
        Self::TrafficDistributionConflict,
        Self::IPFamilyConflict,
        Self::LabelsConflict,
        Self::AnnotationsConflict,
    ];

    /// The reason as written in a condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TypeConflict => "TypeConflict",
            Self::PortConflict => "PortConflict",
            Self::SessionAffinityConflict => "SessionAffinityConflict",
            Self::SessionAffinityConfigConflict => "SessionAffinityConfigConflict",
            Self::InternalTrafficPolicyConflict => "InternalTrafficPolicyConflict",
            Self::TrafficDistributionConflict => "TrafficDistributionConflict",
            Self::IPFamilyConflict => "IPFamilyConflict",
            Self::LabelsConflict => "LabelsConflict",
            Self::AnnotationsConflict => "AnnotationsConflict",
        }
    }
}
