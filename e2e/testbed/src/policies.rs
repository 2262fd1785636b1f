//! The admission policies of both charts.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use futures::future::try_join_all;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::admission::{DEADLINE, wait_refused};
use super::apply::apply;
use super::client::client;
use super::cluster::Cluster;
use super::rbac;
use crate::helm::{Helm, chart};
use crate::member_policy;
use crate::objects::api;
use crate::wait::wait_until;

/// Kinds of the objects that policies are made of, and of those that order requests.
const KINDS: [&str; 4] = [
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "PriorityLevelConfiguration",
    "FlowSchema",
];

/// Accounts of further hub agents that tests start.
const REPLICAS: usize = 3;

/// Made by the first that asks.
type Rendered = Arc<OnceCell<Vec<Value>>>;

/// The original's hub agent.
pub const ORIGINAL_HUB_AGENT: &str =
    "system:serviceaccount:fleet-system:hub-net-controller-manager-sa";

/// The policies of the member agent as a member gets them whose chart has these values.
pub async fn render_member(values: &Value) -> Result<Vec<Value>> {
    let mut values = values.clone();
    values["config"] = json!({ "memberClusterName": "east", "hubURL": "https://hub.example.com" });
    rendered("member-agent", &values).await
}

/// The policies of a chart. Once for each process: every control plane gets one of a few sets, and Helm takes most of a second for one.
async fn rendered(name: &str, values: &Value) -> Result<Vec<Value>> {
    static KNOWN: Mutex<BTreeMap<String, Rendered>> = Mutex::new(BTreeMap::new());
    let known = Arc::clone(KNOWN.lock().entry(format!("{name} {values}")).or_default());
    let policies = known.get_or_try_init(async || {
        let place = (SYSTEM_NAMESPACE, name);
        let mut objects = Helm::v4().await?.template(&chart(name), place, values).await?;
        objects.retain(|object| KINDS.iter().any(|kind| object["kind"] == *kind));
        ensure!(!objects.is_empty(), "the chart {name} has no policies");
        Ok(objects)
    });
    policies.await.cloned()
}

/// What each policy of the member agent refuses whatever the object is.
fn refused_by_each() -> Vec<(&'static str, ResourceKind, Value)> {
    vec![
        ("A1", kinds::SERVICE, json!({ "spec": { "ports": [{ "port": 80 }] } })),
        ("A2", kinds::ENDPOINT_SLICE, json!({ "addressType": "IPv4", "endpoints": [] })),
        ("A4", kinds::SERVICE_IMPORT, json!({})),
        ("A5", kinds::LEASE, json!({})),
    ]
}

/// Installs the policies of the member agent as they come, and waits until they are in force.
pub async fn install_member(member: &Cluster) -> Result<()> {
    install_member_with(member, &json!({}), refused_by_each()).await
}

/// The same of a member that takes part in the API of multicluster.x-k8s.io, whose definitions it has, and lets derived Services have
/// a selector.
pub async fn install_multicluster_member(member: &Cluster) -> Result<()> {
    let mut refused = refused_by_each();
    let import = json!({ "spec": { "type": "ClusterSetIP", "ports": [] } });
    refused.push(("A7", kinds::MCS_SERVICE_IMPORT, import));
    let derived = json!({ "spec": { "ports": [{ "port": 80 }] } });
    refused.push(("A7", kinds::SERVICE, derived));
    let traffic = json!({ "enabled": true, "derivedSelectors": true });
    let values = json!({ "multicluster": { "mode": "on" }, "traffic": traffic });
    install_member_with(member, &values, refused).await
}

/// Installs policies, and waits until each of them refuses what it is to refuse; that is tried, and nothing is changed.
async fn install_member_with(
    member: &Cluster,
    values: &Value,
    refused: Vec<(&str, ResourceKind, Value)>,
) -> Result<()> {
    let client = member.client();
    let policies = render_member(values).await?;
    try_join_all(policies.into_iter().map(|object| apply(&client, object))).await?;
    let mut config = member.config().clone();
    config.auth_info.impersonate = Some(rbac::member_agent().user());
    let client = super::client::client(&config).await?;
    for (rule, kind, more) in refused {
        // Derived Services of the standard API are in users' namespaces, and known by their names.
        let (namespace, name) = if rule == "A7" {
            ("default", "derived-nothing")
        } else {
            (SYSTEM_NAMESPACE, "nothing")
        };
        let mut object = json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
        object["metadata"] = json!({ "name": name, "namespace": namespace });
        for (key, value) in more.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        let all = api(client.clone(), kind, Some(namespace));
        let what = format!("{}: {rule} is in force on {}", member.name(), kind.kind);
        wait_refused(&what, &all, &serde_json::from_value(object)?, &format!("{rule}:")).await?;
    }
    Ok(())
}

/// The policies and flow schemas as a hub gets them whose chart has these values under `policies`.
pub async fn render(policies: &Value) -> Result<Vec<Value>> {
    rendered("hub-agent", &json!({ "policies": policies })).await
}

/// The same of a hub that serves the API of multicluster.x-k8s.io, carries Pods between members and decides about traffic.
pub async fn render_multicluster(policies: &Value) -> Result<Vec<Value>> {
    let served = json!({ "mode": "on" });
    let enabled = json!({ "enabled": true });
    let values = json!({
        "policies": policies, "multicluster": served, "virtualNodes": enabled, "traffic": enabled,
        "reachability": enabled,
    });
    rendered("hub-agent", &values).await
}

/// Installs policies and flow schemas as they come, which is strict, and waits until the policies are in force. `member` is one
/// that has a member policy.
pub async fn install(hub: &Cluster, member: &str) -> Result<()> {
    install_rendered(hub, member, render(&of_tests(true)).await?).await?;
    wait_allowed(hub, member).await
}

