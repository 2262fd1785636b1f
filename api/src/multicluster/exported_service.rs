//! `ExportedService`: a Service that a member exports by the standard API, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ServiceProperties, ServiceReference};

/// What a member offers.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "multicluster.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ExportedService",
    plural = "exportedservices",
    category = "fleet-networking",
    namespaced,
    status = "ExportedServiceStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries a Service that a member exports with a ServiceExport of multicluster.x-k8s.io to the hub.",
    printcolumn(
        name = "Namespace-Of-Service",
        type_ = "string",
        json_path = ".spec.service.namespace"
    ),
    printcolumn(name = "Service", type_ = "string", json_path = ".spec.service.name"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].reason"
    ),
    printcolumn(name = "Ports", type_ = "string", json_path = ".spec.ports", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ExportedServiceSpec {
    /// The exported Service.
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self == oldSelf", "message": "service cannot be changed" }
    ]))]
    pub service: ServiceReference,
    /// Uid of the Service.
    pub service_uid: String,
    /// The ServiceExport. One that was made anew replaces both fields.
    pub export: ServiceExportReference,
    /// What the member offers.
    #[serde(flatten)]
    pub properties: ServiceProperties,
}

/// The ServiceExport by which a member exports a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceExportReference {
    /// Its uid.
    pub uid: String,
    /// When it was created, by the clock of the member's API server. The oldest export of a Service decides.
    pub created: Option<Time>,
}

/// Why the hub refuses an export; empty while it does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedServiceStatus {
    /// Condition `Ready`, only with the status False: the export is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
