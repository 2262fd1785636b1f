//! `FleetTraffic`: defaults and limits of the whole fleet, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServiceTrafficSpec;

/// Condition of the `FleetTraffic`: so many members are silent at once that no further one is found silent.
pub const MASS_SILENCE: &str = "MassSilence";
/// Condition of the `FleetTraffic`: the API server of the hub went back in its history lately.
pub const ROLLED_BACK: &str = "RolledBack";

/// Name of the one `FleetTraffic`.
pub const FLEET_TRAFFIC: &str = "fleet";

/// Defaults and limits of the fleet.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "traffic.networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "FleetTraffic",
    plural = "fleettraffics",
    category = "fleet-networking",
    status = "FleetTrafficStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Sets what holds for all Services and members of the fleet, and reports how many members renew their Leases.",
    validation = kube::core::Rule::new("self.metadata.name == 'fleet'")
        .message("the name has to be fleet"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Members", type_ = "integer", json_path = ".status.members"),
    printcolumn(name = "Silent", type_ = "integer", json_path = ".status.silent"),
    printcolumn(
        name = "Mass-Silence",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='MassSilence')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.silentAfterSeconds >= 3 * self.heartbeatSeconds",
    "message": "silentAfterSeconds has to be three times heartbeatSeconds at least"
}]))]
pub struct FleetTrafficSpec {
    /// Fields of `ServiceTraffic` for Services that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<ServiceTrafficSpec>,
    /// Seconds between two renewals of the Lease of a member.
    #[serde(default = "heartbeat")]
    #[schemars(range(min = 5, max = 60))]
    pub heartbeat_seconds: i64,
    /// Seconds without a renewal after which a member is silent.
    #[serde(default = "silent_after")]
    #[schemars(range(min = 30, max = 3600))]
    pub silent_after_seconds: i64,
    /// Percentage of the members that may be silent at once. If there are more, none is found silent any more.
    #[serde(default = "max_silent")]
    #[schemars(range(min = 1, max = 50))]
    pub max_silent_percent: i64,
    /// Name of the property that names the failure domain of a member: silent members of one domain count as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub domain_property: Option<String>,
    /// Seconds for which a member has to renew its Lease again before its endpoints return.
    #[serde(default = "return_after")]
    #[schemars(range(min = 0, max = 3600))]
    pub return_after_seconds: i64,
    /// Seconds that their return in steps takes.
    #[serde(default = "return_over")]
    #[schemars(range(min = 0, max = 3600))]
    pub return_over_seconds: i64,
    /// Whether endpoints of silent members may be removed, where the owner of a Service asks for it.
    #[serde(default = "allow_remove")]
    pub allow_remove: bool,
    /// Most EndpointSlices that an importer rewrites in a second because of drains, verdicts and weights.
    #[serde(default = "shape_writes")]
    #[schemars(range(min = 1, max = 500))]
    pub shape_writes_per_second: i64,
}

fn heartbeat() -> i64 {
    10
}

fn silent_after() -> i64 {
    60
}

fn max_silent() -> i64 {
    20
}

fn return_after() -> i64 {
    30
}

fn return_over() -> i64 {
    60
}

fn allow_remove() -> bool {
    true
}

fn shape_writes() -> i64 {
    20
}

impl Default for FleetTrafficSpec {
    /// What holds where the hub has no such object.
    fn default() -> Self {
        Self {
            defaults: None,
            heartbeat_seconds: heartbeat(),
            silent_after_seconds: silent_after(),
            max_silent_percent: max_silent(),
            domain_property: None,
            return_after_seconds: return_after(),
            return_over_seconds: return_over(),
            allow_remove: allow_remove(),
            shape_writes_per_second: shape_writes(),
        }
    }
}

/// What the hub agent reports, at most once a minute unless a condition changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetTrafficStatus {
    /// Counts how often the hub went back in its own history, as with a restored backup. It is part of the incarnation of the hub.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub epoch: i64,
    /// Whether all members have published to this incarnation of the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<FleetTrafficPhase>,
    /// Number of members with a `MemberTraffic`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub members: i64,
    /// Number of those that are silent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub silent: i64,
    /// Number of those that would be silent if not so many others were.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub held: i64,
    /// Number of those without a Lease.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub unmanaged: i64,
    /// Conditions `MassSilence` and `RolledBack`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
}

/// Whether the hub has what members have published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FleetTrafficPhase {
    /// Not all of it.
    Rebuilding,
    /// All of it, or it waits no longer for the rest.
    #[default]
    Settled,
}

impl FleetTrafficPhase {
    /// The phase as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rebuilding => "Rebuilding",
            Self::Settled => "Settled",
        }
    }
}
