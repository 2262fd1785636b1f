//! `MemberTraffic`: what importers have to know about one exporting member, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DrainRequest, DrainStatus, SilenceInstruction, SilenceStatus};

/// Condition of a `MemberTraffic`: a drain is refused.
pub const DRAIN_REFUSED: &str = "Refused";

/// Services that a drain holds back above which all of it is refused.
pub const MAX_HELD_SERVICES: usize = 100;

/// What administrators have decided about a member.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "traffic.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "MemberTraffic",
    plural = "membertraffics",
    category = "fleet-networking",
    status = "MemberTrafficStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries drains and verdicts about one member to all importers. Administrators write the spec, the hub agent the rest.",
    validation = kube::core::Rule::new("size(self.metadata.name) < 51")
        .message("metadata.name max length is 50"),
    printcolumn(name = "Silence", type_ = "string", json_path = ".status.silence.state"),
    printcolumn(name = "Percent", type_ = "integer", json_path = ".status.silence.percent"),
    printcolumn(name = "Drained", type_ = "integer", json_path = ".status.drains[?(@.service=='*')].percent"),
    printcolumn(name = "Serial", type_ = "integer", json_path = ".status.serial", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MemberTrafficSpec {
    /// Drains that are asked for. One that is taken out of the list ends within a minute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["service"])
    )]
    pub drains: Vec<DrainRequest>,
    /// What is decided about its silence.
    #[serde(default)]
    pub silence: SilenceInstruction,
    /// The incarnation of the hub in which importers forget what it exported before and this hub lacks: it does not come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    pub forgotten_in: Option<String>,
    /// Properties of the member, in place of its own of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 16,
        "additionalProperties" = { "type": "string", "maxLength": 128 },
        "x-kubernetes-validations" = [
            { "rule": "self.all(key, size(key) <= 253)", "message": "a key has more than 253 characters" }
        ]
    ))]
    pub properties: BTreeMap<String, String>,
}

/// What importers act on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberTrafficStatus {
    /// Grows with each change that importers act on. No two changes in the fleet have the same, so that one number states what
    /// an importer has applied.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub serial: i64,
    /// Drains that have begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["service"])
    )]
    pub drains: Vec<DrainStatus>,
    /// Services, as `namespace/name`, that no drain concerns, since no other member would serve them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 100),
        inner(length(min = 1, max = 127)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub held_services: Vec<String>,
    /// The verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<SilenceStatus>,
    /// Properties of the member that selectors see.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 32,
        "additionalProperties" = { "type": "string", "maxLength": 128 },
        "x-kubernetes-validations" = [
            { "rule": "self.all(key, size(key) <= 253)", "message": "a key has more than 253 characters" }
        ]
    ))]
    pub properties: BTreeMap<String, String>,
    /// The incarnation of the hub to which the member has published all that it exports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    pub complete: Option<String>,
    /// Condition `Refused`, while a drain is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
}
