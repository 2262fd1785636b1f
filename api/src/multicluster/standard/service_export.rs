//! `ServiceExport` of `multicluster.x-k8s.io`: a user's request to export the Service of the same name.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the user wants to be on the imports beside the Service itself.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "multicluster.x-k8s.io",
    version = "v1beta1",
    kind = "ServiceExport",
    plural = "serviceexports",
    namespaced,
    status = "ServiceExportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Exports the Service of the same name to the clusterset."
)]
#[serde(rename_all = "camelCase")]
pub struct ServiceExportSpec {
    /// Labels for the imports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exported_labels: BTreeMap<String, String>,
    /// Annotations for the imports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exported_annotations: BTreeMap<String, String>,
}

/// What became of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceExportStatus {
    /// Conditions `Valid`, `Ready` and `Conflict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
