//! Which exported labels and annotations may be on imports.

use std::collections::BTreeMap;

use fleet_api::names::{LABEL_LIMIT, is_qualified_name};

/// Domains whose keys, and those of their subdomains, mean something to Kubernetes or to us: an exporter that could set these
/// on objects of other clusters would control them.
const RESERVED: [&str; 4] =
    ["kubernetes.io", "k8s.io", "multicluster.x-k8s.io", "networking.fleet.azure.com"];

/// Whether the key of a label or annotation is valid, and not reserved.
pub fn is_allowed_key(key: &str) -> bool {
    is_qualified_name(key) && !is_reserved(key)
}

/// Whether a label can be on imports.
pub fn is_allowed_label(key: &str, value: &str) -> bool {
    is_allowed_key(key) && is_label_value(value)
}

/// The labels that can be on imports.
pub fn allowed_labels(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    filtered(labels, is_allowed_label)
}

/// The annotations that can be on imports.
pub fn allowed_annotations(annotations: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    filtered(annotations, |key, _| is_allowed_key(key))
}

fn filtered(
    pairs: &BTreeMap<String, String>,
    is_allowed: fn(&str, &str) -> bool,
) -> BTreeMap<String, String> {
    let allowed = pairs.iter().filter(|(key, value)| is_allowed(key, value));
    allowed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let is_below = |domain: &str| prefix.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'));
    RESERVED.iter().any(|domain| prefix == *domain || is_below(domain))
}

/// Whether the API server accepts a text as the value of a label.
fn is_label_value(value: &str) -> bool {
    value.is_empty()
        || value.len() <= LABEL_LIMIT && !value.contains('/') && is_qualified_name(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_keys_are_those_of_the_domains_and_of_what_is_below() {
        for reserved in [
            "kubernetes.io/service-name",
            "service.kubernetes.io/headless",
            "k8s.io/a",
            "gateway.networking.k8s.io/a",
            "multicluster.x-k8s.io/a",
            "networking.fleet.azure.com/fleet-service",
            "multicluster.networking.fleet.azure.com/hub",
        ] {
            assert!(!is_allowed_key(reserved), "{reserved}");
        }
        for free in
            ["team", "kubernetes.io", "example.com/team", "notkubernetes.io/a", "x-k8s.io/a"]
        {
            assert!(is_allowed_key(free), "{free}");
        }
    }

    #[test]
    fn what_the_api_server_would_refuse_is_left_out() {
        for (key, value) in [("", "a"), ("a b", "a"), ("a/b/c", "a"), ("a", "a b"), ("a", "x/y")] {
            assert!(!is_allowed_label(key, value), "{key}={value}");
        }
        assert!(is_allowed_label("a", "") && is_allowed_label("a", "B_2.x"));
        assert!(!is_allowed_label("a", &"x".repeat(64)));
    }
}
