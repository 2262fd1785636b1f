//! What clusters agree on for one Service: the part that an `ExportedService` offers and a `ResolvedService` has in force.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ObjectName, Protocol};

/// The Service of the clusterset that an object is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ServiceReference {
    /// Namespace of the Service, the same in all clusters.
    #[schemars(length(min = 1))]
    pub namespace: String,
    /// Name of the Service.
    #[schemars(length(min = 1))]
    pub name: String,
}

impl From<&ObjectName> for ServiceReference {
    fn from(service: &ObjectName) -> Self {
        Self { namespace: service.namespace.to_string(), name: service.name.to_string() }
    }
}

/// How a Service is reached.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum ServiceType {
    /// Through one address in each importing cluster.
    #[default]
    ClusterSetIP,
    /// Through the addresses of its endpoints.
    Headless,
}

impl ServiceType {
    /// The type as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterSetIP => "ClusterSetIP",
            Self::Headless => "Headless",
        }
    }
}

/// Whether a client stays with its endpoint.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum SessionAffinity {
    /// It does not.
    #[default]
    None,
    /// It does, by its address.
    ClientIP,
}

impl SessionAffinity {
    /// The value as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::ClientIP => "ClientIP",
        }
    }
}

/// Where traffic from inside of a cluster may go.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum InternalTrafficPolicy {
    /// To all endpoints.
    #[default]
    Cluster,
    /// To those of the client's Node alone.
    Local,
}

impl InternalTrafficPolicy {
    /// The value as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Local => "Local",
        }
    }
}

/// A family of IP addresses.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum IpFamily {
    /// IPv4.
    #[default]
    IPv4,
    /// IPv6.
    IPv6,
}

impl IpFamily {
    /// The family as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        }
    }

    /// The family of that name, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::IPv4, Self::IPv6].into_iter().find(|family| family.as_str() == text)
    }
}

/// A port of a Service, as clients see it: the port on the endpoints is in the slices.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// Name of the port; empty for an unnamed one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Transport protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Port the Service listens on.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Application protocol, as a hint to implementations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
}

/// What clusters agree on for one Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceProperties {
    /// How the Service is reached.
    #[serde(rename = "type")]
    pub type_: ServiceType,
    /// Its ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<ServicePort>,
    /// Whether a client stays with its endpoint.
    #[serde(default)]
    pub session_affinity: SessionAffinity,
    /// How long a client stays with its endpoint, in seconds; absent without session affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub affinity_timeout_seconds: Option<i32>,
    /// Where traffic from inside of a cluster may go.
    #[serde(default)]
    pub internal_traffic_policy: InternalTrafficPolicy,
    /// How traffic is distributed, as in a Service: a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_distribution: Option<String>,
    /// Families of the addresses, the preferred one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub ip_families: Vec<IpFamily>,
    /// Labels for the imports of the Service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self.all(key, size(key) <= 317)", "message": "a key has more than 317 characters" }
    ]))]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the imports of the Service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self.all(key, size(key) <= 317)", "message": "a key has more than 317 characters" }
    ]))]
    pub annotations: BTreeMap<String, String>,
}
