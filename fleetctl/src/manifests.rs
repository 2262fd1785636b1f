//! Objects of a member on the hub that `join` makes and `leave` deletes.

use anyhow::{Context as _, Result};
use fleet_api::ResourceKind;
use kube::Client;
use serde_json::Value;

use crate::member_objects::{MANAGED_BY, title};
use crate::objects::{apply, delete, find};
use crate::output::report;

/// Whether the hub's chart has made an object: two programs that write the same fields reject each other's changes later.
pub(crate) async fn is_of_chart(
    client: &Client,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
) -> Result<bool> {
    let object = find(client, kind, Some(namespace), name).await?;
    let labels = object.and_then(|object| object.metadata.labels).unwrap_or_default();
    Ok(labels.get(MANAGED_BY.0).is_some_and(|manager| manager == "Helm"))
}

/// Applies an object and reports it.
pub(crate) async fn make(client: &Client, object: &Value, dry_run: bool) -> Result<()> {
    let changed = apply(client, object, dry_run).await?;
    let done = match (changed, dry_run) {
        (true, true) => "Would create",
        (true, false) => "Applied",
        (false, true) => "Would update if it differs:",
        (false, false) => "Unchanged:",
    };
    report(&format!("{done} {}", title(object)));
    Ok(())
}

/// Deletes what a manifest names, of the kinds of a member's rights. True if it was there.
pub(crate) async fn delete_manifest(client: &Client, manifest: &Value) -> Result<bool> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let known = [
        ("ServiceAccount", "", "serviceaccounts", true),
        ("Role", RBAC, "roles", true),
        ("RoleBinding", RBAC, "rolebindings", true),
        ("ClusterRoleBinding", RBAC, "clusterrolebindings", false),
        ("ResourceQuota", "", "resourcequotas", true),
        ("Lease", "coordination.k8s.io", "leases", true),
    ];
    let text = |value: &'_ Value| value.as_str().map(str::to_owned);
    let found = known.into_iter().find(|(kind, ..)| manifest["kind"] == *kind);
    let (kind, group, plural, namespaced) =
        found.with_context(|| format!("{} is unknown here", manifest["kind"]))?;
    let kind = ResourceKind { group, version: "v1", kind, plural, namespaced };
    let metadata = &manifest["metadata"];
    let name = text(&metadata["name"]).context("the manifest has no name")?;
    delete(client, kind, text(&metadata["namespace"]).as_deref(), &name).await
}
