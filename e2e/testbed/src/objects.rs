//! The fleet's objects in all clusters: finding them, what is left of them, printing them.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result};
use fleet_api::kinds::{self, kinds_of_hub, kinds_of_member};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, labels};
pub use fleet_runtime::clients::dynamic as api;
use futures::future::try_join_all;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::log_ends::log_ends;

/// Kinds that the member agent creates in its own namespace, and users in theirs.
const DERIVED_KINDS: [ResourceKind; 2] = [kinds::SERVICE, kinds::ENDPOINT_SLICE];

/// Reads one object, if it exists.
pub async fn find(
    cluster: &Cluster,
    kind: ResourceKind,
    (namespace, name): (&str, &str),
) -> Result<Option<DynamicObject>> {
    let object = api(cluster.client(), kind, Some(namespace)).get_opt(name).await;
    object.with_context(|| format!("read the {} {namespace}/{name}", kind.kind))
}

/// Changes one object by a merge patch, and returns what has become of it.
pub async fn edit(
    cluster: &Cluster,
    kind: ResourceKind,
    (namespace, name): (&str, &str),
    patch: Value,
) -> Result<DynamicObject> {
    api(cluster.client(), kind, Some(namespace))
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("change the {} {namespace}/{name}", kind.kind))
}

/// Deletes one object, and does not wait for its end.
pub async fn remove(
    cluster: &Cluster,
    kind: ResourceKind,
    (namespace, name): (&str, &str),
) -> Result<()> {
    api(cluster.client(), kind, Some(namespace))
        .delete(name, &DeleteParams::default())
        .await
        .with_context(|| format!("delete the {} {namespace}/{name}", kind.kind))?;
    Ok(())
}

/// One object of the fleet and the cluster it is in.
#[derive(Clone, Debug)]
pub struct Found {
    /// The cluster's name.
    pub cluster: String,
    /// Its kind.
    pub kind: ResourceKind,
    /// The object, without managed fields.
    pub object: DynamicObject,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metadata = &self.object.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        write!(f, "{}: {} {namespace}/{name}", self.cluster, self.kind.kind)?;
        if metadata.deletion_timestamp.is_some() {
            write!(
                f,
                " (deleted, held by {:?})",
                metadata.finalizers.as_deref().unwrap_or_default()
            )?;
        }
        Ok(())
    }
}

impl Found {
    /// Whether the object exists because of something in this user namespace. Imported slices of a namespace `team-a`
    /// count for `team` too.
    pub fn belongs_to(&self, namespace: &str) -> bool {
        let metadata = &self.object.metadata;
        if metadata.namespace.as_deref() == Some(namespace) {
            return true;
        }
        let label = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key));
        if label(labels::MULTI_CLUSTER_SERVICE_NAMESPACE).is_some_and(|value| value == namespace) {
            return true;
        }
        // An imported slice carries only the derived Service's name, which starts with the namespace.
        if self.kind == kinds::ENDPOINT_SLICE
            && label(labels::SERVICE_NAME)
                .and_then(|service| service.strip_prefix(namespace))
                .is_some_and(|rest| rest.starts_with('-'))
        {
            return true;
        }
        let references = ["serviceReference", "serviceImportReference", "ownerServiceReference"];
        references.iter().any(|reference| {
            self.object.data["spec"][*reference]["namespace"].as_str() == Some(namespace)
        })
    }
}

impl Fleet {
    /// Every object of the fleet in all clusters: users' exports and imports, the agents' own objects, derived Services
    /// and imported slices. Empty when everything was withdrawn.
    pub async fn leftovers(&self) -> Result<Vec<Found>> {
        let hub = list_all(self.hub(), kinds_of_hub());
        let members = self.members().iter().map(|member| list_all(member, kinds_of_member()));
        let members = try_join_all(members);
        let (mut found, members) = futures::try_join!(hub, members)?;
        found.extend(members.into_iter().flatten());
        Ok(found)
    }

