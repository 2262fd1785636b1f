//! The parts of a fleet that a hub may be without. Pure.

use fleet_api::names::{MEMBER_LEASE, SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use serde_json::{Value, json};

use crate::member_objects::{File, MEMBER, chart_file};
use crate::rbac::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING};

/// What a member needs for one part.
pub(super) struct Part {
    /// What a member cannot do without it.
    pub(super) purpose: &'static str,
    /// What the hub's chart does for a member; see [`Self::by_chart`].
    by_chart: &'static str,
    pub(super) offer: Offer,
    /// The one of its rights by which it is known whether a member has them.
    pub(super) right: Template,
    pub(super) rights: File,
    /// How many objects it may create by them, of which kinds.
    pub(super) quota: Option<(File, &'static [ResourceKind])>,
    pub(super) left: Option<Left>,
}

/// By what it is known that a hub has a part.
pub(super) enum Offer {
    /// It serves a kind.
    Kind(ResourceKind),
    /// It has something that all members are bound to: kind, namespace and name.
    Right(ResourceKind, Option<&'static str>, &'static str),
}

/// An object of each member, in its namespace if the kind has one; the name may have the placeholder of the member's.
#[derive(Clone, Copy)]
pub(super) struct Template(ResourceKind, &'static str);

/// What of a part goes when a member leaves, beside its rights.
pub(super) struct Left {
    pub(super) object: Template,
    /// Administrators may have made it for a member that has no rights; it is looked for.
    pub(super) by_administrators: bool,
}

/// An object of a member.
pub(super) struct Named {
    pub(super) kind: ResourceKind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

pub(super) const PARTS: [Part; 5] = [
    Part {
        purpose: "use multicluster.x-k8s.io",
        by_chart: "makes the rights of ${MEMBER} for multicluster.x-k8s.io",
        offer: Offer::Right(ROLE, Some(SYSTEM_NAMESPACE), "fleet-multicluster-reader"),
        right: Template(ROLE, "fleet-multicluster"),
        rights: chart_file!("multicluster-member-rbac.yaml"),
        quota: Some((chart_file!("multicluster-member-quota.yaml"), &[kinds::EXPORTED_SERVICE])),
        left: None,
    },
    Part {
        purpose: "renew a Lease on the hub",
        by_chart: "lets ${MEMBER} renew its Lease",
        offer: Offer::Right(CLUSTER_ROLE, None, "fleet-member-lease"),
        right: Template(ROLE_BINDING, "fleet-member-lease"),
        rights: chart_file!("lease-member-rbac.yaml"),
        quota: Some((chart_file!("lease-member-quota.yaml"), &[kinds::LEASE])),
        // Without it the member does not count as silent.
        left: Some(Left { object: Template(kinds::LEASE, MEMBER_LEASE), by_administrators: false }),
    },
    Part {
        purpose: "take part in offloading",
        by_chart: "makes the rights of ${MEMBER} for offloading",
        offer: Offer::Kind(kinds::POD_EXPORT),
        right: Template(ROLE, "fleet-offload"),
        rights: chart_file!("offload-member-rbac.yaml"),
        quota: Some((
            chart_file!("offload-member-quota.yaml"),
            &[kinds::POD_EXPORT, kinds::OFFLOAD_OFFER],
        )),
        left: None,
    },
    Part {
        purpose: "read what is decided about traffic",
        by_chart: "lets ${MEMBER} read what is decided about traffic",
        offer: Offer::Right(CLUSTER_ROLE, None, "fleet-traffic-reader"),
        right: Template(CLUSTER_ROLE_BINDING, "fleet-traffic-reader-${MEMBER}"),
        rights: chart_file!("traffic-member-rbac.yaml"),
        quota: None,
        left: Some(Left {
            object: Template(kinds::MEMBER_TRAFFIC, MEMBER),
            by_administrators: true,
        }),
    },
    Part {
        purpose: "report what it reaches",
        by_chart: "lets ${MEMBER} report what it reaches",
        offer: Offer::Kind(kinds::REACH_REPORT),
        right: Template(ROLE, "fleet-reach"),
        rights: chart_file!("reach-member-rbac.yaml"),
        quota: None,
        left: Some(Left {
            object: Template(kinds::REACH_REPORT, MEMBER),
            by_administrators: false,
        }),
    },
];

impl Part {
    /// What the hub's chart does for a member.
    pub(super) fn by_chart(&self, member: &str) -> String {
        self.by_chart.replace(MEMBER, member)
    }
}

impl Template {
    pub(super) fn of(self, member: &str) -> Named {
        let Self(kind, name) = self;
        let namespace = kind.namespaced.then(|| member_namespace(member));
        Named { kind, namespace, name: name.replace(MEMBER, member) }
    }
}

impl Named {
    pub(super) fn manifest(&self) -> Value {
        let metadata = match &self.namespace {
            Some(namespace) => json!({ "name": self.name, "namespace": namespace }),
            None => json!({ "name": self.name }),
        };
        json!({ "apiVersion": self.kind.api_version(), "kind": self.kind.kind, "metadata": metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::kind_of;
    use crate::member_objects::{documents, title};

    fn part(purpose: &str) -> (Vec<Value>, Vec<Value>) {
        let part = PARTS.iter().find(|part| part.purpose == purpose).unwrap();
        let quota = part.quota.map(|(quota, _)| documents(quota, "east").unwrap());
        (documents(part.rights, "east").unwrap(), quota.unwrap_or_default())
    }

    fn titles(objects: &[Value]) -> Vec<String> {
        objects.iter().map(title).collect()
    }

    fn all_lie_in_its_namespace<'a>(objects: impl IntoIterator<Item = &'a Value>) {
        for object in objects {
            assert_eq!(object["metadata"]["namespace"], "fleet-member-east", "{object}");
        }
    }

    /// The right by which a part is known is one of those that are made.
    #[test]
    fn each_part_is_known_by_one_of_its_rights() {
        for part in &PARTS {
            let known = part.right.of("east").manifest();
            let rights = documents(part.rights, "east").unwrap();
            let is_it = |object: &Value| {
                ["apiVersion", "kind"].iter().all(|field| object[*field] == known[*field])
                    && ["name", "namespace"]
                        .iter()
                        .all(|field| object["metadata"][*field] == known["metadata"][*field])
            };
            assert!(rights.iter().any(is_it), "{}: {known}", part.purpose);
        }
    }

    #[test]
    fn all_that_a_member_gets_can_be_deleted() {
        for part in &PARTS {
            let rights = documents(part.rights, "east").unwrap();
            let quota = part.quota.map(|(quota, _)| documents(quota, "east").unwrap());
            let left = part.left.iter().map(|left| left.object.of("east").manifest());
            for object in rights.into_iter().chain(quota.into_iter().flatten()).chain(left) {
                let kind = kind_of(&object).unwrap();
                assert_eq!(object["apiVersion"], kind.api_version(), "{object}");
            }
        }
    }

    /// A kind that is created and not counted would have no bound.
    #[test]
    fn a_quota_counts_the_kinds_that_it_limits() {
        for (quota, counted) in PARTS.iter().filter_map(|part| part.quota) {
            let [quota] = &documents(quota, "east").unwrap()[..] else { panic!("{}", quota.name) };
            let hard = quota["spec"]["hard"].as_object().unwrap();
            let counted =
                counted.iter().map(|kind| format!("count/{}.{}", kind.plural, kind.group));
            let counted = counted.collect::<std::collections::BTreeSet<_>>();
            assert_eq!(hard.keys().cloned().collect::<std::collections::BTreeSet<_>>(), counted);
        }
    }

    /// Outside of its namespace a member is bound to what all members read, and to nothing else.
    #[test]
    fn a_member_reads_what_all_members_read() {
        let (rights, quota) = part("use multicluster.x-k8s.io");
        assert_eq!(
            titles(&rights),
            [
                "Role fleet-multicluster",
                "RoleBinding fleet-multicluster",
                "RoleBinding fleet-multicluster-reader-east",
                "ClusterRoleBinding fleet-multicluster-reader-east"
            ]
        );
        for binding in rights.iter().filter(|object| object.get("subjects").is_some()) {
            let subjects = json!([{
                "kind": "ServiceAccount", "name": "member-agent", "namespace": "fleet-member-east",
            }]);
            assert_eq!(binding["subjects"], subjects, "{binding}");
        }
        for elsewhere in &rights[2..] {
            assert_eq!(elsewhere["roleRef"]["name"], "fleet-multicluster-reader");
        }
        all_lie_in_its_namespace(rights[..2].iter().chain(&quota));
    }

    #[test]
    fn pods_of_a_member_are_read_by_nobody_else() {
        let (rights, quota) = part("take part in offloading");
        assert_eq!(titles(&rights), ["Role fleet-offload", "RoleBinding fleet-offload"]);
        all_lie_in_its_namespace(rights.iter().chain(&quota));
    }

    #[test]
    fn the_lease_of_a_member_lies_in_its_namespace() {
        let (rights, quota) = part("renew a Lease on the hub");
        let lease = Template(kinds::LEASE, MEMBER_LEASE).of("east").manifest();
        all_lie_in_its_namespace(rights.iter().chain(&quota).chain([&lease]));
        assert_eq!(
            (&rights[0]["metadata"]["name"], &rights[0]["roleRef"]["name"]),
            (&json!("fleet-member-lease"), &json!("fleet-member-lease"))
        );
    }

    #[test]
    fn what_is_decided_about_traffic_is_read_by_one_member() {
        let (rights, _) = part("read what is decided about traffic");
        let [right] = &rights[..] else { panic!("{rights:?}") };
        assert_eq!(title(right), "ClusterRoleBinding fleet-traffic-reader-east");
        assert_eq!(right["roleRef"]["name"], "fleet-traffic-reader");
        assert_eq!(right["subjects"][0]["namespace"], "fleet-member-east");
        let decided = Template(kinds::MEMBER_TRAFFIC, MEMBER).of("east").manifest();
        assert_eq!(title(&decided), "MemberTraffic east");
        assert_eq!(decided["metadata"].get("namespace"), None);
    }

    #[test]
    fn a_member_reports_in_its_own_namespace_under_its_own_name() {
        let (rights, _) = part("report what it reaches");
        let reported = Template(kinds::REACH_REPORT, MEMBER).of("east").manifest();
        all_lie_in_its_namespace(rights.iter().chain([&reported]));
        assert_eq!(rights[0]["rules"][0]["resourceNames"], json!(["east"]));
        let verbs = rights[0]["rules"].as_array().unwrap().iter().map(|rule| rule["verbs"].clone());
        assert_eq!(verbs.collect::<Vec<_>>(), [json!(["get", "update"]), json!(["create"])]);
    }
}
