//! Limits on numbers of objects, where no controller counts them.

use anyhow::Result;
use fleet_api::ResourceKind;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::apply::apply;
use super::policies::wait_refused;
use crate::objects::api;

/// Name of the quota.
pub const FEW: &str = "few";

/// Lets no more than so many objects of these kinds be made in a namespace, and waits until that is in force: until
/// this object, which is one too many, would be refused.
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
    // What the controller that counts existing objects would write.
    let status = json!({ "status": { "hard": hard, "used": of(|_| 0) } });
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), namespace);
    quotas.patch_status(FEW, &PatchParams::default(), &Patch::Merge(status)).await?;

    let api = api(client.clone(), kind, Some(namespace));
    let object = serde_json::from_value(object.clone())?;
    wait_refused("the quota is in force", &api, &object, "exceeded quota").await
}
