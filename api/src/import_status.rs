//! The resolved form of a Service of the fleet: status of ServiceImport and `InternalServiceImport`.

use k8s_openapi::api::core::v1::SessionAffinityConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ServicePort;

/// How an imported Service is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServiceImportType {
    /// Through one address; the only type in use.
    #[default]
    ClusterSetIP,
    /// Through the addresses of its endpoints.
    Headless,
    /// A type this version does not know. Kept, so that one such object does not fail a list.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(String),
}

/// One cluster whose endpoints form the Service.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct ClusterStatus {
    /// Name of the exporting member cluster.
    pub cluster: String,
}

/// What the fleet agreed on for one Service.
///
/// On a ServiceImport, no `clusters` means "being resolved" and no `ports` means "not resolved
/// yet". On an `InternalServiceImport` an empty status means "not granted to this cluster".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImportStatus {
    /// Addresses of the Service; not used so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1))]
    pub ips: Vec<String>,
    /// How the Service is reached.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<ServiceImportType>,
    /// Session affinity; not used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_affinity: Option<String>,
    /// Settings of the session affinity; not used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_affinity_config: Option<SessionAffinityConfig>,
    /// Resolved ports, in the order of the winning export.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<ServicePort>,
    /// Clusters whose export was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"]))]
    pub clusters: Vec<ClusterStatus>,
}

impl ServiceImportStatus {
    /// Whether it is empty: not resolved, or not granted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether ports are agreed on and some cluster offers them.
    pub fn is_resolved(&self) -> bool {
        !self.ports.is_empty() && !self.clusters.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_status_is_written_and_read_as_an_empty_object() {
        let status: ServiceImportStatus = serde_json::from_str("{}").unwrap();
        assert!(status.is_empty() && !status.is_resolved());
        assert_eq!(serde_json::to_string(&status).unwrap(), "{}");
    }

    #[test]
    fn a_resolved_status_reads_as_the_original_writes_it() {
        let text = r#"{"type":"ClusterSetIP","ports":[{"name":"web","protocol":"TCP","port":80,"targetPort":"http"}],"clusters":[{"cluster":"east"}]}"#;
        let status: ServiceImportStatus = serde_json::from_str(text).unwrap();
        assert!(status.is_resolved());
        assert_eq!(status.type_, Some(ServiceImportType::ClusterSetIP));
        assert_eq!(serde_json::to_string(&status).unwrap(), text);
    }
}