    /// [`Self::leftovers`] that exist because of one user namespace.
    pub async fn leftovers_of(&self, namespace: &str) -> Result<Vec<Found>> {
        let mut found = self.leftovers().await?;
        found.retain(|one| one.belongs_to(namespace));
        Ok(found)
    }

    /// All objects of the fleet and the memberships as YAML, for reports of failures.
    pub async fn dump(&self) -> String {
        let mut text = String::new();
        let members = list_all(self.hub(), [kinds::INTERNAL_MEMBER_CLUSTER, kinds::MEMBER_CLUSTER]);
        for part in [members.await, self.leftovers().await] {
            match part {
                Ok(found) => found.iter().for_each(|one| append_yaml(&mut text, one)),
                Err(error) => {
                    let _ = writeln!(text, "# not readable: {error:#}");
                }
            }
        }
        text
    }

    /// Passes a result on; of a failure it keeps all logs and a [`Self::dump`], and names their folder in the error, with the ends of
    /// the agents' logs.
    pub async fn explain<T>(&self, result: Result<T>) -> Result<T> {
        self.explain_as("objects", result).await
    }

    /// [`Self::explain`] where several things may fail in one run: the dump is called after `what`.
    pub async fn explain_as<T>(&self, what: &str, result: Result<T>) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                let path = self.write_dump(what).await?;
                let ends = log_ends(&self.run_path().join("agents"));
                Err(error.context(format!("logs, and all objects: {}\n{ends}", path.display())))
            }
        }
    }

    async fn write_dump(&self, what: &str) -> Result<PathBuf> {
        let folder = self.run().keep_logs();
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{what}.yaml"));
        std::fs::write(&path, self.dump().await)
            .with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }
}

async fn list_all(
    cluster: &Cluster,
    wanted: impl IntoIterator<Item = ResourceKind>,
) -> Result<Vec<Found>> {
    let lists = try_join_all(wanted.into_iter().map(async |kind| {
        let namespace = DERIVED_KINDS.contains(&kind).then_some(SYSTEM_NAMESPACE);
        let list = api(cluster.client(), kind, namespace)
            .list(&ListParams::default())
            .await
            .with_context(|| format!("list {} in {}", kind.plural, cluster.name()))?;
        anyhow::Ok((kind, list))
    }))
    .await?;
    let mut found = Vec::new();
    for (kind, list) in lists {
        for mut object in list.items {
            object.metadata.managed_fields = None;
            found.push(Found { cluster: cluster.name().to_owned(), kind, object });
        }
    }
    Ok(found)
}

fn append_yaml(text: &mut String, found: &Found) {
    let value = serde_json::to_value(&found.object).unwrap_or(Value::Null);
    let yaml = serde_saphyr::to_string(&value).unwrap_or_else(|error| format!("# {error}"));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "---\n# {found}\n{yaml}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(kind: ResourceKind, object: Value) -> Found {
        let object = serde_json::from_value(object).unwrap();
        Found { cluster: "hub".to_owned(), kind, object }
    }

    #[test]
    fn objects_are_attributed_to_the_users_namespace() {
        let own = found(kinds::SERVICE_IMPORT, json!({ "metadata": { "namespace": "team" } }));
        assert!(own.belongs_to("team") && !own.belongs_to("tea"));

        let export = json!({
            "metadata": { "namespace": "fleet-member-a" },
            "spec": { "serviceReference": { "namespace": "team" } },
        });
        assert!(found(kinds::INTERNAL_SERVICE_EXPORT, export).belongs_to("team"));

        let slice = json!({
            "metadata": { "namespace": "fleet-system", "labels": { labels::SERVICE_NAME: "team-web" } },
        });
        let slice = found(kinds::ENDPOINT_SLICE, slice);
        assert!(slice.belongs_to("team") && !slice.belongs_to("tea"));
    }

    #[test]
    fn a_terminating_object_names_who_holds_it() {
        let held = found(
            kinds::SERVICE_IMPORT,
            json!({ "metadata": {
                "namespace": "team", "name": "web", "finalizers": ["x/y"],
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            } }),
        );
        assert_eq!(held.to_string(), "hub: ServiceImport team/web (deleted, held by [\"x/y\"])");
    }
}
