//! What users do in their cluster, and what they see there.

use anyhow::Result;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{api, find};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::SHOP;

/// Exports a Service with an object of this version of the API.
pub(crate) async fn export(
    member: &Cluster,
    version: &'static str,
    name: &str,
    spec: &Value,
) -> Result<()> {
    create(member, ResourceKind { version, ..kinds::MCS_SERVICE_EXPORT }, name, spec).await
}

/// Makes a Service.
pub(crate) async fn service(member: &Cluster, name: &str, spec: &Value) -> Result<()> {
    create(member, kinds::SERVICE, name, spec).await
}

async fn create(member: &Cluster, kind: ResourceKind, name: &str, spec: &Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": SHOP }, "spec": spec,
    }))?;
    api(member.client(), kind, Some(SHOP)).create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Status and reason of the conditions Valid, Ready and Conflict of a ServiceExport, `-` for one that is absent.
pub(crate) async fn conditions(member: &Cluster, name: &str) -> Result<[String; 3]> {
    let found = find(member, kinds::MCS_SERVICE_EXPORT, (SHOP, name)).await?;
    let status = found.map(|found| found.data["status"]["conditions"].clone()).unwrap_or_default();
    let conditions = status.as_array().cloned().unwrap_or_default();
    Ok(["Valid", "Ready", "Conflict"].map(|type_| {
        let condition = conditions.iter().find(|condition| condition["type"] == type_);
        condition.map_or_else(
            || "-".to_owned(),
            |condition| {
                let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
                format!("{} {}", text("status"), text("reason"))
            },
        )
    }))
}
