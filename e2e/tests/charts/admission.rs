//! The Pods are as careful as the namespace asks them to be.

use anyhow::{Context, Result, ensure};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::pod::{NAMESPACE, spec_of};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

/// The Pod Security Standard that the namespace enforces admits the Pods, and would not admit weaker ones.
pub(crate) async fn is_admitted(cluster: &Cluster, name: &str) -> Result<()> {
    let spec = spec_of(cluster, name).await?;
    try_pod(cluster, spec.clone()).await.context("the Pod is refused")?;
    let mut weaker = spec;
    weaker.security_context = None;
    let refusal = try_pod(cluster, weaker).await.err().context("weaker Pods are admitted")?;
    ensure!(refusal.to_string().contains("violates PodSecurity"), "{refusal}");
    Ok(())
}

async fn try_pod(cluster: &Cluster, spec: PodSpec) -> Result<()> {
    let api: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
    let mut pod = Pod { spec: Some(spec), ..Pod::default() };
    pod.metadata.name = Some("admitted".to_owned());
    api.create(&PostParams { dry_run: true, ..PostParams::default() }, &pod).await?;
    Ok(())
}

/// A namespace that admits only restricted Pods.
pub(crate) fn restricted_namespace() -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": { "pod-security.kubernetes.io/enforce": "restricted" },
        },
    })
}
