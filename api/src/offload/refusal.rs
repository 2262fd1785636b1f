//! Why a Pod does not cross.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a Pod does not cross. The reason stands in its status, in Events and in metrics.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Refusal {
    /// A field that does not cross.
    UnsupportedField,
    /// A field that these agents do not know.
    UnknownField,
    /// A volume of a kind that does not cross.
    UnsupportedVolume,
    /// A token of a ServiceAccount.
    ServiceAccountToken,
    /// Namespaces, ports or addresses of the node.
    HostAccess,
    /// Devices that are claimed.
    ResourceClaims,
    /// What the Pod Security Standard of the executor does not allow.
    PodSecurity,
    /// A Secret that one of both clusters does not list.
    SecretNotAllowed,
    /// Own name servers, which the executor does not offer.
    DnsNotOffered,
    /// A container that reads from a terminal.
    InteractiveContainer,
    /// A value that Kubernetes does not accept either.
    InvalidValue,
    /// More, or longer, than what crosses.
    LimitExceeded,
    /// A namespace that the executor does not accept.
    NamespaceNotOffered,
    /// A Pod of a DaemonSet.
    DaemonSetNotOffloaded,
    /// A field that the origin has to leave out, or a hash that does not fit.
    NotTranslated,
    /// What is offered is in use.
    QuotaExceeded,
    /// The offer takes no further Pods.
    NotOffered,
    /// The API server of the executor does not accept a write about the Pod: its admission, its quota, or its rights. It is tried again
    /// without an end.
    RefusedByExecutor,
}

impl Refusal {
    /// All reasons.
    pub const ALL: [Self; 18] = [
        Self::UnsupportedField,
        Self::UnknownField,
        Self::UnsupportedVolume,
        Self::ServiceAccountToken,
        Self::HostAccess,
        Self::ResourceClaims,
        Self::PodSecurity,
        Self::SecretNotAllowed,
        Self::DnsNotOffered,
        Self::InteractiveContainer,
        Self::InvalidValue,
        Self::LimitExceeded,
        Self::NamespaceNotOffered,
        Self::DaemonSetNotOffloaded,
        Self::NotTranslated,
        Self::QuotaExceeded,
        Self::NotOffered,
        Self::RefusedByExecutor,
    ];

    /// The reason as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnsupportedField => "UnsupportedField",
            Self::UnknownField => "UnknownField",
            Self::UnsupportedVolume => "UnsupportedVolume",
            Self::ServiceAccountToken => "ServiceAccountToken",
            Self::HostAccess => "HostAccess",
            Self::ResourceClaims => "ResourceClaims",
            Self::PodSecurity => "PodSecurity",
            Self::SecretNotAllowed => "SecretNotAllowed",
            Self::DnsNotOffered => "DnsNotOffered",
            Self::InteractiveContainer => "InteractiveContainer",
            Self::InvalidValue => "InvalidValue",
            Self::LimitExceeded => "LimitExceeded",
            Self::NamespaceNotOffered => "NamespaceNotOffered",
            Self::DaemonSetNotOffloaded => "DaemonSetNotOffloaded",
            Self::NotTranslated => "NotTranslated",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::NotOffered => "NotOffered",
            Self::RefusedByExecutor => "RefusedByExecutor",
        }
    }

    /// Whether only the executor knows more about it: what its API server states.
    pub fn has_words_of_executor(self) -> bool {
        matches!(self, Self::RefusedByExecutor | Self::QuotaExceeded)
    }

    /// What it means, for a message.
    pub fn text(self) -> &'static str {
        match self {
            Self::UnsupportedField => "is not supported on a virtual node",
            Self::UnknownField => "is not known to this version",
            Self::UnsupportedVolume => "is a kind of volume that does not reach another cluster",
            Self::ServiceAccountToken => "needs a token of this cluster, which does not leave it",
            Self::HostAccess => "needs access to the node",
            Self::ResourceClaims => "claims devices",
            Self::PodSecurity => "is not allowed by the Pod Security Standard of the executor",
            Self::SecretNotAllowed => "names a Secret that is not listed in both clusters",
            Self::DnsNotOffered => "sets name servers, which the executor does not offer",
            Self::InteractiveContainer => "needs a terminal, which does not reach another cluster",
            Self::InvalidValue => "has a value that cannot be read",
            Self::LimitExceeded => "exceeds what crosses",
            Self::NamespaceNotOffered => "is not among the namespaces that the executor accepts",
            Self::DaemonSetNotOffloaded => "is a DaemonSet, whose Pods do not run on virtual nodes",
            Self::NotTranslated => "was not left out by the origin",
            Self::QuotaExceeded => "exceeds what is left of the offer",
            Self::NotOffered => "is not offered any more",
            Self::RefusedByExecutor => "is refused by the API server of the executor",
        }
    }
}
