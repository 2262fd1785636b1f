//! One request that changes a cluster.

use anyhow::{Context, Result};
use fleet_api::ResourceKind;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// Where everything happens.
pub(crate) const NAMESPACE: &str = "churn";

/// A request, the same for every cluster.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    kind: ResourceKind,
    name: String,
    verb: Verb,
}

#[derive(Clone, Debug)]
enum Verb {
    Create(Value),
    Patch(Value),
    Status(Value),
    Delete { grace: u32 },
}

impl Change {
    pub(crate) fn create(kind: ResourceKind, name: String, object: Value) -> Self {
        Self { kind, name, verb: Verb::Create(object) }
    }

    pub(crate) fn patch(kind: ResourceKind, name: String, patch: Value) -> Self {
        Self { kind, name, verb: Verb::Patch(patch) }
    }

    pub(crate) fn status(kind: ResourceKind, name: String, status: &Value) -> Self {
        Self { kind, name, verb: Verb::Status(json!({ "status": status })) }
    }

    pub(crate) fn delete(kind: ResourceKind, name: String, grace: u32) -> Self {
        Self { kind, name, verb: Verb::Delete { grace } }
    }

    /// Sends it.
    pub(crate) async fn apply(&self, cluster: &Cluster) -> Result<()> {
        let namespace = self.kind.namespaced.then_some(NAMESPACE);
        let api = api(cluster.client(), self.kind, namespace);
        let name = self.name.as_str();
        let done = match &self.verb {
            Verb::Create(object) => {
                let mut object = object.clone();
                object["apiVersion"] = json!(self.kind.api_version());
                object["kind"] = json!(self.kind.kind);
                let object = serde_json::from_value(object)?;
                api.create(&PostParams::default(), &object).await.map(drop)
            }
            Verb::Patch(patch) => {
                api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
            }
            Verb::Status(patch) => {
                let patch = Patch::Merge(patch);
                api.patch_status(name, &PatchParams::default(), &patch).await.map(drop)
            }
            Verb::Delete { grace } => {
                let how = DeleteParams::default().grace_period(*grace);
                api.delete(name, &how).await.map(drop)
            }
        };
        done.with_context(|| format!("{}: {self:?}", cluster.name()))
    }
}

/// Sends them one after the other.
pub(crate) async fn apply_all(cluster: &Cluster, changes: &[Change]) -> Result<()> {
    for change in changes {
        change.apply(cluster).await?;
    }
    Ok(())
}
