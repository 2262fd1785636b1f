//! A Service whose Pods run in another member, exported and imported in two others; and an executor that takes a Pod back.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{derived_service, export, import, imported_slices, wait_imported};
use fleet_testbed::played_node::{PlayedNode, remote};
use fleet_testbed::virtual_node::{agree, node_of, offer};
use fleet_testbed::wait::wait_for;
use fleet_testbed::{Testbed, apply::apply};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::api::{EvictParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::parts::{
    DEADLINE, SHOP, VIRTUAL, begin, deployment, is_ready, never_two, pods_of, serve, uids,
};

const PODS: usize = 3;

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let agents = begin(testbed, None).await?;
    let (east, west, north) = (testbed.member(0), testbed.member(1), testbed.member(2));
    agree(east, west, offer(east, SHOP, &json!({}))).await?;
    let node = PlayedNode::for_others(west.client());
    let spec = json!({
        "nodeName": node_of(west), "tolerations": [{ "key": VIRTUAL, "operator": "Exists" }],
    });
    serve(east, "web").await?;
    apply(&east.client(), deployment("web", PODS, &spec)).await?;
    let addresses = ready_addresses(east, &BTreeSet::new()).await?;

    export(east, SHOP, "web").await?;
    for importer in [west, north] {
        import(importer, SHOP, "web", "web").await?;
    }
    each_once(&[west, north], &addresses).await?;
    let evicted = a_pod_that_is_evicted_fails_and_is_replaced(east, west).await?;
    let addresses = ready_addresses(east, &evicted).await?;
    each_once(&[west, north], &addresses).await?;

    never_two(node.end().await?)?;
    drop(agents);
    Ok(())
}

/// The addresses of the Pods, once all of them are ready and none is one of those.
async fn ready_addresses(
    east: &Cluster,
    other_than: &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    wait_for("the Pods of the Deployment are ready", DEADLINE, async || {
        let pods = pods_of(east, "web").await?;
        let ready = pods.iter().filter(|pod| is_ready(pod));
        let ready = ready.filter_map(|pod| pod.status.as_ref()?.pod_ip.clone());
        let addresses: BTreeSet<_> = ready.collect();
        Ok((addresses.len() == PODS && addresses.is_disjoint(other_than)).then_some(addresses))
    })
    .await
}

/// Test 30: in each importer each address is there once.
async fn each_once(importers: &[&Cluster], addresses: &BTreeSet<String>) -> Result<()> {
    for importer in importers {
        wait_imported(importer, SHOP, "web", addresses, DEADLINE).await?;
        let service = derived_service(importer, SHOP, "web").await?.context("it is bound")?;
        let slices = imported_slices(importer, &service).await?;
        let endpoints = slices.iter().flat_map(|slice| &slice.endpoints);
        let all: Vec<_> = endpoints.flat_map(|endpoint| endpoint.addresses.clone()).collect();
        ensure!(all.len() == addresses.len(), "{}: {all:?}", importer.name());
    }
    Ok(())
}

/// Test 24: the executor drains a node. The Pod is held until its end was seen: it might be gone with its last status. Returns the
/// address that is gone.
async fn a_pod_that_is_evicted_fails_and_is_replaced(
    east: &Cluster,
    west: &Cluster,
) -> Result<BTreeSet<String>> {
    let before = uids(&pods_of(east, "web").await?);
    let remote = remote(&west.client()).await?.into_iter().next().context("a remote Pod")?;
    let name = remote.name_any();
    let pods: Api<Pod> =
        Api::namespaced(west.client(), &remote.namespace().context("a namespace")?);
    hold(&pods, &name, &["example.com/held"]).await?;
    pods.evict(&name, &EvictParams::default()).await?;
    wait_for("the Pod has failed", DEADLINE, async || {
        let pods = pods_of(east, "web").await?;
        let mut failed = pods.iter().filter_map(|pod| pod.status.as_ref());
        let failed = failed.find(|status| status.phase.as_deref() == Some("Failed"));
        let is_evicted = |status: &PodStatus| status.reason.as_deref() == Some("RemoteEvicted");
        ensure!(failed.is_none_or(is_evicted), "{failed:?}");
        Ok(failed.map(|_| ()))
    })
    .await?;
    hold(&pods, &name, &[]).await?;
    wait_for("another Pod is ready", DEADLINE, async || {
        let pods = pods_of(east, "web").await?;
        let new = pods
            .iter()
            .filter(|pod| !before.contains(pod.metadata.uid.as_deref().unwrap_or_default()));
        Ok((new.filter(|pod| is_ready(pod)).count() == 1).then_some(()))
    })
    .await?;
    Ok(remote.status.and_then(|status| status.pod_ip).into_iter().collect())
}

/// Gives a Pod these finalizers.
async fn hold(pods: &Api<Pod>, name: &str, finalizers: &[&str]) -> Result<()> {
    let change = json!({ "metadata": { "finalizers": finalizers } });
    pods.patch(name, &PatchParams::default(), &Patch::Merge(change)).await?;
    Ok(())
}
