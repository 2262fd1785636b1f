//! The rights that the charts grant to agents, from the charts' own files. Pure.

use std::collections::BTreeSet;
use std::fmt;

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use serde_json::Value;

use super::seen::Feature;

/// Rights of the hub agent.
pub(super) const HUB: &str = include_str!("../../../charts/hub-agent/rbac.yaml");
/// Rights of the hub agent for the standard API.
pub(super) const HUB_STANDARD: &str =
    include_str!("../../../charts/hub-agent/multicluster-rbac.yaml");
/// Rights of the member agent.
pub(super) const MEMBER: &str = include_str!("../../../charts/member-agent/rbac.yaml");
/// Rights of the member agent for the standard API.
pub(super) const MEMBER_STANDARD: &str =
    include_str!("../../../charts/member-agent/multicluster-rbac.yaml");
/// Rights of the member agent for traffic policies.
pub(super) const MEMBER_TRAFFIC: &str =
    include_str!("../../../charts/member-agent/traffic-rbac.yaml");

/// Rights of a member on the hub.
const ON_HUB: &str = include_str!("../../../charts/hub-agent/member-rbac.yaml");
/// The same for the standard API.
const ON_HUB_STANDARD: &str =
    include_str!("../../../charts/hub-agent/multicluster-member-rbac.yaml");
/// The same for Pods of other members.
const ON_HUB_OFFLOAD: &str = include_str!("../../../charts/hub-agent/offload-member-rbac.yaml");
/// The same for reports of what is reached.
const ON_HUB_REACH: &str = include_str!("../../../charts/hub-agent/reach-member-rbac.yaml");
/// Roles for the Leases of members, that of members among them.
const LEASE_ROLES: &str = include_str!("../../../charts/hub-agent/lease-rbac.yaml");
/// Roles for traffic, that of members among them.
const TRAFFIC_ROLES: &str = include_str!("../../../charts/hub-agent/traffic-rbac.yaml");

/// One verb on one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Right {
    pub(super) verb: String,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) subresource: Option<String>,
    /// Where it is granted; everywhere if in no namespace.
    pub(super) namespace: Option<String>,
    /// The one object that it is granted for.
    pub(super) name: Option<String>,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, " in {namespace}"))
    }
}

impl Right {
    /// The same where an agent works in other namespaces than by default.
    pub(super) fn placed(&self, system: &str, leases: &str) -> Self {
        let place = if self.resource == "leases" { leases } else { system };
        let moved = self.namespace.as_deref() == Some(SYSTEM_NAMESPACE);
        let namespace = if moved { Some(place.to_owned()) } else { self.namespace.clone() };
        Self { namespace, ..self.clone() }
    }
}

/// The rights that a file of a chart grants.
pub(super) fn of(file: &str) -> Vec<Right> {
    let mut rights: Vec<_> = objects(file).flat_map(|object| of_object(&object)).collect();
    rights.sort();
    rights.dedup();
    rights
}

/// The rights of a member's agent on the hub. Only an account that the chart has made renews its own token.
pub(super) fn on_hub(member: &str, features: &BTreeSet<Feature>, is_of_chart: bool) -> Vec<Right> {
    let namespace = member_namespace(member);
    let own = |file: &str| of(&file.replace("${MEMBER}", member));
    let mut rights = own(ON_HUB);
    rights.retain(|right| is_of_chart || right.resource != "serviceaccounts");
    for feature in features {
        rights.extend(match feature {
            Feature::Lease => of_role(LEASE_ROLES, "fleet-member-lease", Some(&namespace)),
            Feature::Traffic => of_role(TRAFFIC_ROLES, "fleet-traffic-reader", None),
            Feature::Standard => own(ON_HUB_STANDARD),
            Feature::Offload => own(ON_HUB_OFFLOAD),
            Feature::Reachability => own(ON_HUB_REACH),
        });
    }
    rights.sort();
    rights.dedup();
    rights
}

/// The rights of one role of a file, where it is bound.
fn of_role(file: &str, role: &str, namespace: Option<&str>) -> Vec<Right> {
    let objects = objects(file).filter(|object| object["metadata"]["name"] == role);
    let rights = objects.flat_map(|object| of_object(&object));
    rights.map(|right| Right { namespace: namespace.map(str::to_owned), ..right }).collect()
}

fn objects(file: &str) -> impl Iterator<Item = Value> {
    file.split("\n---\n").filter_map(|text| serde_saphyr::from_str::<Value>(text).ok())
}

