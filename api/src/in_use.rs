//! The members that import a Service: the value of an annotation on the hub's ServiceImport.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The members that import a Service, as the annotation
/// [`SERVICE_IN_USE_BY`](crate::annotations::SERVICE_IN_USE_BY) lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceInUseBy {
    /// Cluster names by the hub namespace that belongs to the cluster.
    pub member_clusters: BTreeMap<String, String>,
}

/// Error for an annotation whose value is not a list of members.
///
/// The Go agents overwrite such a value; the hub agent must not treat it as an empty list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableInUse;

impl std::fmt::Display for UnreadableInUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the list of importing clusters cannot be read")
    }
}

impl std::error::Error for UnreadableInUse {}

impl ServiceInUseBy {
    const KEY: &str = "MemberClusters";

    /// Reads the annotation. Absent, empty, `null` and `{}` all mean that no member imports.
    ///
    /// Like the Go agents' decoder it ignores other keys and the case of the one key it knows.
    pub fn parse(annotation: Option<&str>) -> Result<Self, UnreadableInUse> {
        let Some(text) = annotation.filter(|text| !text.trim().is_empty()) else {
            return Ok(Self::default());
        };
        let whole: Option<Map<String, Value>> =
            serde_json::from_str(text).map_err(|_| UnreadableInUse)?;
        let members = whole
            .into_iter()
            .flatten()
            .find_map(|(key, value)| key.eq_ignore_ascii_case(Self::KEY).then_some(value))
            .unwrap_or_default();
        let members: Option<BTreeMap<String, String>> =
            serde_json::from_value(members).map_err(|_| UnreadableInUse)?;
        Ok(Self { member_clusters: members.unwrap_or_default() })
    }

    /// Whether no member imports the Service. The annotation is then removed.
    pub fn is_empty(&self) -> bool {
        self.member_clusters.is_empty()
    }

    /// The value, byte for byte as the Go agents write it: keys sorted, no spaces, and the
    /// characters that matter in HTML escaped.
    pub fn to_annotation(&self) -> String {
        let mut text = serde_json::json!({ Self::KEY: self.member_clusters }).to_string();
        for (plain, escaped) in [
            ("<", "\\u003c"),
            (">", "\\u003e"),
            ("&", "\\u0026"),
            ("\u{2028}", "\\u2028"),
            ("\u{2029}", "\\u2029"),
        ] {
            // Outside of strings none of these occurs in JSON.
            if text.contains(plain) {
                text = text.replace(plain, escaped);
            }
        }
        text
    }
}

impl<N: Into<String>, C: Into<String>> FromIterator<(N, C)> for ServiceInUseBy {
    fn from_iter<I: IntoIterator<Item = (N, C)>>(members: I) -> Self {
        let member_clusters =
            members.into_iter().map(|(namespace, cluster)| (namespace.into(), cluster.into()));
        Self { member_clusters: member_clusters.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_what_the_original_writes() {
        let in_use: ServiceInUseBy =
            [("fleet-member-west", "west"), ("fleet-member-east", "east")].into_iter().collect();
        let text = r#"{"MemberClusters":{"fleet-member-east":"east","fleet-member-west":"west"}}"#;
        assert_eq!(in_use.to_annotation(), text);
        assert_eq!(ServiceInUseBy::parse(Some(text)), Ok(in_use));
    }

    #[test]
    fn html_characters_are_escaped_as_in_go() {
        let in_use: ServiceInUseBy = [("ns", "<&>")].into_iter().collect();
        let text = in_use.to_annotation();
        assert_eq!(text, r#"{"MemberClusters":{"ns":"\u003c\u0026\u003e"}}"#);
        assert_eq!(ServiceInUseBy::parse(Some(&text)), Ok(in_use));
    }

    #[test]
    fn an_empty_list_can_be_written_in_many_ways() {
        let values = [
            None,
            Some(""),
            Some("  "),
            Some("null"),
            Some("{}"),
            Some(r#"{"MemberClusters":null}"#),
            Some(r#"{"MemberClusters":{}}"#),
            Some(r#"{"Other":1}"#),
        ];
        for value in values {
            assert_eq!(ServiceInUseBy::parse(value), Ok(ServiceInUseBy::default()), "{value:?}");
        }
    }

    #[test]
    fn the_key_is_found_in_any_case() {
        let read = ServiceInUseBy::parse(Some(r#"{"memberclusters":{"n":"c"}}"#));
        assert_eq!(read, Ok([("n", "c")].into_iter().collect()));
    }

    #[test]
    fn other_values_are_unreadable_not_empty() {
        for value in ["x", "[]", "3", r#"{"MemberClusters":[]}"#, r#"{"MemberClusters":{"a":1}}"#] {
            assert_eq!(ServiceInUseBy::parse(Some(value)), Err(UnreadableInUse), "{value}");
        }
    }
}
