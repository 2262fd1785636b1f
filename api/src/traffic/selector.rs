//! Selection of clusters by their properties, in the form of KEP-5939.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Selects clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSelector {
    /// Selects clusters by their properties.
    pub property_selector: PropertySelector,
}

/// Selects clusters by their properties. All parts have to match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(has(self.matchProperties) && size(self.matchProperties) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
    "message": "a selector has at least one property or expression"
}]))]
pub struct PropertySelector {
    /// Properties and their values. The value `@SameAsImporter@` stands for the value that the importing cluster has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 16,
        "additionalProperties" = { "type": "string", "maxLength": 128 },
        "x-kubernetes-validations" = [
            { "rule": "self.all(key, size(key) <= 253)", "message": "a key has more than 253 characters" }
        ]
    ))]
    pub match_properties: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<PropertyRequirement>,
}

/// One requirement on one property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    "message": "In and NotIn have values, Exists and DoesNotExist have none"
}]))]
pub struct PropertyRequirement {
    /// Name of the property.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// How its value is compared.
    pub operator: SelectorOperator,
    /// For `In` and `NotIn`. `@SameAsImporter@` stands for the value that the importing cluster has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(length(max = 128)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub values: Vec<String>,
}

/// Comparisons, as label selectors have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SelectorOperator {
    /// The value is one of those named.
    #[default]
    In,
    /// The value is none of them, or the property is absent.
    NotIn,
    /// The property is present.
    Exists,
    /// The property is absent.
    DoesNotExist,
}
