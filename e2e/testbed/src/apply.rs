//! Setting up objects the way `kubectl apply --server-side` does: repeatable, on new and on existing clusters.

use anyhow::{Context, Result};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::Value;

use crate::wait::{TAKEN_UP, wait_for};

const MANAGER: &str = "fleet-testbed";

/// Applies one manifest. A kind whose CRD was made a moment ago may not be served yet; that is waited for.
pub async fn apply(client: &Client, manifest: Value) -> Result<()> {
    let object: DynamicObject =
        serde_json::from_value(manifest).context("the manifest is no Kubernetes object")?;
    let types = object.types.clone().context("the manifest has no kind")?;
    let kind = GroupVersionKind::try_from(&types)?;
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object.metadata.name.clone().context("the manifest has no name")?;
    let what = format!("{} {name} applied", kind.kind);
    let params = PatchParams::apply(MANAGER).force();
    wait_for(&what, TAKEN_UP, async || {
        match api.patch(&name, &params, &Patch::Apply(&object)).await {
            Ok(_) => Ok(Some(())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
    .await
}
