//! Reading, applying and deleting objects of any kind.

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::ResourceKind;
pub(crate) use fleet_runtime::clients::dynamic as api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::Value;

/// Field manager of the objects that are applied here.
const MANAGER: &str = "fleetctl";

/// An object, if it exists; `None` also if the server does not serve its kind.
pub(crate) async fn find(
    client: &Client,
    kind: ResourceKind,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<DynamicObject>> {
    match api(client.clone(), kind, namespace).get(name).await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => bail!("read {} {name}: {}", kind.kind, one_line(&error)),
    }
}

/// Whether the server serves a kind. Discovery is some seconds behind a chart that was just installed, so this lists the
/// kind itself. If that is forbidden, the kind is served, and the next request reports the missing right.
pub(crate) async fn is_served(client: &Client, kind: ResourceKind) -> Result<bool> {
    match api(client.clone(), kind, None).list(&ListParams::default().limit(1)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(true),
        Err(error) => bail!("list {}: {}", kind.plural, one_line(&error)),
    }
}

/// All objects of a kind, in all namespaces; none if the server does not serve it.
pub(crate) async fn list_all(client: &Client, kind: ResourceKind) -> Result<Vec<DynamicObject>> {
    match api(client.clone(), kind, None).list(&ListParams::default()).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => bail!("list {}: {}", kind.plural, one_line(&error)),
    }
}

/// Applies a manifest as `kubectl apply --server-side` does. True if that changed anything.
pub(crate) async fn apply(client: &Client, manifest: &Value, dry_run: bool) -> Result<bool> {
    let object: DynamicObject = serde_json::from_value(manifest.clone())?;
    let types = object.types.clone().context("the manifest has no kind")?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object.metadata.name.clone().context("the manifest has no name")?;
    let failed = |error| anyhow::anyhow!("apply {} {name}: {}", types.kind, one_line(&error));
    let before = api.get_opt(&name).await.map_err(failed)?;
    let version = |object: &DynamicObject| object.metadata.resource_version.clone();
    if dry_run {
        return Ok(before.is_none());
    }
    let params = PatchParams::apply(MANAGER).force();
    let after = api.patch(&name, &params, &Patch::Apply(&object)).await.map_err(failed)?;
    Ok(before.as_ref().and_then(version) != version(&after))
}

/// Deletes an object. True if there was one.
pub(crate) async fn delete(
    client: &Client,
    kind: ResourceKind,
    namespace: Option<&str>,
    name: &str,
) -> Result<bool> {
    match api(client.clone(), kind, namespace).delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => anyhow::bail!("delete {} {name}: {}", kind.kind, one_line(&error)),
    }
}
