//! `PodImport`: a Pod of an origin for its executor, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PodExportSpec, PodRejection, RemoteStatus};

/// What one executor runs for one Pod.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "offload.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "PodImport",
    plural = "podimports",
    category = "fleet-networking",
    namespaced,
    status = "PodImportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Copies a PodExport into the namespace of its executor. The hub agent writes it. Its name is the uid of the Pod and the \
           name of its cluster: no member can take the name of another one's.",
    validation = kube::core::Rule::new(
        "self.metadata.name == self.spec.export.origin.uid + '.' + self.spec.export.origin.cluster"
    )
    .message("the name has to be the uid of the Pod, a dot and its cluster"),
    printcolumn(name = "Origin", type_ = "string", json_path = ".spec.export.origin.cluster"),
    printcolumn(
        name = "Namespace-Of-Pod",
        type_ = "string",
        json_path = ".spec.export.origin.namespace"
    ),
    printcolumn(name = "Pod", type_ = "string", json_path = ".spec.export.origin.name"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.remote.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(oldSelf.stop) || has(self.stop)",
    "message": "stop cannot be taken back"
}]))]
pub struct PodImportSpec {
    /// What crosses, with the member that it comes from.
    pub export: PodExportSpec,
    /// Set when the Pod has to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopRequest>,
}

/// That a Pod has to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopRequest {
    /// How many seconds its containers have. It can be shortened.
    #[schemars(
        range(min = 0, max = 604_800),
        extend("x-kubernetes-validations" = [
            { "rule": "self <= oldSelf", "message": "graceSeconds can only be shortened" }
        ])
    )]
    pub grace_seconds: i64,
    /// When the hub agent asked for it, by the clock of the hub.
    pub requested_at: Time,
}

/// What the executor reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PodImportStatus {
    /// Why it is not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<PodRejection>,
    /// The status of the Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteStatus>,
    /// Whether the executor has nothing of it any more.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self || !oldSelf", "message": "released cannot be taken back" }
    ]))]
    pub released: bool,
}
