//! On which terms an executor runs Pods of others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Disconnect;

/// Version of the [table of fields](super::pod_fields) that these agents have. It grows when a field is added that crosses, which is
/// [marked](super::pod_fields::Field::since) with it: an origin refuses such a field, by its name, for an executor whose table is older.
pub const PROFILE_VERSION: i64 = 1;
/// The first version, which offers have that state none.
pub const FIRST_PROFILE: i64 = 1;

/// Most bytes of a Pod that any executor takes.
pub const MAX_POD_BYTES: i64 = 256 << 10;

/// Which of the Pod Security Standards Pods have to meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PolicyProfile {
    /// The strictest.
    #[default]
    Restricted,
    /// The one that prevents known escalations of privileges.
    Baseline,
}

impl PolicyProfile {
    /// Value of the label `pod-security.kubernetes.io/enforce`.
    pub fn level(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Baseline => "baseline",
        }
    }
}

/// What an executor accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OffloadTerms {
    /// Namespaces whose Pods are accepted: names, or `*` for all.
    #[schemars(
        length(max = 128),
        inner(length(min = 1, max = 63)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub namespaces: Vec<String>,
    /// Which of the Pod Security Standards Pods have to meet.
    #[serde(default)]
    pub policy_profile: PolicyProfile,
    /// Version of the table of fields that the executor has. Its agent sets it, whatever its administrators write.
    #[serde(default = "first_profile")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub profile_version: i64,
    /// Most bytes of a Pod as it crosses, config maps and Secrets not counted.
    #[serde(default = "max_pod_object_bytes")]
    #[schemars(range(min = 1024, max = 262_144))]
    pub max_pod_object_bytes: i64,
    /// Secrets that are accepted, as `namespace/name` of the origin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(min = 3, max = 317)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub secrets: Vec<String>,
    /// Resources that Pods may request beside processors, memory and local storage, such as `example.com/gpu`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 317)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub resources: Vec<String>,
    /// Beginnings of the keys of annotations that are accepted. Those of Kubernetes itself never are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 317)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub annotation_prefixes: Vec<String>,
    /// Whether labels are accepted under their own keys, beside the copies with a prefix.
    #[serde(default)]
    pub verbatim_labels: bool,
    /// Whether Pods may resolve names by servers of the origin's choice.
    #[serde(default)]
    pub origin_dns: bool,
    /// What the executor does with Pods of an origin that it has no sign of.
    #[serde(default)]
    pub disconnect: Disconnect,
}

impl Default for OffloadTerms {
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            policy_profile: PolicyProfile::default(),
            profile_version: first_profile(),
            max_pod_object_bytes: max_pod_object_bytes(),
            secrets: Vec::new(),
            resources: Vec::new(),
            annotation_prefixes: Vec::new(),
            verbatim_labels: false,
            origin_dns: false,
            disconnect: Disconnect::default(),
        }
    }
}

fn first_profile() -> i64 {
    FIRST_PROFILE
}

fn max_pod_object_bytes() -> i64 {
    64 << 10
}
