//! What the administrators of a member have decided, in a ConfigMap of its own cluster: no other administrator decides it for them.

use serde::{Deserialize, Serialize};

use super::Capacity;

/// Name of the ConfigMap in the system namespace of a member.
pub const CONSENT: &str = "fleet-offload";
/// Key of what the member offers as an executor: the spec of an [`OffloadOffer`](super::OffloadOffer), as JSON.
pub const OFFER: &str = "offer";
/// Begins the keys of what the member accepts as an origin. The name of the executor follows; the value is an
/// [`AcceptedExecutor`] as JSON, or empty.
pub const ACCEPT_PREFIX: &str = "accept.";

/// An executor that the administrators of an origin accept, and what of its offer they use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AcceptedExecutor {
    /// At most so much of what is offered; all of it if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<Capacity>,
    /// Secrets that may leave the cluster, as `namespace/name`. The offer has to list them, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Names of this cluster for the Pods, if the offer has `originDns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<OriginDns>,
    /// Whether no further Pods are to be bound to the node; those that run go on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draining: bool,
    /// Whether the executor is given up: Pods are released without its confirmation. They may still run there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
}

/// How Pods resolve names of their origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OriginDns {
    /// Addresses of name servers, which the executor's Pods have to reach.
    pub servers: Vec<String>,
    /// Domain of the cluster, such as `cluster.local`.
    pub domain: String,
}
