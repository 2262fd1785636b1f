//! Limits on numbers of objects, where no controller counts them: those of the chart, and stricter ones.

use anyhow::Result;
use fleet_api::ResourceKind;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::admission::wait_refused;
use super::apply::apply;
use crate::objects::api;

const MEMBER_QUOTA: &str = include_str!("../../../charts/hub-agent/member-quota.yaml");

/// Name of the quota that [`limit`] makes.
pub const FEW: &str = "few";

/// Lets no more than so many objects of these kinds be made in a namespace, and waits until that is in force: until
/// this object, which is one too many, would be refused.
pub async fn limit(
    client: &Client,
    namespace: &str,
    counts: &[(ResourceKind, usize)],
    (kind, object): (ResourceKind, &Value),
) -> Result<()> {
    let hard = counts.iter().map(|(kind, count)| (counted(*kind), json!(count.to_string())));
    let hard = Value::Object(hard.collect());
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": { "name": FEW, "namespace": namespace }, "spec": { "hard": hard },
    });
    put(client, quota).await?;
    let api = api(client.clone(), kind, Some(namespace));
    let object = serde_json::from_value(object.clone())?;
    wait_refused("the quota is in force", &api, &object, "exceeded quota").await
}

/// Gives a member the quota that the hub's chart gives it.
pub async fn as_shipped(client: &Client, member: &str) -> Result<()> {
    put(client, serde_saphyr::from_str(&MEMBER_QUOTA.replace("${MEMBER}", member))?).await
}

/// Gives a member that quota, but with room for so many objects of one kind.
pub async fn raised(
    client: &Client,
    member: &str,
    (kind, count): (ResourceKind, usize),
) -> Result<()> {
    let mut quota: Value = serde_saphyr::from_str(&MEMBER_QUOTA.replace("${MEMBER}", member))?;
    quota["spec"]["hard"][counted(kind)] = json!(count.to_string());
    put(client, quota).await
}

/// What a quota calls the number of objects of a kind.
fn counted(kind: ResourceKind) -> String {
    let name = format!("count/{}.{}", kind.plural, kind.group);
    name.trim_end_matches('.').to_owned()
}

/// Makes a quota, and writes what the controller that counts objects would write where there are none.
async fn put(client: &Client, quota: Value) -> Result<()> {
    let metadata = &quota["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    let hard = quota["spec"]["hard"].clone();
    let mut used = hard.clone();
    used.as_object_mut().into_iter().flatten().for_each(|(_, count)| *count = json!("0"));
    apply(client, quota).await?;
    let status = json!({ "status": { "hard": hard, "used": used } });
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), &namespace);
    quotas.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}