fn of_object(object: &Value) -> Vec<Right> {
    let namespace = match object["kind"].as_str() {
        Some("ClusterRole") => None,
        Some("Role") => {
            let named = object["metadata"]["namespace"].as_str();
            Some(named.unwrap_or(SYSTEM_NAMESPACE).to_owned())
        }
        _ => return Vec::new(),
    };
    let rules = object["rules"].as_array().into_iter().flatten();
    rules.flat_map(|rule| of_rule(rule, namespace.as_deref())).collect()
}

fn of_rule(rule: &Value, namespace: Option<&str>) -> Vec<Right> {
    let names = match texts(&rule["resourceNames"]) {
        names if names.is_empty() => vec![None],
        names => names.into_iter().map(Some).collect(),
    };
    let mut rights = Vec::new();
    for group in texts(&rule["apiGroups"]) {
        for resource in texts(&rule["resources"]) {
            let (resource, subresource) = match resource.split_once('/') {
                Some((resource, subresource)) => {
                    (resource.to_owned(), Some(subresource.to_owned()))
                }
                None => (resource, None),
            };
            for verb in texts(&rule["verbs"]) {
                rights.extend(names.iter().map(|name| Right {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    subresource: subresource.clone(),
                    namespace: namespace.map(str::to_owned),
                    name: name.clone(),
                }));
            }
        }
    }
    rights
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    all.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_rights() {
        for file in [
            HUB,
            HUB_STANDARD,
            MEMBER,
            MEMBER_STANDARD,
            MEMBER_TRAFFIC,
            ON_HUB,
            ON_HUB_STANDARD,
            ON_HUB_OFFLOAD,
            ON_HUB_REACH,
        ] {
            let rights = of(file);
            assert!(rights.len() > 2, "{rights:?}");
            assert!(rights.iter().all(|it| !it.verb.contains('*') && !it.resource.is_empty()));
        }
    }

    #[test]
    fn a_member_has_rights_on_the_hub_for_what_its_agent_does() {
        let of = |features: &[Feature], is_of_chart| -> Vec<String> {
            let features = features.iter().copied().collect();
            on_hub("west", &features, is_of_chart).iter().map(ToString::to_string).collect()
        };
        let plain = of(&[], true);
        let own = "patch endpointsliceimports.networking.fleet.azure.com in fleet-member-west";
        assert!(plain.contains(&own.to_owned()), "{plain:?}");
        let token = "create serviceaccounts/token member-agent in fleet-member-west".to_owned();
        assert!(plain.contains(&token) && !of(&[], false).contains(&token));
        for (feature, right) in [
            (Feature::Lease, "update leases.coordination.k8s.io fleet-member in fleet-member-west"),
            (Feature::Traffic, "watch membertraffics.traffic.networking.fleet.azure.com"),
            (
                Feature::Standard,
                "delete exportedservices.multicluster.networking.fleet.azure.com in fleet-member-west",
            ),
            (
                Feature::Offload,
                "patch podimports/status.offload.networking.fleet.azure.com in fleet-member-west",
            ),
            (
                Feature::Reachability,
                "update reachreports.multicluster.networking.fleet.azure.com west in fleet-member-west",
            ),
        ] {
            assert!(!plain.contains(&right.to_owned()), "{feature:?}");
            let found = of(&[feature], true);
            assert!(found.contains(&right.to_owned()), "{feature:?}: {found:?}");
        }
    }

    #[test]
    fn a_rule_is_taken_apart() {
        let file = "kind: ServiceAccount\n---\nkind: Role\nmetadata: {namespace: ns}\nrules:\n- apiGroups: [a.b]\n  resources: \
                    [x/status, z]\n  resourceNames: [one]\n  verbs: [get]\n---\nkind: ClusterRole\nrules:\n- apiGroups: ['']\n  \
                    resources: [nodes]\n  verbs: [list, list]\n";
        let shown: Vec<_> = of(file).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["get x/status.a.b one in ns", "get z.a.b one in ns", "list nodes"]);
    }

    #[test]
    fn a_right_is_looked_for_where_the_agent_works() {
        let right = |resource: &str, namespace: Option<&str>| Right {
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            ..Right::default()
        };
        let placed = |right: Right| right.placed("net", "locks").namespace;
        assert_eq!(placed(right("services", Some(SYSTEM_NAMESPACE))).as_deref(), Some("net"));
        assert_eq!(placed(right("leases", Some(SYSTEM_NAMESPACE))).as_deref(), Some("locks"));
        assert_eq!(
            placed(right("leases", Some("kube-node-lease"))).as_deref(),
            Some("kube-node-lease")
        );
        assert_eq!(placed(right("nodes", None)), None);
    }
}
