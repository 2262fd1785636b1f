//! Reading, applying and deleting objects of any kind.

use std::fmt::Debug;

use anyhow::{Context as _, Result, anyhow, bail};
use fleet_accumulator::one_line;
use fleet_api::ResourceKind;
pub(crate) use fleet_runtime::clients::dynamic as api;
use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Objects of one page of a list, where they are small.
pub(crate) const PAGE: u32 = 500;

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

/// The objects of a list, a page after the other: a server sends no large answer, and who takes only a part of each object holds no
/// more than a page of them. It ends after an error.
pub(crate) fn each_page<K>(
    api: Api<K>,
    params: ListParams,
) -> BoxStream<'static, kube::Result<Vec<K>>>
where
    K: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let next_page = async |(api, params): (Api<K>, Option<ListParams>)| {
        let Some(params) = params else { return Ok(None) };
        let page = api.list(&params).await?;
        let token = page.metadata.continue_.filter(|token| !token.is_empty());
        let next = token.map(|token| params.continue_token(&token));
        Ok(Some((page.items, (api, next))))
    };
    stream::try_unfold((api, Some(params)), next_page).boxed()
}

/// All objects of a kind, in all namespaces; none if the server does not serve it.
pub(crate) async fn list_all(client: &Client, kind: ResourceKind) -> Result<Vec<DynamicObject>> {
    let pages = each_page(api(client.clone(), kind, None), ListParams::default().limit(PAGE));
    match pages.try_concat().await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        all => all.map_err(|error| anyhow!("list {}: {}", kind.plural, one_line(&error))),
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
    let failed = |error| anyhow!("apply {} {name}: {}", types.kind, one_line(&error));
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
