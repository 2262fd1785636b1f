//! The standard API of SIG Multicluster in a fleet: what clusters need before their agents can serve it, and what its users
//! do.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_api::{annotations, kinds, labels};
use futures::future::try_join_all;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::objects::{api, find, remove};
use crate::workload::ready_addresses;
use crate::{crds, policies, rbac};

/// The variable of agents that switches the API on.
pub const MODE: &str = "MULTICLUSTER";
/// The variable with the time for which the hub must have been watched before what it lacks is removed.
pub const SETTLE: &str = "MULTICLUSTER_SETTLE";

/// Definitions, rights and strict policies of a fleet that serves the API, as the charts bring them.
pub async fn prepare(fleet: &Fleet) -> Result<()> {
    let hub = fleet.hub();
    prepare_hub(hub).await?;
    try_join_all(fleet.members().iter().map(|member| prepare_member(hub, member))).await?;
    policies::install_multicluster_strict(hub, fleet.member(0).name()).await
}

/// Definitions and rights of a hub that serves the API.
pub async fn prepare_hub(hub: &Cluster) -> Result<()> {
    crds::install(&hub.client(), &crds::load(&crds::MULTICLUSTER)?).await?;
    rbac::hub_multicluster().apply(&hub.client()).await
}

async fn prepare_member(hub: &Cluster, member: &Cluster) -> Result<()> {
    crds::install(&member.client(), &crds::load(&crds::STANDARD)?).await?;
    rbac::member_multicluster().apply(&member.client()).await?;
    rbac::multicluster_on_hub(member.name()).apply(&hub.client()).await?;
    policies::install_multicluster_member(member).await
}

/// Exports a Service: makes a ServiceExport of its name, with this specification.
pub async fn export_with(
    cluster: &Cluster,
    (namespace, service): (&str, &str),
    spec: &Value,
) -> Result<()> {
    let kind = kinds::MCS_SERVICE_EXPORT;
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": service, "namespace": namespace }, "spec": spec,
    }))?;
    let all = api(cluster.client(), kind, Some(namespace));
    let created = all.create(&PostParams::default(), &object).await;
    created.with_context(|| format!("export {namespace}/{service}"))?;
    Ok(())
}

/// The same as most users do it.
pub async fn export(cluster: &Cluster, namespace: &str, service: &str) -> Result<()> {
    export_with(cluster, (namespace, service), &json!({})).await
}

/// Withdraws a Service: deletes its ServiceExport, and does not wait for the effect.
pub async fn unexport(cluster: &Cluster, namespace: &str, service: &str) -> Result<()> {
    remove(cluster, kinds::MCS_SERVICE_EXPORT, (namespace, service)).await
}

/// Name of the derived Service of an import, if the Service is imported.
pub async fn derived_service(
    cluster: &Cluster,
    namespace: &str,
    service: &str,
) -> Result<Option<String>> {
    let import = find(cluster, kinds::MCS_SERVICE_IMPORT, (namespace, service)).await?;
    let annotations = import.and_then(|import| import.metadata.annotations);
    Ok(annotations.and_then(|mut all| all.remove(annotations::MULTICLUSTER_DERIVED_SERVICE)))
}

/// Addresses that take traffic behind an import; empty while there is none.
pub async fn imported_addresses(
    cluster: &Cluster,
    namespace: &str,
    service: &str,
) -> Result<BTreeSet<String>> {
    let Some(derived) = derived_service(cluster, namespace, service).await? else {
        return Ok(BTreeSet::new());
    };
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), namespace);
    let of_service = format!("{}={derived}", labels::SERVICE_NAME);
    let slices = slices.list(&ListParams::default().labels(&of_service)).await?.items;
    Ok(ready_addresses(&slices))
}
