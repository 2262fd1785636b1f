//! `ReachReport`: what a member reaches of what it imports, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exporters that a report counts.
pub const MAX_REACHED: usize = 256;
/// Troubles that a report names; the others are counted.
pub const MAX_TROUBLES: usize = 64;

/// What a member reaches of what it imports.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "multicluster.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ReachReport",
    plural = "reachreports",
    category = "fleet-networking",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "States what a member reaches of the Services that it imports, by connections that its agent has opened.",
    validation = kube::core::Rule::new("size(self.metadata.name) < 51")
        .message("metadata.name max length is 50"),
    printcolumn(name = "Reachable", type_ = "integer", json_path = ".spec.reachable"),
    printcolumn(name = "Unreachable", type_ = "integer", json_path = ".spec.unreachable"),
    printcolumn(name = "Exporter", type_ = "string", json_path = ".spec.troubles[0].exporter"),
    printcolumn(name = "Hop", type_ = "string", json_path = ".spec.troubles[0].hop"),
    printcolumn(name = "Since", type_ = "date", json_path = ".spec.troubles[0].since"),
    printcolumn(name = "Not-Dialled", type_ = "integer", json_path = ".spec.notDialled", priority = 1),
    printcolumn(name = "Observed", type_ = "date", json_path = ".spec.observed"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ReachReportSpec {
    /// When the member has written this, by its own clock. It writes on change, and at most once a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Time>,
    /// Whether names are resolved, too.
    #[serde(default)]
    pub names: bool,
    /// Pairs of a Service and an exporter that are reached.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub reachable: i32,
    /// Pairs that are not, or not all of them.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub unreachable: i32,
    /// Pairs of which nothing is known yet.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub unknown: i32,
    /// Pairs that are not dialled: without a port of TCP, or without a ready endpoint.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub not_dialled: i32,
    /// The same by exporter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 256),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"])
    )]
    pub exporters: Vec<ReachedExporter>,
    /// What is not reached, and at which hop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub troubles: Vec<ReachTrouble>,
}

/// What is reached of one exporter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReachedExporter {
    /// Name of the member that exports.
    #[schemars(length(max = 63))]
    pub cluster: String,
    /// Services of it that are reached.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub reachable: i32,
    /// Services that are not.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub unreachable: i32,
    /// Services of which nothing is known yet.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub unknown: i32,
    /// Services that are not dialled.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub not_dialled: i32,
}

/// One Service of one exporter that is not reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReachTrouble {
    /// Name of the member that exports.
    #[schemars(length(max = 63))]
    pub exporter: String,
    /// Namespace of the Service.
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Name of the Service.
    #[schemars(length(max = 63))]
    pub service: String,
    /// The API by which it is imported.
    pub api: ReachApi,
    /// Where it stops.
    pub hop: ReachHop,
    /// Since when, by the member's clock.
    pub since: Time,
    /// What the last attempts have met.
    #[schemars(length(max = 256))]
    pub detail: String,
}

/// The API by which a Service is imported.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ReachApi {
    /// MultiClusterServices of `networking.fleet.azure.com`.
    Fleet,
    /// ServiceImports of `multicluster.x-k8s.io`.
    Standard,
}

/// Where a connection stops, from the client to the endpoint.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ReachHop {
    /// The name does not lead to the address.
    Name,
    /// The address of the Service does not lead to endpoints that answer.
    Address,
    /// No endpoint of the exporter answers.
    Route,
    /// This endpoint, or those of this Service, do not accept.
    Endpoint,
}

impl ReachHop {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Name, Self::Address, Self::Route, Self::Endpoint];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Address => "Address",
            Self::Route => "Route",
            Self::Endpoint => "Endpoint",
        }
    }
}
