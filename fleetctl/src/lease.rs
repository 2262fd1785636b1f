//! What a member needs on the hub to renew its Lease, where the hub agent follows the Leases of members. A member can do without.

use anyhow::Result;
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use kube::Client;
use serde_json::{Value, json};

use crate::manifests::{delete_manifest, is_of_chart, make};
use crate::member_objects::{lease_quota, lease_right, title};
use crate::objects::find;
use crate::output::report;
use crate::quotas;

/// Role and binding. The hub has the role where the hub agent follows Leases.
const RIGHT: &str = "fleet-member-lease";
const ROLE: ResourceKind = rights("ClusterRole", "clusterroles", false);
const BINDING: ResourceKind = rights("RoleBinding", "rolebindings", true);

const fn rights(kind: &'static str, plural: &'static str, namespaced: bool) -> ResourceKind {
    let (group, version) = ("rbac.authorization.k8s.io", "v1");
    ResourceKind { group, version, kind, plural, namespaced }
}

/// Grants a member the right, if the hub agent follows Leases.
pub(crate) async fn grant(hub: &Client, member: &str, dry_run: bool) {
    if let Err(error) = try_grant(hub, member, dry_run).await {
        report(&format!("{member} cannot renew a Lease on the hub: {error:#}"));
    }
}

async fn try_grant(hub: &Client, member: &str, dry_run: bool) -> Result<()> {
    if find(hub, ROLE, None, RIGHT).await?.is_none() {
        return Ok(());
    }
    if is_of_chart(hub, BINDING, &member_namespace(member), RIGHT).await? {
        report(&format!("Unchanged: the hub's chart lets {member} renew its Lease"));
        return Ok(());
    }
    make(hub, &lease_right(member)?, dry_run).await?;
    quotas::limit_leases(hub, member, dry_run).await;
    Ok(())
}

/// What [`revoke`] would delete.
///
/// # Errors
/// If the hub does not answer.
pub(crate) async fn granted(hub: &Client, member: &str) -> Result<Vec<Value>> {
    if find(hub, BINDING, Some(&member_namespace(member)), RIGHT).await?.is_none() {
        return Ok(Vec::new());
    }
    Ok(vec![lease_right(member)?, lease_quota(member)?, lease(member)])
}

fn lease(member: &str) -> Value {
    json!({
        "apiVersion": kinds::LEASE.api_version(), "kind": kinds::LEASE.kind,
        "metadata": { "name": MEMBER_LEASE, "namespace": member_namespace(member) },
    })
}

/// Takes the right of a member that has left, and its Lease: without it the member does not count as silent. What cannot be
/// deleted is reported.
///
/// # Errors
/// If the hub does not answer.
pub(crate) async fn revoke(hub: &Client, member: &str) -> Result<()> {
    for object in granted(hub, member).await? {
        match delete_manifest(hub, &object).await {
            Ok(true) => report(&format!("Deleted {}", title(&object))),
            Ok(false) => {}
            Err(error) => report(&format!("Kept {}: {error:#}", title(&object))),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_member_gets_lies_in_its_namespace() {
        for object in [lease_right("east").unwrap(), lease_quota("east").unwrap(), lease("east")] {
            assert_eq!(object["metadata"]["namespace"], "fleet-member-east", "{object}");
        }
        let right = lease_right("east").unwrap();
        assert_eq!(
            (&right["metadata"]["name"], &right["roleRef"]["name"]),
            (&json!(RIGHT), &json!(RIGHT))
        );
    }
}
