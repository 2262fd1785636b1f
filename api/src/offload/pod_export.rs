//! `PodExport`: a Pod that its origin gives to an executor, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigCopy, Disconnect, OriginPod, PodTemplate, Refusal, RemoteStatus};

/// What crosses of one Pod.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "offload.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "PodExport",
    plural = "podexports",
    category = "fleet-networking",
    namespaced,
    status = "PodExportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries a Pod that is bound to a virtual node to the hub. Its name is the uid of the Pod.",
    validation = kube::core::Rule::new("self.metadata.name == self.spec.origin.uid")
        .message("the name has to be the uid of the Pod"),
    printcolumn(name = "Namespace-Of-Pod", type_ = "string", json_path = ".spec.origin.namespace"),
    printcolumn(name = "Pod", type_ = "string", json_path = ".spec.origin.name"),
    printcolumn(name = "Executor", type_ = "string", json_path = ".spec.executor"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.remote.phase"),
    printcolumn(name = "Rejected", type_ = "string", json_path = ".status.rejected.reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodExportSpec {
    /// The Pod.
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self == oldSelf", "message": "origin cannot be changed" }
    ]))]
    pub origin: OriginPod,
    /// Name of the member that runs it.
    #[schemars(
        length(min = 1, max = 63),
        extend("x-kubernetes-validations" = [
            { "rule": "self == oldSelf", "message": "executor cannot be changed" }
        ])
    )]
    pub executor: String,
    /// Its spec.
    pub pod: PodTemplate,
    /// Its host name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub hostname: String,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 64,
        "additionalProperties" = { "type": "string", "maxLength": 63 },
        "x-kubernetes-validations" = [
            { "rule": "self.all(key, size(key) <= 317)", "message": "a key has more than 317 characters" }
        ]
    ))]
    pub labels: BTreeMap<String, String>,
    /// Those of its annotations that cross.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 32,
        "additionalProperties" = { "type": "string", "maxLength": 2048 },
        "x-kubernetes-validations" = [
            { "rule": "self.all(key, size(key) <= 317)", "message": "a key has more than 317 characters" }
        ]
    ))]
    pub annotations: BTreeMap<String, String>,
    /// The config maps and Secrets that it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["kind", "name"])
    )]
    pub configs: Vec<ConfigCopy>,
    /// Hash of all that the executor acts on. A hub that has dropped a field is noticed by it.
    #[schemars(length(min = 1, max = 64))]
    pub spec_hash: String,
    /// What the executor does with it when it has no sign of the origin.
    #[serde(default)]
    pub disconnect: Disconnect,
    /// Whether the origin has seen it run: a hub that has lost its data takes such a Pod again although the offer takes no new ones,
    /// and an executor that has nothing of it does not make it a second time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// How many seconds its containers have to end, once this object is being deleted. It can be shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        range(min = 0, max = 604_800),
        extend("x-kubernetes-validations" = [
            { "rule": "self <= oldSelf", "message": "stopGraceSeconds can only be shortened" }
        ])
    )]
    pub stop_grace_seconds: Option<i64>,
}

/// What the hub agent reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PodExportStatus {
    /// Whether the executor has taken it.
    #[serde(default)]
    pub accepted: bool,
    /// Why it is not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<PodRejection>,
    /// The status of the Pod that the executor runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteStatus>,
    /// Whether the executor has nothing of it any more.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self || !oldSelf", "message": "released cannot be taken back" }
    ]))]
    pub released: bool,
}

/// Why a Pod is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PodRejection {
    /// Why.
    pub reason: Refusal,
    /// The first field that is refused, as a path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 512))]
    pub field: String,
    /// The same, for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub message: String,
    /// Hash of the spec that is refused.
    #[schemars(length(max = 64))]
    pub hash: String,
}
