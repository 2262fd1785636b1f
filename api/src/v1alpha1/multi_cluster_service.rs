//! MultiClusterService: a user's request to use a Service of the fleet in this cluster.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::api::core::v1::LoadBalancerStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which Service is imported.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "MultiClusterService",
    plural = "multiclusterservices",
    shortname = "mcs",
    category = "fleet-networking",
    namespaced,
    status = "MultiClusterServiceStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Imports a Service of the fleet from the same namespace and offers it through a derived Service.",
    validation = crate::crds::rules::name_rule(),
    printcolumn(name = "Service-Import", type_ = "string", json_path = ".spec.serviceImport.name"),
    printcolumn(
        name = "External-IP",
        type_ = "string",
        json_path = ".status.loadBalancer.ingress[0].ip"
    ),
    printcolumn(
        name = "Is-Valid",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Valid')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Valid')].reason"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Valid')].message",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MultiClusterServiceSpec {
    /// The Service to import; changing it switches the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_import: Option<ServiceImportRef>,
}

/// Names the Service to import, in the namespace of the MultiClusterService.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceImportRef {
    /// Name of the Service as its exporters know it.
    #[schemars(length(max = 63), regex(pattern = r"^([a-z]([-a-z0-9]*[a-z0-9])?)$"))]
    pub name: String,
}

/// How the import is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MultiClusterServiceStatus {
    /// Where the derived Service can be reached from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancerStatus>,
    /// Condition `Valid`: whether the import is live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
