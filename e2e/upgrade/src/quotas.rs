//! Quotas in the members' namespaces on the hub, as docs/security.md advises.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::api;
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::wait::wait_until;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use crate::members::{DEADLINE, MEMBERS, NORTH};

const NAME: &str = "few";

/// Slices that come and go are counted for a while after they are gone, longer on a busy machine.
const SPARE_SLICES: usize = 30;

/// How long a quota takes that counts kinds which its controller knows. That looks for new kinds every 30 s, and does
/// not return to quotas it has seen before.
const PATIENCE: Duration = Duration::from_secs(2);

/// Allows each member as many objects as it has, so that an upgrade that makes a second of any is rejected; and waits
/// until the objects are counted.
pub(crate) async fn limit(hub: &Cluster) -> Result<()> {
    try_join_all(MEMBERS.iter().chain([&NORTH]).map(|member| limit_one(hub, member))).await?;
    Ok(())
}

async fn limit_one(hub: &Cluster, member: &str) -> Result<()> {
    let namespace = member_namespace(member);
    let spare = [
        (kinds::INTERNAL_SERVICE_EXPORT, 0),
        (kinds::INTERNAL_SERVICE_IMPORT, 0),
        (kinds::ENDPOINT_SLICE_EXPORT, SPARE_SLICES),
        (kinds::ENDPOINT_SLICE_IMPORT, SPARE_SLICES),
    ];
    let mut limits = Vec::new();
    for (kind, spare) in spare {
        let api = api(hub.client(), kind, Some(&namespace));
        limits.push((kind, api.list(&ListParams::default()).await?.items.len() + spare));
    }
    make(hub, &namespace, &limits).await
}

/// Waits until quotas count a kind. Until then, a quota for it rejects all of them, and one that was made too early does for minutes.
pub(crate) async fn wait_known(hub: &Cluster, kind: ResourceKind) -> Result<()> {
    make(hub, NAMESPACE, &[(kind, 0)]).await?;
    let quotas: Api<ResourceQuota> = Api::namespaced(hub.client(), NAMESPACE);
    quotas.delete(NAME, &DeleteParams::default()).await?;
    Ok(())
}

/// Makes a quota, again and again until its objects are counted.
async fn make(hub: &Cluster, namespace: &str, limits: &[(ResourceKind, usize)]) -> Result<()> {
    let hard: BTreeMap<_, _> = limits
        .iter()
        .map(|(kind, limit)| (format!("count/{}.{}", kind.plural, kind.group), limit.to_string()))
        .collect();
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": { "name": NAME, "namespace": namespace }, "spec": { "hard": hard },
    });
    let quotas: Api<ResourceQuota> = Api::namespaced(hub.client(), namespace);
    let counted = async || {
        let status = quotas.get(NAME).await?.status.unwrap_or_default();
        Ok(status.used.is_some_and(|used| used.len() == limits.len()))
    };
    wait_until(&format!("the objects in {namespace} are counted"), DEADLINE, async || {
        apply(&hub.client(), quota.clone()).await?;
        let is_counted = wait_until("a quota is counted", PATIENCE, counted).await.is_ok();
        if !is_counted {
            quotas.delete(NAME, &DeleteParams::default()).await?;
        }
        Ok(is_counted)
    })
    .await
}
