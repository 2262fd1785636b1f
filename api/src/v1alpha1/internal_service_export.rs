//! `InternalServiceExport`: a member's export, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExportedObjectReference, ServicePort};

/// What a member offers.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "InternalServiceExport",
    plural = "internalserviceexports",
    shortname = "internalsvcexport",
    category = "fleet-networking",
    namespaced,
    status = "InternalServiceExportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries the export of a Service from a member cluster to the hub.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.serviceReference.clusterId"
    ),
    printcolumn(
        name = "Service",
        type_ = "string",
        json_path = ".spec.serviceReference.namespacedName"
    ),
    printcolumn(
        name = "Is-Conflicted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Conflict')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Conflict')].reason"
    ),
    printcolumn(name = "Ports", type_ = "string", json_path = ".spec.ports", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct InternalServiceExportSpec {
    /// All ports of the Service, in its order.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<ServicePort>,
    /// The exported Service.
    pub service_reference: ExportedObjectReference,
    /// Type of the Service. Only set where DNS-based load balancing is in use, like the rest.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Whether the public address has a DNS label.
    #[serde(rename = "isDNSLabelConfigured", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_dns_label_configured: bool,
    /// Whether the load balancer is internal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_internal_load_balancer: bool,
    /// Cloud resource of the public address.
    #[serde(rename = "publicIPResourceID", default, skip_serializing_if = "Option::is_none")]
    pub public_ip_resource_id: Option<String>,
    /// Weight of this export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
}

/// The hub's verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InternalServiceExportStatus {
    /// Condition `Conflict`: whether the ports differ from those the fleet uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
