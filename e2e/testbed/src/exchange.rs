//! What a user does to carry a Service from one member to another, and what they can see of it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds, labels};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::json;

use crate::cluster::Cluster;
use crate::objects::{api, remove};
use crate::wait::{wait_for, wait_until};
use crate::workload::ready_addresses;

/// Exports a Service: makes a ServiceExport of its name.
pub async fn export(cluster: &Cluster, namespace: &str, service: &str) -> Result<()> {
    create(cluster, kinds::SERVICE_EXPORT, namespace, service, json!({})).await
}

/// Withdraws a Service: deletes its ServiceExport, and does not wait for the effect.
pub async fn unexport(cluster: &Cluster, namespace: &str, service: &str) -> Result<()> {
    remove(cluster, kinds::SERVICE_EXPORT, (namespace, service)).await
}

/// Imports the Service `service` of the fleet under the MultiClusterService `name`.
pub async fn import(cluster: &Cluster, namespace: &str, name: &str, service: &str) -> Result<()> {
    let spec = json!({ "spec": { "serviceImport": { "name": service } } });
    create(cluster, kinds::MULTI_CLUSTER_SERVICE, namespace, name, spec).await
}

/// Ends an import: deletes the MultiClusterService, and does not wait for the effect.
pub async fn unimport(cluster: &Cluster, namespace: &str, name: &str) -> Result<()> {
    remove(cluster, kinds::MULTI_CLUSTER_SERVICE, (namespace, name)).await
}

/// Name of the derived Service that a MultiClusterService is bound to, if it is.
pub async fn derived_service(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
) -> Result<Option<String>> {
    let api = api(cluster.client(), kinds::MULTI_CLUSTER_SERVICE, Some(namespace));
    let labels = api.get_opt(name).await?.and_then(|mcs| mcs.metadata.labels);
    Ok(labels.and_then(|mut labels| labels.remove(labels::DERIVED_SERVICE)))
}

/// The slices bound to a derived Service.
pub async fn imported_slices(
    cluster: &Cluster,
    derived_service: &str,
) -> Result<Vec<EndpointSlice>> {
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), SYSTEM_NAMESPACE);
    let of_service = format!("{}={derived_service}", labels::SERVICE_NAME);
    Ok(slices.list(&ListParams::default().labels(&of_service)).await?.items)
}

/// Addresses that take traffic behind a MultiClusterService; empty while it is bound to nothing.
pub async fn imported_addresses(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
) -> Result<BTreeSet<String>> {
    match derived_service(cluster, namespace, name).await? {
        Some(service) => Ok(ready_addresses(&imported_slices(cluster, &service).await?)),
        None => Ok(BTreeSet::new()),
    }
}

/// Waits until exactly these addresses take traffic behind a MultiClusterService.
pub async fn wait_imported(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    wanted: &BTreeSet<String>,
    deadline: Duration,
) -> Result<()> {
    let mut seen = BTreeSet::new();
    let what = format!("{namespace}/{name} on {} serves {wanted:?}", cluster.name());
    let result = wait_until(&what, deadline, async || {
        seen = imported_addresses(cluster, namespace, name).await?;
        Ok(seen == *wanted)
    })
    .await;
    result.with_context(|| format!("it serves {seen:?}"))
}

/// Status of a condition, for example `True`; `None` if the object or the condition does not exist.
pub async fn condition(
    cluster: &Cluster,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
    condition: &str,
) -> Result<Option<String>> {
    let object = api(cluster.client(), kind, Some(namespace)).get_opt(name).await?;
    Ok(object.and_then(|object| condition_of(&object, condition)))
}

/// Waits until a condition has a status.
pub async fn wait_condition(
    cluster: &Cluster,
    kind: ResourceKind,
    (namespace, name): (&str, &str),
    (type_, status): (&str, &str),
    deadline: Duration,
) -> Result<()> {
    let what =
        format!("{} {namespace}/{name} on {} has {type_}={status}", kind.kind, cluster.name());
    wait_until(&what, deadline, async || {
        let now = condition(cluster, kind, namespace, name, type_).await?;
        Ok(now.as_deref() == Some(status))
    })
    .await
}

/// Waits until an object is there and returns it.
pub async fn wait_exists(
    cluster: &Cluster,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
    deadline: Duration,
) -> Result<DynamicObject> {
    let api = api(cluster.client(), kind, Some(namespace));
    let what = format!("{} {namespace}/{name} on {} exists", kind.kind, cluster.name());
    wait_for(&what, deadline, async || Ok(api.get_opt(name).await?)).await
}

/// Waits until an object is gone.
pub async fn wait_gone(
    cluster: &Cluster,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
    deadline: Duration,
) -> Result<()> {
    let api = api(cluster.client(), kind, Some(namespace));
    let what = format!("{} {namespace}/{name} on {} is gone", kind.kind, cluster.name());
    wait_until(&what, deadline, async || Ok(api.get_opt(name).await?.is_none())).await
}

fn condition_of(object: &DynamicObject, type_: &str) -> Option<String> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == type_)?;
    found["status"].as_str().map(str::to_owned)
}

async fn create(
    cluster: &Cluster,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
    mut object: serde_json::Value,
) -> Result<()> {
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    object["metadata"] = json!({ "namespace": namespace, "name": name });
    let object: DynamicObject = serde_json::from_value(object)?;
    api(cluster.client(), kind, Some(namespace))
        .create(&PostParams::default(), &object)
        .await
        .with_context(|| format!("make the {} {namespace}/{name}", kind.kind))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_found_by_type() {
        let object: DynamicObject = serde_json::from_value(json!({
            "metadata": {},
            "status": { "conditions": [
                { "type": "Conflict", "status": "False" }, { "type": "Valid", "status": "True" },
            ] },
        }))
        .unwrap();
        assert_eq!(condition_of(&object, "Valid").as_deref(), Some("True"));
        assert_eq!(condition_of(&object, "Joined"), None);
    }
}
