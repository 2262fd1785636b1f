//! Names of the fleet: namespaces on the hub, and clusters that have one id.

use std::collections::BTreeMap;

use fleet_api::multicluster::standard::CLUSTER_ID;
use fleet_api::names::{is_dns1123_label, member_namespace, member_of_namespace};

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::list::list;
use crate::doctor::seen::{Hub, Seen};
use crate::shell::{kubectl, quoted};

/// Whether the hub has the namespaces that it needs: those of members, and those of exported Services.
pub(super) fn namespaces(_: &Seen, hub: &Hub) -> Outcome {
    let present = known(&hub.namespaces)?;
    let mut findings = Vec::new();
    for member in known(&hub.registered)? {
        let namespace = member_namespace(member);
        if present.contains(&namespace) {
            continue;
        }
        let what = format!(
            "the hub has a MemberCluster {member}, and no namespace {namespace}: the member can connect to nothing"
        );
        let advice =
            format!("if it is to join: fleetctl join {member}; otherwise delete the MemberCluster");
        findings.push(Finding::failure(what, advice));
    }
    for (namespace, count) in known(&hub.exported)? {
        if present.contains(namespace) {
            continue;
        }
        let what = format!(
            "{count} exports are of Services in the namespace {namespace}, which the hub does not have: no member can import them"
        );
        let finding = |advice: &str| Finding::failure(what.as_str(), advice);
        findings.push(if is_of_users(namespace) {
            let create = format!("{} create namespace {}", kubectl(&hub.context), quoted(namespace));
            finding("create it on the hub, empty: what the hub agent decides about these Services lies there")
                .mend(create)
        } else {
            finding("find out which member exports them: users have no such namespace")
        });
    }
    Ok(findings)
}

/// Members write the name: it may be an option to commands, the namespace of another member, or one of Kubernetes.
fn is_of_users(namespace: &str) -> bool {
    is_dns1123_label(namespace)
        && member_of_namespace(namespace).is_none()
        && !namespace.starts_with("kube-")
}

/// Whether each member is a cluster of its own, under a name of its own.
pub(super) fn ids(seen: &Seen, hub: &Hub) -> Outcome {
    let mut findings = Vec::new();
    let reports = known(&hub.reports)?.iter();
    let reported = reports.map(|it| (it.cluster_uid.as_str(), it.member.as_str()));
    for (uid, members) in shared(reported) {
        let what =
            format!("the members {} are one and the same cluster (uid {uid})", list(&members));
        let advice = format!(
            "keep one of the names, and let the others leave: fleetctl leave {}",
            members.last().unwrap_or(&"")
        );
        findings.push(Finding::failure(what, advice));
    }
    let own = seen.members.iter().filter_map(|member| Some((member, member.own.as_ref().ok()?)));
    let named = own.filter_map(|(member, own)| {
        let properties = own.properties.as_ref().ok()?;
        let id = properties.iter().find(|property| property.name == CLUSTER_ID)?;
        Some((id.value.as_str(), member.name.as_str()))
    });
    for (id, members) in shared(named) {
        let what = format!(
            "the members {} have the same ClusterProperty {CLUSTER_ID} ({id}): names of single Pods lead to one of them",
            list(&members)
        );
        let advice = format!(
            "delete the ClusterProperty {CLUSTER_ID} in the cluster that is not the member {id}: its agent creates it again"
        );
        findings.push(Finding::failure(what, advice));
    }
    Ok(findings)
}

/// Those that have an id together with others.
fn shared<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut by_id = BTreeMap::<_, Vec<_>>::new();
    for (id, member) in all.filter(|(id, _)| !id.is_empty()) {
        by_id.entry(id).or_default().push(member);
    }
    by_id.retain(|_, members| members.len() > 1);
    by_id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, unread, with_east};

    #[test]
    fn a_namespace_that_the_hub_lacks_is_created() {
        let mut world = with_east();
        assert_eq!(world.examine_hub(namespaces), []);
        world.hub().exported.as_mut().unwrap().insert("team".to_owned(), 3);
        let found = world.examine_hub(namespaces);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.starts_with("3 exports"), "{found:?}");
        assert_eq!(
            found[0].command.as_deref(),
            Some("kubectl --context hub create namespace team")
        );
        world.hub().namespaces.as_mut().unwrap().insert("team".to_owned());
        assert_eq!(world.examine_hub(namespaces), []);
        for written in ["--kubeconfig=x", "fleet-member-ghost", "kube-foo", "A"] {
            world.hub().exported = Ok([(written.to_owned(), 1)].into());
            let found = world.examine_hub(namespaces);
            assert_eq!(found[0].command, None, "{found:?}");
        }
        world.hub().exported = Ok(BTreeMap::new());
        world.hub().registered.as_mut().unwrap().insert("north".to_owned());
        let found = world.examine_hub(namespaces);
        assert!(found[0].what.contains("no namespace fleet-member-north"), "{found:?}");
        world.hub().registered = Err(unread());
        assert_eq!(world.try_examine_hub(namespaces), Err(unread()));
    }

    #[test]
    fn two_members_are_two_clusters_with_two_names() {
        let mut world = with_east();
        assert_eq!(world.examine_hub(ids), []);
        world.own().properties.as_mut().unwrap()[0].value = "east".to_owned();
        let found = world.examine_hub(ids);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("cluster.clusterset.k8s.io (east)"), "{found:?}");
        world.report().cluster_uid = "east-uid".to_owned();
        let found = world.examine_hub(ids);
        assert_eq!(levels(&found), ["failure", "failure"]);
        assert!(found[0].what.contains("west, east are one and the same cluster"), "{found:?}");
    }
}
