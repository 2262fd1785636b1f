//! The member policy: a `ConfigMap` in the namespace of a member on the hub.

use std::collections::BTreeMap;

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1 as core;

use crate::cidr::Cidrs;
use crate::service_list::ServiceList;

wire! {
    /// A ConfigMap on the wire.
    pub struct MemberPolicyWire as core::ConfigMap {
        data: Option<BTreeMap<String, String>>,
    }
}

/// What an administrator of the hub allows a member, as far as it is about Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPolicy {
    /// Its lists, or why they cannot be read.
    pub lists: Result<PolicyLists, Box<str>>,
    /// The ranges of its Pods; none if they cannot be read.
    pub cidrs: Cidrs,
}

/// The lists of a member policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyLists {
    /// The Services that the member may export.
    pub exports: ServiceList,
    /// The Services that the member may import.
    pub imports: ServiceList,
}

impl MemberPolicy {
    /// Name of every member policy.
    pub const NAME: &str = "member-policy";

    /// Where the policy of the member is that a namespace belongs to.
    pub fn in_namespace(namespace: &str) -> ObjectName {
        ObjectName::new(namespace, Self::NAME)
    }
}

impl Tracked for MemberPolicy {
    const KIND: ResourceKind = kinds::CONFIG_MAP;
    const FIELDS: Option<&'static str> = Some("metadata.name=member-policy");
    type Wire = MemberPolicyWire;
    type Index = ();

    fn project(wire: MemberPolicyWire) -> Result<Self, String> {
        let data = wire.data.unwrap_or_default();
        let lists = list("exports", &data)
            .and_then(|exports| Ok(PolicyLists { exports, imports: list("imports", &data)? }));
        let cidrs = data.get("cidrs").and_then(|text| text.parse().ok()).unwrap_or_default();
        Ok(Self { lists, cidrs })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

/// One list, or why it cannot be read.
fn list(key: &str, data: &BTreeMap<String, String>) -> Result<ServiceList, Box<str>> {
    let text = data.get(key).ok_or_else(|| format!("it has no {key}"))?;
    let wrong = |entry| {
        format!("{key} has the entry {entry:?}, which is none of namespace/name, namespace/* and *")
    };
    Ok(text.parse().map_err(wrong)?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn policy(data: &Value) -> MemberPolicy {
        let object = json!({ "metadata": { "name": "member-policy" }, "data": data });
        MemberPolicy::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn both_lists_are_read() {
        let shop = ObjectName::new("team", "shop");
        let lists = policy(&json!({ "cidrs": "none", "exports": "team/*", "imports": "" })).lists;
        let lists = lists.unwrap();
        assert!(lists.exports.includes(&shop) && !lists.imports.includes(&shop));
    }

    #[test]
    fn ranges_are_read_all_or_none() {
        let cidrs = |text: &str| policy(&json!({ "cidrs": text })).cidrs;
        assert_eq!(cidrs("10.1.0.0/16, fd00::/64").iter().count(), 2);
        assert!(cidrs("10.1.0.0/16,all").is_empty() && cidrs("").is_empty());
        assert!(cidrs("10.1.0.0/16").overlap(&cidrs("10.1.2.0/24")));
        assert!(!cidrs("10.1.0.0/16").overlap(&cidrs("10.2.0.0/16,fd00::/64")));
    }

    #[test]
    fn what_cannot_be_read_has_a_reason() {
        for (data, reason) in [
            (json!(null), "it has no exports"),
            (json!({ "exports": "*" }), "it has no imports"),
            (
                json!({ "exports": "a/b;c/d", "imports": "*" }),
                "exports has the entry \"a/b;c/d\", which is none of namespace/name, namespace/* and *",
            ),
        ] {
            assert_eq!(&*policy(&data).lists.unwrap_err(), reason);
        }
    }

    #[test]
    fn the_selector_has_the_name() {
        let selector = format!("metadata.name={}", MemberPolicy::NAME);
        assert_eq!(MemberPolicy::FIELDS, Some(selector.as_str()));
    }
}
