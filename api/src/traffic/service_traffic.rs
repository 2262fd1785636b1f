//! `ServiceTraffic`: what the owner of a Service asks for, in an importing cluster or on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ClusterSelector, ClusterWeight, Fallback, LocalEndpoints, OnSilence, Preference, SpillPolicy,
    Weighting,
};
use crate::crds::rules::name_rule;

/// Which endpoints of a Service get new connections. A field that is absent is taken from the next object: the one of the
/// importing cluster comes first, then that of the hub, then the defaults of the fleet.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "traffic.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ServiceTraffic",
    plural = "servicetraffics",
    shortname = "svctraffic",
    category = "fleet-networking",
    namespaced,
    status = "ServiceTrafficStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Decides which endpoints of the Service of the fleet with the same namespace and name get new connections: in a member for that cluster, on the hub for all that have none of their own.",
    validation = name_rule(),
    printcolumn(name = "Preference", type_ = "string", json_path = ".spec.preference"),
    printcolumn(name = "Served-By", type_ = "string", json_path = ".status.servedBy"),
    printcolumn(
        name = "Effective",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Effective')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Effective')].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.clusterSelectors) == (has(self.preference) && self.preference == 'Selectors')",
    "message": "clusterSelectors has to be set with the preference Selectors, and only with it"
}]))]
pub struct ServiceTrafficSpec {
    /// Which clusters are preferred. By default none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    /// Clusters in the order in which they are used, with the preference `Selectors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub cluster_selectors: Option<Vec<ClusterSelector>>,
    /// What becomes of clusters that no selector selects. By default they are used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// What the shares of clusters follow. By default their numbers of endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighting: Option<Weighting>,
    /// Weights of clusters. One that is not listed has the weight of its export, or 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"])
    )]
    pub weights: Option<Vec<ClusterWeight>>,
    /// Percentage of the endpoints that weights leave in use at least. By default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 100))]
    pub min_subset_percent: Option<i64>,
    /// When other clusters help out although own endpoints are ready. By default they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill: Option<SpillPolicy>,
    /// What becomes of the endpoints of a member that is silent. By default they are last resort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_silence: Option<OnSilence>,
    /// Who writes the EndpointSlices of own endpoints. By default the member agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_endpoints: Option<LocalEndpoints>,
}

/// What is in force in an importing cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceTrafficStatus {
    /// Shares of the exporting clusters, for nodes whose zone is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"])
    )]
    pub clusters: Vec<ClusterTraffic>,
    /// Which endpoints get new connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_by: Option<ServedBy>,
    /// Who writes the EndpointSlices of own endpoints that take traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_endpoints: Option<LocalEndpointsInForce>,
    /// Where each field that is in force comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["field"])
    )]
    pub sources: Vec<FieldSource>,
    /// Conditions `Accepted` and `Effective`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
}

/// What one exporting cluster gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTraffic {
    /// Name of the cluster.
    #[schemars(length(min = 1, max = 63))]
    pub cluster: String,
    /// Index of the selector that selects it; absent if it is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 64))]
    pub rank: Option<i64>,
    /// Where its endpoints are.
    pub slot: Slot,
    /// Number of its ready endpoints.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub ready: i64,
    /// Number of those in use.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub used: i64,
    /// Expected percentage of new connections.
    #[schemars(range(min = 0, max = 100))]
    pub share_percent: i64,
    /// Percentage that weights ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub target_percent: Option<i64>,
    /// Why the share is what it is, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub reason: Option<String>,
}

/// Who writes the EndpointSlices of own endpoints that take traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalEndpointsInForce {
    /// The mode in force.
    pub mode: LocalEndpoints,
    /// Why it is not the mode asked for, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub reason: Option<String>,
}

/// When endpoints get new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Slot {
    /// Whenever one of this slot is ready.
    First,
    /// When none of `First` is ready.
    Second,
    /// Always, with all others.
    #[default]
    Pool,
    /// When no other one is ready.
    LastResort,
    /// Never.
    Out,
}

/// Which endpoints get new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServedBy {
    /// Those of the importing cluster alone.
    Own,
    /// Those of the importing cluster, and others that help out.
    Spill,
    /// Those of the first clusters of the order.
    Rank1,
    /// Those of later clusters of the order.
    LowerRank,
    /// Those that are last resort.
    LastResort,
    /// None.
    #[default]
    Nobody,
}

/// Where one field comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldSource {
    /// Name of the field.
    #[schemars(length(min = 1, max = 63))]
    pub field: String,
    /// The object.
    pub source: PolicySource,
}

/// The object that a field comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PolicySource {
    /// The `ServiceTraffic` of the importing cluster.
    Importer,
    /// The ServiceExports.
    Exports,
    /// The `ServiceTraffic` of the hub.
    Hub,
    /// The `FleetTraffic`.
    Fleet,
    /// None: the agents' own default.
    #[default]
    BuiltIn,
}
