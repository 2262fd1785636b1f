//! `ExternalWorkload`: a machine outside of Kubernetes, as Linkerd defined the kind.
//!
//! Only `v1beta1`, the version that is stored and read, is defined here.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine, and where it serves.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "workload.linkerd.io",
    version = "v1beta1",
    kind = "ExternalWorkload",
    plural = "externalworkloads",
    category = "external",
    namespaced,
    status = "ExternalWorkloadStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A machine outside of Kubernetes that Services of its namespace can select by its labels.",
    printcolumn(name = "Identity", type_ = "string", json_path = ".spec.meshTLS.identity"),
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.workloadIPs[0].ip"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ExternalWorkloadSpec {
    /// Who the machine is in a mesh. Not used for endpoints.
    #[serde(rename = "meshTLS")]
    pub mesh_tls: MeshTls,
    /// On which ports it serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<WorkloadPort>,
    /// Its addresses: one, or one of each family.
    #[serde(default, rename = "workloadIPs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    pub workload_ips: Vec<WorkloadIp>,
}

/// Who a machine is in a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeshTls {
    /// Its identity.
    #[schemars(length(min = 1, max = 253))]
    pub identity: String,
    /// The name that it presents itself with.
    #[schemars(length(min = 1, max = 253))]
    pub server_name: String,
}

/// A port that a machine serves on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadPort {
    /// What Services can call the port; unique in its list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Transport protocol.
    #[serde(default = "tcp")]
    pub protocol: String,
}

/// An address of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadIp {
    /// IPv4 or IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
}

/// What is known of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalWorkloadStatus {
    /// `Ready`: whether it takes traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<WorkloadCondition>,
}

/// One thing that is known of a machine. Everything is optional, as in Linkerd's definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadCondition {
    /// Condition type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 316))]
    pub type_: Option<String>,
    /// `True`, `False` or `Unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: Option<String>,
    /// When it was looked at last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<Time>,
    /// When the status became another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Machine-readable reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub reason: Option<String>,
    /// A sentence for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub message: Option<String>,
}

fn tcp() -> String {
    "TCP".to_owned()
}
