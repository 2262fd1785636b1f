//! What crosses of a Pod.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::pod_fields;

/// The Pod in its own cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OriginPod {
    /// Name of the member. It has to be the one whose namespace the export is in.
    #[schemars(length(min = 1, max = 63))]
    pub cluster: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its uid.
    #[schemars(length(min = 1, max = 63))]
    pub uid: String,
}

/// The spec of a Pod with the fields that cross. Its schema is made from the [table](pod_fields).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PodTemplate(pub Map<String, Value>);

impl JsonSchema for PodTemplate {
    fn schema_name() -> Cow<'static, str> {
        "PodTemplate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        pod_fields::schema(&pod_fields::POD)
    }
}
