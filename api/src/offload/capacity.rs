//! How much an executor offers, and where it is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Amounts of resources, as Kubernetes writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Processors, such as `4` or `500m`.
    #[schemars(regex(pattern = r"^[0-9]{1,15}(\.[0-9]{1,3})?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$"))]
    #[schemars(length(max = 32))]
    pub cpu: String,
    /// Memory, such as `16Gi`.
    #[schemars(regex(pattern = r"^[0-9]{1,15}(\.[0-9]{1,3})?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$"))]
    #[schemars(length(max = 32))]
    pub memory: String,
    /// Local storage for `emptyDir` volumes, logs and layers of containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{1,15}(\.[0-9]{1,3})?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$"))]
    #[schemars(length(max = 32))]
    pub ephemeral_storage: Option<String>,
    /// Pods.
    #[schemars(range(min = 0, max = 500))]
    pub pods: i64,
    /// Other resources by their names, such as `example.com/gpu`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(
        length(max = 16),
        extend(
            "maxProperties" = 16,
            "additionalProperties" = { "type": "string", "maxLength": 32 },
            "x-kubernetes-validations" = [
                { "rule": "self.all(key, size(key) <= 317)", "message": "a key has more than 317 characters" }
            ]
        )
    )]
    pub extended: BTreeMap<String, String>,
}

/// Where an executor is. A virtual node carries these as its labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Value of `topology.kubernetes.io/region`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub region: Option<String>,
    /// Value of `topology.kubernetes.io/zone`: endpoints on the virtual node get it as their zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub zone: Option<String>,
    /// Value of `kubernetes.io/arch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub arch: Option<String>,
}
