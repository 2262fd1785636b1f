//! Contents of a config map or Secret that cross with a Pod.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a copy is of.
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
pub enum ConfigKind {
    /// A config map.
    #[default]
    ConfigMap,
    /// A Secret, which both clusters have to list by name.
    Secret,
}

impl ConfigKind {
    /// The kind as written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// The present content of a config map or Secret of the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigCopy {
    /// What it is a copy of.
    pub kind: ConfigKind,
    /// Name in the namespace of the Pod.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Type of a Secret.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub type_: Option<String>,
    /// Whether the source is immutable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub immutable: bool,
    /// Texts of a config map.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 256,
        "additionalProperties" = { "type": "string", "maxLength": 65536 }
    ))]
    pub data: BTreeMap<String, String>,
    /// Other contents of a config map, and all of a Secret, in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 256,
        "additionalProperties" = { "type": "string", "maxLength": 87384 }
    ))]
    pub binary_data: BTreeMap<String, String>,
}

impl ConfigCopy {
    /// Bytes of all keys and values.
    pub fn size(&self) -> usize {
        let pairs = self.data.iter().chain(&self.binary_data);
        pairs.map(|(key, value)| key.len() + value.len()).sum()
    }
}
