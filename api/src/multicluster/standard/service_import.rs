//! `ServiceImport` of `multicluster.x-k8s.io`: a Service of the clusterset in an importing cluster.

use k8s_openapi::api::core::v1::SessionAffinityConfig;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::multicluster::{InternalTrafficPolicy, IpFamily, ServiceType, SessionAffinity};

/// How clients of this cluster reach the Service.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "multicluster.x-k8s.io",
    version = "v1beta1",
    kind = "ServiceImport",
    plural = "serviceimports",
    namespaced,
    status = "ServiceImportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A Service of the clusterset."
)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImportSpec {
    /// Its ports. The API requires the list, which may be empty.
    #[serde(default)]
    pub ports: Vec<ServiceImportPort>,
    /// Its addresses, one of each family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// How it is reached.
    #[serde(rename = "type")]
    pub type_: ServiceType,
    /// Whether a client stays with its endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_affinity: Option<SessionAffinity>,
    /// Settings of the session affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// Families of the addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<IpFamily>,
    /// Where traffic from inside of a cluster may go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_traffic_policy: Option<InternalTrafficPolicy>,
    /// How traffic is distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_distribution: Option<String>,
}

/// A port of an imported Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImportPort {
    /// Name of the port; empty for an unnamed one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Transport protocol. The API has no default; agents always write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Application protocol, as a hint to implementations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
    /// Port the Service listens on.
    pub port: i32,
}

/// Which clusters the Service consists of, and whether it can be used here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImportStatus {
    /// The exporting clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterStatus>,
    /// Whether the imported endpoints are EndpointSlices of this cluster. Definitions before v0.5.1 do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_slice_objects: Option<EndpointSliceObjects>,
    /// Condition `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// An exporting cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ClusterStatus {
    /// Its id.
    pub cluster: String,
}

/// Whether the imported endpoints are EndpointSlices of the importing cluster.
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
pub enum EndpointSliceObjects {
    /// They are, which is what the member agent writes.
    #[default]
    Present,
    /// They are not.
    Absent,
}
