//! Lists of Services in a member policy.

use std::collections::BTreeSet;
use std::str::FromStr;

use fleet_api::ObjectName;

/// Lists any Service.
const ANY: &str = "*";

/// The Services that a member may export or import: `namespace/name`, `namespace/*` or `*`, separated by commas.
///
/// Reads and matches lists as the admission policies P6 and P13 of the hub do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceList(BTreeSet<Box<str>>);

impl ServiceList {
    /// Whether the list has a Service. The cost does not depend on the length of the list.
    pub fn includes(&self, service: &ObjectName) -> bool {
        let ObjectName { namespace, name } = service;
        self.0.contains(ANY)
            || self.0.contains(format!("{namespace}/{ANY}").as_str())
            || self.0.contains(format!("{namespace}/{name}").as_str())
    }
}

impl FromStr for ServiceList {
    type Err = String;

    /// Reads a list; empty entries list nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let read = |entry: &str| if is_entry(entry) { Ok(entry.into()) } else { Err(entry.into()) };
        entries.map(read).collect::<Result<_, _>>().map(Self)
    }
}

fn is_entry(text: &str) -> bool {
    let of_namespace = |(namespace, name)| is_name(namespace) && (name == ANY || is_name(name));
    text == ANY || text.split_once('/').is_some_and(of_namespace)
}

/// Whether a text consists of lower-case letters, digits, and dashes between them.
fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().all(is_inner) && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> ServiceList {
        text.parse().unwrap()
    }

    #[test]
    fn an_entry_is_a_service_a_namespace_or_everything() {
        let shop = ObjectName::new("team", "shop");
        for (text, expected) in [
            ("", false),
            (" , ", false),
            ("*", true),
            ("team/*", true),
            ("team/shop", true),
            ("team/shop2,team2/shop, team2/*", false),
            ("a/b , team/shop ,", true),
            ("tea/*,team/sho", false),
        ] {
            assert_eq!(list(text).includes(&shop), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_entry_is_named() {
        for entry in [
            "shop", "shop/", "/web", "a/b/c", "*/web", "Shop/web", "**", "shop/w*", "-a/b", "a-/b",
            "a/-b", "*/*", "a b/c",
        ] {
            let error = format!("a/b, {entry}").parse::<ServiceList>().unwrap_err();
            assert_eq!(error, entry);
        }
    }
}
