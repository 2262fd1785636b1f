//! What the stories have in common.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::agents::Agents;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::hub_ways::HubWays;
use fleet_testbed::objects::{api, find};
use fleet_testbed::played_node::{Seen, remote};
use fleet_testbed::virtual_node::{options, prepare};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ready_addresses, wait_for_default_account};
use fleet_testbed::{Testbed, apply::apply};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

pub(crate) const SHOP: &str = "shop";
pub(crate) const VIRTUAL: &str = "offload.networking.fleet.azure.com/virtual";
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Prepares the clusters and starts agents, whose ways to the hub may lead through proxies.
pub(crate) async fn begin(testbed: &Testbed, ways: Option<&HubWays>) -> Result<Agents> {
    prepare(testbed).await?;
    testbed.user_namespace(SHOP).await?;
    let members = testbed.members().iter();
    try_join_all(
        members.map(async |member| wait_for_default_account(&member.client(), SHOP).await),
    )
    .await?;
    let options = match ways {
        Some(ways) => ways.taken_by(options()),
        None => options(),
    };
    Agents::start(testbed, &options).await
}

/// Waits until a virtual node is ready, and is another one than that with a uid.
pub(crate) async fn ready_node(
    east: &Cluster,
    node: &str,
    other_than: Option<&str>,
) -> Result<Node> {
    let nodes: Api<Node> = Api::all(east.client());
    wait_for("the virtual node is ready", DEADLINE, async || {
        let Some(found) = nodes.get_opt(node).await? else { return Ok(None) };
        let conditions = found.status.as_ref().and_then(|status| status.conditions.clone());
        let ready =
            conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
        Ok((ready && found.metadata.uid.as_deref() != other_than).then_some(found))
    })
    .await
}

/// A Pod on a node, with fields of its container.
pub(crate) fn pod(node: &str, name: &str, more: &Value) -> Value {
    let mut container = json!({ "name": "web", "image": "example.com/web:1" });
    for (field, value) in more.as_object().into_iter().flatten() {
        container[field.as_str()] = value.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": SHOP },
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 1,
            "tolerations": [{ "operator": "Exists" }], "containers": [container],
        },
    })
}

/// A Deployment of a name, with fields of its Pods.
pub(crate) fn deployment(name: &str, replicas: usize, more: &Value) -> Value {
    let labels = json!({ "app": name });
    let mut spec = json!({
        "terminationGracePeriodSeconds": 2,
        "containers": [{
            "name": "web", "image": "example.com/web:1", "ports": [{ "containerPort": 8080 }],
            "resources": { "limits": { "cpu": "100m", "memory": "64Mi" } },
        }],
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field.as_str()] = value.clone();
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": SHOP },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": spec },
        },
    })
}

/// A Service of the Deployment of its name.
pub(crate) async fn serve(east: &Cluster, name: &str) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": SHOP },
        "spec": {
            "selector": { "app": name },
            "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }],
        },
    });
    apply(&east.client(), service).await
}

/// Addresses of a Service that get traffic.
pub(crate) async fn addresses(east: &Cluster, service: &str) -> Result<BTreeSet<String>> {
    let slices: Api<EndpointSlice> = Api::namespaced(east.client(), SHOP);
    let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
    Ok(ready_addresses(&slices.list(&of_service).await?.items))
}

/// The Pods of a Deployment.
pub(crate) async fn pods_of(east: &Cluster, deployment: &str) -> Result<Vec<Pod>> {
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    Ok(pods.list(&ListParams::default().labels(&format!("app={deployment}"))).await?.items)
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Waits until a Pod is ready.
pub(crate) async fn runs(east: &Cluster, name: &str, deadline: Duration) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    wait_until(&format!("Pod {name} is ready"), deadline, async || {
        let pod = pods.get_opt(name).await?.context("the Pod")?;
        ensure!(is_ready(&pod), "its status: {}", json!(pod.status));
        Ok(true)
    })
    .await
}

/// Uids of Pods.
pub(crate) fn uids(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().filter_map(|pod| pod.metadata.uid.clone()).collect()
}

/// Uids of the Pods that a cluster runs for others.
pub(crate) async fn remote_uids(west: &Cluster) -> Result<BTreeSet<String>> {
    Ok(uids(&remote(&west.client()).await?))
}

/// How many objects of a kind there are.
pub(crate) async fn count(cluster: &Cluster, kind: ResourceKind) -> Result<usize> {
    Ok(api(cluster.client(), kind, None).list(&ListParams::default()).await?.items.len())
}

/// The status of a Pod.
pub(crate) async fn status(east: &Cluster, name: &str) -> Result<Value> {
    let found = find(east, kinds::POD, (SHOP, name)).await?;
    Ok(found.map(|pod| pod.data["status"].clone()).unwrap_or_default())
}

/// No Pod ever had two remote ones.
pub(crate) fn never_two(seen: Seen) -> Result<()> {
    for (uid, remote) in seen {
        ensure!(remote.len() == 1, "Pod {uid} had more than one remote Pod: {remote:?}");
    }
    Ok(())
}
