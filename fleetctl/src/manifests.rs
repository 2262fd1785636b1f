//! Objects of a member on the hub that `join` makes and `leave` deletes.

use anyhow::{Context as _, Result};
use fleet_api::{ResourceKind, kinds};
use kube::Client;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::member_objects::{MANAGED_BY, title};
use crate::objects::{apply, delete, find};
use crate::output::report;
use crate::quotas;
use crate::rbac::{CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING};

/// The kind of the accounts of agents.
pub(crate) const ACCOUNT: ResourceKind = ResourceKind {
    group: "",
    version: "v1",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    namespaced: true,
};

/// An object that the hub's chart has made, and no other: two programs that write the same fields reject each other's changes later.
pub(crate) async fn of_chart(
    client: &Client,
    kind: ResourceKind,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<DynamicObject>> {
    let object = find(client, kind, namespace, name).await?;
    Ok(object.filter(|object| {
        let labels = object.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(MANAGED_BY.0)).is_some_and(|by| by == "Helm")
    }))
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

/// Deletes what a member that has left does not need any more, and reports it. What cannot be deleted is reported, too.
pub(crate) async fn delete_reported(client: &Client, manifests: &[Value]) {
    for object in manifests {
        match delete_manifest(client, object).await {
            Ok(true) => report(&format!("Deleted {}", title(object))),
            Ok(false) => {}
            Err(error) => report(&format!("Kept {}: {error:#}", title(object))),
        }
    }
}

/// The kind of a manifest, if it is one that a member has on the hub.
pub(crate) fn kind_of(manifest: &Value) -> Option<ResourceKind> {
    let all = [
        ACCOUNT,
        ROLE,
        ROLE_BINDING,
        CLUSTER_ROLE_BINDING,
        quotas::KIND,
        kinds::LEASE,
        kinds::REACH_REPORT,
        kinds::MEMBER_TRAFFIC,
    ];
    all.into_iter().find(|kind| manifest["kind"] == kind.kind)
}

/// Deletes what a manifest names, of the kinds of a member's rights. True if it was there.
pub(crate) async fn delete_manifest(client: &Client, manifest: &Value) -> Result<bool> {
    let text = |value: &'_ Value| value.as_str().map(str::to_owned);
    let kind =
        kind_of(manifest).with_context(|| format!("{} is unknown here", manifest["kind"]))?;
    let metadata = &manifest["metadata"];
    let name = text(&metadata["name"]).context("the manifest has no name")?;
    delete(client, kind, text(&metadata["namespace"]).as_deref(), &name).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_objects::{quota, rights};

    #[test]
    fn all_that_a_member_gets_can_be_deleted() {
        let all = [rights("east").unwrap(), vec![quota("east").unwrap()]];
        for object in all.concat() {
            let kind = kind_of(&object).unwrap();
            assert_eq!(kind.api_version(), object["apiVersion"].as_str().unwrap(), "{object}");
        }
        let report = serde_json::json!({ "kind": "ReachReport" });
        assert_eq!(kind_of(&report).unwrap().version, "v1alpha1");
        assert_eq!(kind_of(&serde_json::json!({ "kind": "Pod" })), None);
    }
}
