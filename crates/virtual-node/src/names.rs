//! Names of what stands for a Pod in another cluster, and for another cluster in this one.
//!
//! Each follows from what it is for alone: a second agent, or the same one after a crash, finds what the first has made. A name
//! that is shortened ends in a hash of the whole.

use fleet_api::names::digest;
use fleet_api::offload::ConfigKind;
use fleet_plan::text::truncate;

/// Characters of a label, such as the name of a namespace.
const LABEL: usize = 63;
/// Characters of a hash.
const HASH: usize = 10;
/// Characters of a Pod's own name that its remote name keeps.
const KEPT: usize = 40;

/// The Node that stands for an executor.
pub fn node(executor: &str) -> String {
    format!("fleet-{executor}")
}

/// The executor that a [`node`] stands for.
pub fn executor_of(node: &str) -> Option<&str> {
    node.strip_prefix("fleet-").filter(|executor| !executor.is_empty())
}

/// The import of a Pod on the hub. An origin chooses what it states as the uid of a Pod, so the name has the origin, too.
pub fn import(origin: &str, uid: &str) -> String {
    format!("{uid}.{origin}")
}

/// The namespace of an executor for Pods of one namespace of an origin.
///
/// Equal names of namespaces mean the same namespace in all members, so these Pods have one that no member has: Services of the
/// executor never select them.
pub fn namespace(origin: &str, namespace: &str) -> String {
    let plain = format!("offload-{origin}--{namespace}");
    // The first two dashes separate, so an origin with two of its own would be taken for another.
    if plain.len() <= LABEL && !origin.contains("--") {
        return plain;
    }
    let hash = digest(&format!("{origin}/{namespace}"));
    let mut readable = plain;
    while readable.contains("--") {
        readable = readable.replace("--", "-");
    }
    format!("{}-{hash}", cut(&readable, LABEL - HASH - 1))
}

/// The remote Pod of a Pod.
pub fn pod(name: &str, uid: &str) -> String {
    format!("{}-{}", cut(name, KEPT), digest(uid))
}

/// The copy of a config map or Secret for one Pod. Each Pod has copies of its own, which follow their source and go with it.
pub fn config(kind: ConfigKind, name: &str, uid: &str) -> String {
    let hash = digest(&format!("{}/{name}/{uid}", kind.as_str()));
    format!("{}-{hash}", cut(name, KEPT))
}

/// The host name of a Pod: its own, or the name of the Pod.
pub fn hostname(own: Option<&str>, name: &str) -> String {
    let wanted = own.filter(|own| !own.is_empty()).unwrap_or(name);
    cut(&wanted.replace('.', "-"), LABEL).to_owned()
}

/// The start of a name, without what no name ends with.
fn cut(name: &str, limit: usize) -> &str {
    truncate(name, limit).trim_end_matches(['-', '.'])
}

#[cfg(test)]
mod tests {
    use fleet_api::names::{is_dns1123_label, is_dns1123_subdomain};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_readable_where_they_fit() {
        assert_eq!(node("west"), "fleet-west");
        assert_eq!(import("east", "1-2"), "1-2.east");
        assert_eq!(namespace("east", "shop"), "offload-east--shop");
        assert_eq!(hostname(None, "web-7"), "web-7");
        assert_eq!(hostname(Some("db"), "web-7"), "db");
        assert_eq!(hostname(Some(""), "a.b"), "a-b");
        assert!(pod("web-7", "u").starts_with("web-7-"));
    }

    /// East's namespace `a--b` is not that of a member called `east--a`.
    #[test]
    fn namespaces_of_two_origins_are_never_one() {
        let names = [("a", "b--c"), ("a--b", "c"), ("a", "b-c"), ("a-b", "c"), ("a--b--c", "d")];
        let mut made: Vec<_> = names.iter().map(|(origin, name)| namespace(origin, name)).collect();
        made.sort_unstable();
        made.dedup();
        assert_eq!(made.len(), names.len(), "{made:?}");
    }

    #[test]
    fn copies_of_two_pods_or_kinds_have_two_names() {
        let one = config(ConfigKind::ConfigMap, "settings", "1");
        assert_ne!(one, config(ConfigKind::ConfigMap, "settings", "2"));
        assert_ne!(one, config(ConfigKind::Secret, "settings", "1"));
    }

    proptest! {
        #[test]
        fn all_are_valid(origin in "[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name in "[a-z]([-a-z0-9]{0,61}[a-z0-9])?") {
            prop_assert!(is_dns1123_label(&namespace(&origin, &name)));
            prop_assert!(is_dns1123_subdomain(&node(&origin)));
        }

        #[test]
        fn long_names_of_pods_are_valid(name in "[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}", uid in ".{0,80}") {
            prop_assert!(is_dns1123_label(&hostname(None, &name)));
            prop_assert!(is_dns1123_subdomain(&pod(&name, &uid)));
            prop_assert!(is_dns1123_subdomain(&config(ConfigKind::Secret, &name, &uid)));
        }
    }
}