/// Waits until a member may export: admission policies see a new member policy later than its writer does.
pub async fn wait_allowed(hub: &Cluster, member: &str) -> Result<()> {
    wait_until("a member may export", DEADLINE, async || {
        try_export(hub, member).await.map(|()| true)
    })
    .await
}

/// [`install`] for members without a member policy, on a hub that serves the API of multicluster.x-k8s.io.
pub async fn install_multicluster(hub: &Cluster, member: &str) -> Result<()> {
    install_rendered(hub, member, render_multicluster(&of_tests(false)).await?).await
}

/// [`install`] on a hub that serves the API of multicluster.x-k8s.io.
pub async fn install_multicluster_strict(hub: &Cluster, member: &str) -> Result<()> {
    install_rendered(hub, member, render_multicluster(&of_tests(true)).await?).await?;
    wait_allowed(hub, member).await
}

/// Values of policies that the agents of tests can work under.
fn of_tests(strict: bool) -> Value {
    let accounts = (0..=REPLICAS).map(|number| rbac::hub_agent().replica(number).user());
    let accounts: Vec<_> = accounts.chain([ORIGINAL_HUB_AGENT.to_owned()]).collect();
    json!({ "hubUsers": accounts, "strict": strict })
}

async fn install_rendered(hub: &Cluster, member: &str, policies: Vec<Value>) -> Result<()> {
    let client = hub.client();
    try_join_all(policies.into_iter().map(|object| apply(&client, object))).await?;
    let what = "the policies are in force";
    wait_until(what, DEADLINE, async || in_force(hub, member).await).await
}

/// Takes away the policies that [`install`] has made, as Helm does, and waits until that is so.
pub async fn remove(hub: &Cluster, member: &str) -> Result<()> {
    delete_all::<ValidatingAdmissionPolicyBinding>(hub).await.context("delete the bindings")?;
    delete_all::<ValidatingAdmissionPolicy>(hub).await.context("delete the policies")?;
    wait_until("the policies are gone", DEADLINE, async || Ok(!in_force(hub, member).await?)).await
}

/// Deletes what the chart does not keep.
async fn delete_all<K>(hub: &Cluster) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let all: Api<K> = Api::all(hub.client());
    let labelled = ListParams::default().labels("app.kubernetes.io/instance=hub-agent");
    for object in all.list(&labelled).await? {
        if object.annotations().get("helm.sh/resource-policy").is_none_or(|it| it != "keep") {
            all.delete(&object.name_any(), &DeleteParams::default()).await?;
        }
    }
    Ok(())
}

/// Tries what is refused even to admins, and changes nothing.
async fn in_force(hub: &Cluster, member: &str) -> Result<bool> {
    let maps: Api<ConfigMap> = Api::namespaced(hub.client(), &member_namespace(member));
    let name = Some(member_policy::NAME.to_owned());
    let metadata = ObjectMeta { name, ..ObjectMeta::default() };
    let empty = ConfigMap { metadata, ..ConfigMap::default() };
    let params = PostParams { dry_run: true, ..PostParams::default() };
    match maps.create(&params, &empty).await {
        Ok(_) => Ok(false),
        Err(kube::Error::Api(status)) if status.message.contains("P13:") => Ok(true),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
        Err(error) => Err(error).context("try a member policy without keys"),
    }
}

/// Waits until the member policy of a member is in force, which allows nothing in a namespace of no name that anybody
/// has: tries to export a Service from there as the member, and changes nothing.
pub async fn wait_for_member_policy(hub: &Cluster, member: &str) -> Result<()> {
    let (exports, export) = export_of(hub, member).await?;
    wait_refused("the member policy is in force", &exports, &export, "P6:").await
}

/// Waits until policies of the hub, if it has any, find the member policy of a member: they watch those, and an API server that is busy
/// has one a moment after it was written. Changes nothing.
pub async fn wait_for_any_member_policy(hub: &Cluster, member: &str) -> Result<()> {
    wait_until("the member policy is known", DEADLINE, async || {
        let refused = try_export(hub, member).await.err();
        Ok(refused.is_none_or(|error| !format!("{error:#}").contains("no params found")))
    })
    .await
}

/// Waits until the hub is strict: a member without a member policy may not export. Changes nothing.
pub async fn wait_strict(hub: &Cluster, member: &str) -> Result<()> {
    let (exports, export) = export_of(hub, member).await?;
    wait_refused("the hub is strict", &exports, &export, "no params found").await
}

/// Tries to export a Service of no name that anybody has as a member, and changes nothing.
async fn try_export(hub: &Cluster, member: &str) -> Result<()> {
    let (exports, export) = export_of(hub, member).await?;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    exports.create(&params, &export).await?;
    Ok(())
}

/// The exports of a member, with its rights, and one that is tried only.
async fn export_of(hub: &Cluster, member: &str) -> Result<(Api<DynamicObject>, DynamicObject)> {
    let account = rbac::member_on_hub(member);
    let mut config = hub.config().clone();
    config.auth_info.impersonate = Some(account.user());
    let kind = kinds::INTERNAL_SERVICE_EXPORT;
    let exports = api(client(&config).await?, kind, Some(&account.namespace));
    let name = "nowhere/nothing";
    let export = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": "nothing" },
        "spec": { "ports": [{ "port": 80 }], "serviceReference": {
            "clusterId": member, "kind": "Service", "namespace": "nowhere", "name": "nothing",
            "namespacedName": name, "resourceVersion": "1", "generation": 1, "uid": "none",
        } },
    });
    Ok((exports, serde_json::from_value(export)?))
}
