//! What a member needs on the hub for the API of multicluster.x-k8s.io, where the hub agent serves it. A member can do without.

use anyhow::Result;
use fleet_api::ResourceKind;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use kube::Client;
use serde_json::Value;

use crate::manifests::{delete_manifest, is_of_chart, make};
use crate::member_objects::{standard_quota, standard_rights, title};
use crate::objects::find;
use crate::output::report;
use crate::quotas;

/// Role of what all members read. The hub has it where the hub agent serves the API.
const READER: &str = "fleet-multicluster-reader";
/// Role of a member in its own namespace.
const OWN: &str = "fleet-multicluster";
/// The kind of both.
const ROLE: ResourceKind = ResourceKind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "Role",
    plural: "roles",
    namespaced: true,
};

/// Grants a member the rights, if the hub serves the API.
pub(crate) async fn grant(hub: &Client, member: &str, dry_run: bool) {
    if let Err(error) = try_grant(hub, member, dry_run).await {
        report(&format!("{member} cannot use multicluster.x-k8s.io: {error:#}"));
    }
}

async fn try_grant(hub: &Client, member: &str, dry_run: bool) -> Result<()> {
    if find(hub, ROLE, Some(SYSTEM_NAMESPACE), READER).await?.is_none() {
        return Ok(());
    }
    if is_of_chart(hub, ROLE, &member_namespace(member), OWN).await? {
        report(&format!(
            "Unchanged: the hub's chart makes the rights of {member} for multicluster.x-k8s.io"
        ));
        return Ok(());
    }
    for object in standard_rights(member)? {
        make(hub, &object, dry_run).await?;
    }
    quotas::limit_standard(hub, member, dry_run).await;
    Ok(())
}

/// What [`revoke`] would delete.
///
/// # Errors
/// If the hub does not answer.
pub(crate) async fn granted(hub: &Client, member: &str) -> Result<Vec<Value>> {
    if find(hub, ROLE, Some(&member_namespace(member)), OWN).await?.is_none() {
        return Ok(Vec::new());
    }
    let rights = standard_rights(member)?.into_iter().rev();
    Ok(rights.chain([standard_quota(member)?]).collect())
}

/// Takes the rights of a member that has left: another cluster may have its name from now on. What cannot be deleted is reported.
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
