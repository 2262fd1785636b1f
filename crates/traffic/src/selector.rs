use std::collections::BTreeMap;

/// Properties of a cluster, as its ClusterProperties publish them.
pub type Properties = BTreeMap<String, String>;

/// Stands for the importing cluster's value of the same property.
pub const SAME_AS_IMPORTER: &str = "@SameAsImporter@";

/// Selects clusters by their properties; all parts have to match. One without parts selects none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSelector {
    /// Property and value.
    pub properties: Properties,
    /// Further requirements.
    pub requirements: Vec<Requirement>,
}

/// One requirement on one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Name of the property.
    pub key: String,
    /// How its value is compared.
    pub operator: Operator,
    /// For `In` and `NotIn`.
    pub values: Vec<String>,
}

/// Comparisons, as label selectors have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The value is one of those named.
    In,
    /// The value is none of them, or the property is absent.
    NotIn,
    /// The property is present.
    Exists,
    /// The property is absent.
    DoesNotExist,
}

impl ClusterSelector {
    /// Whether it selects a cluster, for an importer. A value that stands for a property which the importer lacks selects
    /// nothing, whatever the operator.
    pub fn selects(&self, cluster: &Properties, importer: &Properties) -> bool {
        let is_empty = self.properties.is_empty() && self.requirements.is_empty();
        let equal = |(key, value): (&String, &String)| {
            let wanted = resolved(key, value, importer);
            wanted.is_some() && cluster.get(key).map(String::as_str) == wanted
        };
        let holds = |requirement: &Requirement| requirement.holds(cluster, importer);
        !is_empty && self.properties.iter().all(equal) && self.requirements.iter().all(holds)
    }
}

impl Requirement {
    fn holds(&self, cluster: &Properties, importer: &Properties) -> bool {
        let values = self.values.iter().map(|value| resolved(&self.key, value, importer));
        let value = cluster.get(&self.key).map(String::as_str);
        match (self.operator, values.collect::<Option<Vec<_>>>()) {
            (Operator::Exists, _) => value.is_some(),
            (Operator::DoesNotExist, _) => value.is_none(),
            (Operator::In, Some(values)) => value.is_some_and(|value| values.contains(&value)),
            (Operator::NotIn, Some(values)) => value.is_none_or(|value| !values.contains(&value)),
            (Operator::In | Operator::NotIn, None) => false,
        }
    }
}

fn resolved<'a>(key: &str, value: &'a str, importer: &'a Properties) -> Option<&'a str> {
    if value == SAME_AS_IMPORTER { importer.get(key).map(String::as_str) } else { Some(value) }
}
