//! `OffloadOffer`: what an executor offers to other members, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Capacity, OffloadTerms, PeerLink, Topology};

/// What an executor offers, and to which members.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "offload.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "OffloadOffer",
    plural = "offloadoffers",
    category = "fleet-networking",
    namespaced,
    status = "OffloadOfferStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Offers capacity of the member that it belongs to: members that it selects may run Pods there.",
    printcolumn(name = "Pods", type_ = "integer", json_path = ".spec.capacity.pods"),
    printcolumn(name = "CPU", type_ = "string", json_path = ".spec.capacity.cpu"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.capacity.memory"),
    printcolumn(name = "Withdrawn", type_ = "string", json_path = ".status.withdrawn"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct OffloadOfferSpec {
    /// The members that may run Pods here. An empty selector selects none.
    pub origin_selector: OriginSelector,
    /// How much all of them together may use.
    pub capacity: Capacity,
    /// Where the executor is.
    #[serde(default)]
    pub topology: Topology,
    /// What is accepted.
    pub terms: OffloadTerms,
    /// Whether no further Pods are accepted.
    #[serde(default)]
    pub draining: bool,
    /// After how many seconds without any sign of an origin its Pods are stopped for good.
    #[serde(default = "origin_ttl")]
    #[schemars(range(min = 600, max = 2_592_000))]
    pub origin_ttl_seconds: i64,
}

fn origin_ttl() -> i64 {
    24 * 60 * 60
}

/// Which members an offer is for: those it names and those with all of its labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OriginSelector {
    /// Names of members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 63)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub clusters: Vec<String>,
    /// Labels that the hub's administrators gave to the MemberClusters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 16,
        "additionalProperties" = { "type": "string", "maxLength": 63 },
        "x-kubernetes-validations" = [
            { "rule": "self.all(key, size(key) <= 317)", "message": "a key has more than 317 characters" }
        ]
    ))]
    pub match_labels: BTreeMap<String, String>,
}

impl OriginSelector {
    /// Whether a member is selected, by its name and the labels of its MemberCluster.
    pub fn selects(&self, cluster: &str, labels: &BTreeMap<String, String>) -> bool {
        let labelled =
            || self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        self.clusters.iter().any(|name| name == cluster)
            || (!self.match_labels.is_empty() && labelled())
    }
}

/// How much of an offer is in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OffloadOfferStatus {
    /// What Pods of origins request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Capacity>,
    /// What is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Capacity>,
    /// Why the offer is not in force; absent while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub withdrawn: Option<String>,
    /// The links to the members that are selected, for the executor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"])
    )]
    pub origins: Vec<PeerLink>,
}
