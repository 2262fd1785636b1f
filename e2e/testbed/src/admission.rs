//! Which admission policies an API server has taken note of.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::kinds;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::apply::apply;
use crate::cluster::Cluster;
use crate::objects::api;
use crate::wait::wait_until;

const API_VERSION: &str = "admissionregistration.k8s.io/v1";
const NAMESPACE: &str = "default";

/// Longest time in which an API server takes note of a policy.
pub(super) const DEADLINE: Duration = Duration::from_mins(2);

/// Waits until an API server enforces all policies that were written before: it sees them in the order in which they were written, about
/// once a second, so the last one of them shows that it has seen the others. That one refuses an object that is tried only.
///
/// The Pods of an upgraded chart start later than that; processes do not.
pub async fn wait_seen(cluster: &Cluster) -> Result<()> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("seen-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let client = cluster.client();
    apply(&client, policy(&name)).await?;
    apply(&client, binding(&name)).await?;
    let kind = kinds::CONFIG_MAP;
    let tried = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": NAMESPACE },
    });
    let maps = api(client.clone(), kind, Some(NAMESPACE));
    let what = format!("{} enforces its policies", cluster.name());
    wait_refused(&what, &maps, &serde_json::from_value(tried)?, &name).await?;
    delete::<ValidatingAdmissionPolicyBinding>(cluster, &name).await?;
    delete::<ValidatingAdmissionPolicy>(cluster, &name).await
}

fn policy(name: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["configmaps"], "resourceNames": [name],
            }] },
            "validations": [{ "expression": "false", "message": name }],
        },
    })
}

fn binding(name: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    })
}

async fn delete<K>(cluster: &Cluster, name: &str) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let all: Api<K> = Api::all(cluster.client());
    all.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// Waits until the making of an object would be refused with these words; it is tried, and changes nothing.
pub(super) async fn wait_refused(
    what: &str,
    api: &Api<DynamicObject>,
    object: &DynamicObject,
    words: &str,
) -> Result<()> {
    let params = PostParams { dry_run: true, ..PostParams::default() };
    wait_until(what, DEADLINE, async || match api.create(&params, object).await {
        Ok(_) => Ok(false),
        Err(kube::Error::Api(status)) if status.message.contains(words) => Ok(true),
        Err(error) => Err(error).with_context(|| format!("try what {words} refuses")),
    })
    .await
}
