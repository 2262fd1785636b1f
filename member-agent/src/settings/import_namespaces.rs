//! Which Services of the clusterset are imported.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use fleet_api::ObjectName;
use fleet_api::names::is_dns1123_label;

/// Namespaces, and Services of namespaces, that are imported through the standard API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportNamespaces(Arc<[Pattern]>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    All,
    Namespace(Box<str>),
    Service(ObjectName),
}

impl ImportNamespaces {
    /// Whether a Service is imported.
    pub fn include(&self, service: &ObjectName) -> bool {
        self.0.iter().any(|pattern| match pattern {
            Pattern::All => true,
            Pattern::Namespace(namespace) => **namespace == *service.namespace,
            Pattern::Service(name) => name == service,
        })
    }
}

impl Default for ImportNamespaces {
    fn default() -> Self {
        Self([Pattern::All].into())
    }
}

impl FromStr for ImportNamespaces {
    type Err = String;

    /// Reads patterns that commas separate.
    fn from_str(text: &str) -> Result<Self, String> {
        let patterns = text.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
        patterns.map(pattern).collect::<Result<_, _>>().map(Self)
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let (namespace, name) = text.split_once('/').unzip();
    let namespace = namespace.unwrap_or(text);
    match name {
        None if text == "*" => Ok(Pattern::All),
        None if is_dns1123_label(namespace) => Ok(Pattern::Namespace(namespace.into())),
        Some(name) if is_dns1123_label(namespace) && is_dns1123_label(name) => {
            Ok(Pattern::Service(ObjectName::new(namespace, name)))
        }
        _ => Err(format!("{text:?} is neither a namespace, nor namespace/service, nor *")),
    }
}

impl fmt::Display for ImportNamespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |pattern: &Pattern| match pattern {
            Pattern::All => "*".to_owned(),
            Pattern::Namespace(namespace) => namespace.to_string(),
            Pattern::Service(service) => service.to_string(),
        };
        f.write_str(&self.0.iter().map(text).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_namespaces_and_services() {
        let some: ImportNamespaces = "shop, team/web".parse().unwrap();
        assert_eq!(some.to_string(), "shop,team/web");
        let included = |name: &str| some.include(&ObjectName::parse(name).unwrap());
        assert!(included("shop/web") && included("team/web"));
        assert!(!included("team/other") && !included("shops/web"));
    }

    #[test]
    fn everything_is_imported_by_default() {
        let all = ImportNamespaces::default();
        assert!(all.include(&ObjectName::parse("a/b").unwrap()));
        assert_eq!("*".parse(), Ok(all));
    }

    #[test]
    fn an_empty_list_imports_nothing_and_nonsense_is_refused() {
        let none: ImportNamespaces = "".parse().unwrap();
        assert!(!none.include(&ObjectName::parse("a/b").unwrap()));
        for bad in ["a/b/c", "a/", "/b", "A", "a*", "*/b"] {
            assert!(bad.parse::<ImportNamespaces>().is_err(), "{bad}");
        }
    }
}
