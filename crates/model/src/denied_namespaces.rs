//! Namespaces whose Services are not shared with the fleet.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use fleet_api::names::is_dns1123_label;

/// Patterns of namespaces: a name, or the beginning of names and `*`.
///
/// New exports and imports there are refused; those in force stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedNamespaces(Arc<[Arc<str>]>);

impl DeniedNamespaces {
    /// The patterns by default: Kubernetes' own namespaces, the one of users who named none, and those of the fleet.
    pub const DEFAULT: &str = "kube-*,default,fleet-*";

    /// The same with another namespace.
    #[must_use]
    pub fn and(&self, namespace: &str) -> Self {
        Self(self.0.iter().cloned().chain([namespace.into()]).collect())
    }

    /// Whether a namespace is denied.
    pub fn include(&self, namespace: &str) -> bool {
        self.0.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => namespace.starts_with(beginning),
            None => **pattern == *namespace,
        })
    }
}

impl Default for DeniedNamespaces {
    fn default() -> Self {
        Self(Self::DEFAULT.split(',').map(Into::into).collect())
    }
}

impl FromStr for DeniedNamespaces {
    type Err = String;

    /// Reads patterns that commas separate; an empty text is an empty list.
    fn from_str(text: &str) -> Result<Self, String> {
        let patterns = text.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
        patterns.map(pattern).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for DeniedNamespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

/// A pattern, unless it matches no namespace: one of these is a mistake.
fn pattern(text: &str) -> Result<Arc<str>, String> {
    let beginning = text.strip_suffix('*').unwrap_or(text);
    // With another letter, since the beginning of a name may end in `-`.
    let name = if beginning == text { text.to_owned() } else { format!("{beginning}x") };
    if is_dns1123_label(&name) {
        Ok(text.into())
    } else {
        Err(format!("{text:?} is neither a namespace nor the beginning of one with a * at its end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        let denied: DeniedNamespaces = "kube-*, default".parse().unwrap();
        for (namespace, expected) in [
            ("kube-system", true),
            ("kube-", true),
            ("kube", false),
            ("default", true),
            ("default-2", false),
            ("shop", false),
        ] {
            assert_eq!(denied.include(namespace), expected, "{namespace}");
        }
        assert!(denied.and("shop").include("shop"));
        assert!("*".parse::<DeniedNamespaces>().unwrap().include("shop"));
        assert!(!"".parse::<DeniedNamespaces>().unwrap().include("default"));
    }

    #[test]
    fn what_matches_no_namespace_is_no_pattern() {
        for text in ["a*b", "**", "Shop", "a_b*", "-a", "shop;kube-*"] {
            let error = text.parse::<DeniedNamespaces>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn the_default_is_written_as_it_is_read() {
        let default = DeniedNamespaces::default();
        assert_eq!(default, DeniedNamespaces::DEFAULT.parse().unwrap());
        assert_eq!(default.to_string(), DeniedNamespaces::DEFAULT);
    }
}
