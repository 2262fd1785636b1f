//! An agent that cannot work reports so on the user's objects, and goes on by itself once it can.

use anyhow::{Result, ensure};
use fleet_api::events::{BLOCKED, WRITE_REFUSED};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange;
use fleet_testbed::member_policy;
use fleet_testbed::objects::api;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{policies, quota, rbac};
use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use crate::stage::{DEADLINE, EXPORTER, Stage, accepted};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // Rights on existing clusters are not the suite's to take.
    }
    tests.alone("blocked::a_member_without_rights_on_the_hub", a_member_without_rights_on_the_hub);
    tests.alone("blocked::a_policy_of_the_hub_refuses", a_policy_of_the_hub_refuses);
    tests.alone("blocked::a_quota_of_the_hub_refuses", a_quota_of_the_hub_refuses);
}

/// A forbidden watch: an Event on the ServiceExport, no silence; and recovery without a restart.
async fn a_member_without_rights_on_the_hub(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("heldup").await?;
    let member = stage.exporter().name();
    let hub_namespace = member_namespace(member);
    let bindings: Api<RoleBinding> = Api::namespaced(stage.hub().client(), &hub_namespace);
    let account = rbac::member_on_hub(member);
    bindings.delete(account.binding(), &DeleteParams::default()).await?;
    agents.kill(Agent::Member(EXPORTER))?;
    agents.launch(Agent::Member(EXPORTER))?;

    let crossing = stage.exported(&namespace, "web").await?;
    told(stage.exporter(), &namespace, BLOCKED, "forbidden").await?;
    account.apply(&stage.hub().client()).await?;
    accepted(stage, crossing.key()).await?;
    agents.wait_ready().await?;
    exchange::unexport(stage.exporter(), &namespace, "web").await?;
    stage.nothing_left(&namespace).await
}

/// P6: the member may export nothing of this namespace, and the user who wants to reads why. What it exports already is listed:
/// the hub agent would withdraw it.
async fn a_policy_of_the_hub_refuses(stage: &Stage, _: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("refused").await?;
    let member = stage.exporter().name();
    let home = member_namespace(member);
    let exports = api(stage.hub().client(), kinds::INTERNAL_SERVICE_EXPORT, Some(&home));
    let exports = exports.list(&ListParams::default()).await?.items;
    let exports = exports.iter().map(|it| &it.data["spec"]["serviceReference"]["namespacedName"]);
    let exports: Vec<_> = exports.filter_map(|name| name.as_str()).chain(["shop/*"]).collect();
    let hub = stage.hub().client();
    member_policy::allow(&hub, &home, "10.0.0.0/8", (&exports.join(","), "*")).await?;
    policies::wait_for_member_policy(stage.hub(), member).await?;
    stage.exported(&namespace, "web").await?;
    let note = format!("P6: the member policy does not list {namespace}/web among its exports");
    told(stage.exporter(), &namespace, WRITE_REFUSED, &note).await?;
    exchange::unexport(stage.exporter(), &namespace, "web").await?;
    member_policy::allow_all(&hub, &home).await?;
    stage.nothing_left(&namespace).await
}

/// C10: what is forbidden though the member has the right to do it is reported to the user, not to administrators.
async fn a_quota_of_the_hub_refuses(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("quota").await?;
    let home = member_namespace(stage.exporter().name());
    let (client, kind) = (stage.hub().client(), kinds::INTERNAL_SERVICE_EXPORT);
    let one = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": "one" },
        "spec": { "ports": [{ "port": 80 }], "serviceReference": {
            "clusterId": stage.exporter().name(), "kind": "Service", "namespace": namespace,
            "name": "one", "namespacedName": format!("{namespace}/one"), "resourceVersion": "1",
            "generation": 1, "uid": "one",
        } },
    });
    quota::limit(&client, &home, &[(kind, 0)], (kind, &one)).await?;
    stage.exported(&namespace, "web").await?;
    told(stage.exporter(), &namespace, WRITE_REFUSED, "exceeded quota").await?;
    let scrape = Scrape::of(agents, Agent::Member(EXPORTER)).await?;
    let denied = scrape.sum("fleet_runtime_failures_total", &[("class", "denied")]);
    ensure!(denied > 0.0, "no metric says so");
    exchange::unexport(stage.exporter(), &namespace, "web").await?;
    let quotas: Api<ResourceQuota> = Api::namespaced(client, &home);
    quotas.delete(quota::FEW, &DeleteParams::default()).await?;
    stage.nothing_left(&namespace).await
}

/// Waits for an Event with this note.
pub(crate) async fn told(
    member: &Cluster,
    namespace: &str,
    reason: &str,
    note: &str,
) -> Result<()> {
    let events: Api<Event> = Api::namespaced(member.client(), namespace);
    let what = format!("an Event of {reason} says: {note}");
    wait_until(&what, DEADLINE, async || {
        let events = events.list(&ListParams::default()).await?;
        Ok(events.iter().any(|event| {
            let said = event.note.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some(reason) && said.contains(note)
        }))
    })
    .await
}
