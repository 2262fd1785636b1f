//! `InternalServiceImport`: a member's request to import, as it arrives on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExportedObjectReference, ServiceImportStatus};

/// What a member wants to import.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "InternalServiceImport",
    plural = "internalserviceimports",
    shortname = "internalsvcimport",
    category = "fleet-networking",
    namespaced,
    status = "ServiceImportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries the request to import a Service from a member cluster to the hub, and the answer back.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.serviceImportReference.clusterId"
    ),
    printcolumn(
        name = "Service",
        type_ = "string",
        json_path = ".spec.serviceImportReference.namespacedName"
    ),
    printcolumn(name = "Type", type_ = "string", json_path = ".status.type"),
    printcolumn(name = "Clusters", type_ = "string", json_path = ".status.clusters"),
    printcolumn(name = "Ports", type_ = "string", json_path = ".status.ports", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct InternalServiceImportSpec {
    /// The ServiceImport on the member; its namespace and name are those of the Service.
    pub service_import_reference: ExportedObjectReference,
}
