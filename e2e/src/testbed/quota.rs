//! Limits on numbers of objects, where no controller counts them.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::ResourceKind;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::apply::apply;
use crate::objects::api;
use crate::wait::wait_until;

/// Name of the quota.
pub const FEW: &str = "few";

/// For an API server to take note of a quota.
const DEADLINE: Duration = Duration::from_secs(20);

/// Lets no more than so many objects of these kinds be made in a namespace, and waits until that is in force: until this
/// object, which is one too many, would be refused.
pub async fn limit(
    client: &Client,
    namespace: &str,
    counts: &[(ResourceKind, usize)],
    (kind, object): (ResourceKind, &Value),
) -> Result<()> {
    let of = |number: fn(usize) -> usize| -> Value {
        let counted = counts.iter().map(|(kind, count)| {
            (format!("count/{}.{}", kind.plural, kind.group), json!(number(*count).to_string()))
        });
        Value::Object(counted.collect())
    };
    let hard = of(|count| count);
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": { "name": FEW, "namespace": namespace }, "spec": { "hard": hard },
    });
    apply(client, quota).await?;
    // What the controller would say that counts what is there already.
    let status = json!({ "status": { "hard": hard, "used": of(|_| 0) } });
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), namespace);
    quotas.patch_status(FEW, &PatchParams::default(), &Patch::Merge(status)).await?;

    let api = api(client.clone(), kind, Some(namespace));
    let object = serde_json::from_value(object.clone())?;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    wait_until("the quota is in force", DEADLINE, async || {
        match api.create(&params, &object).await {
            Ok(_) => Ok(false),
            Err(kube::Error::Api(status)) if status.message.contains("exceeded quota") => Ok(true),
            Err(error) => Err(error).context("try one too many"),
        }
    })
    .await
}
