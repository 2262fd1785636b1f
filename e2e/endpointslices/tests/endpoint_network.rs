//! A Service whose endpoints are on a secondary network, from its pods' network status to another member of the fleet,
//! and the rights that this takes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds, labels};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::helm::{Helm, chart};
use fleet_testbed::objects::{edit, find};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ServiceSpec, Workload};
use fleet_testbed::{Options, Testbed, rbac};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_mins(2);
const TEAM: &str = "team";
const WEB: &str = "web";
const NETWORK: &str = "flat";

#[tokio::test(flavor = "multi_thread")]
async fn addresses_on_a_secondary_network_cross() {
    let testbed = Testbed::start(Options::members(2)).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

async fn story(testbed: &Testbed) -> Result<()> {
    testbed.user_namespace(TEAM).await?;
    let (exporter, importer) = (testbed.member(0), testbed.member(1));
    rbac::endpointslices().apply(&exporter.client()).await?;
    let opt_in = vec![("ENDPOINTSLICES".to_owned(), "opt-in".to_owned())];
    let of_agents = BTreeMap::from([(Agent::Member(0), opt_in)]);
    let agents = AgentOptions { of_agents, ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &agents).await?;

    let web = Workload::deploy(exporter, ServiceSpec::http(TEAM, WEB), 2).await?;
    ask(exporter, json!(NETWORK)).await?;
    let pods: Api<Pod> = Api::namespaced(exporter.client(), TEAM);
    let pods: Vec<_> =
        pods.list(&ListParams::default()).await?.iter().map(ResourceExt::name_any).collect();
    let mut addresses = BTreeSet::new();
    for (number, pod) in pods.iter().enumerate() {
        let address = format!("172.31.7.{}", number + 1);
        attach(exporter, pod, &json!([{ "name": "team/flat", "ips": [address] }])).await?;
        addresses.insert(address);
    }
    export(exporter, TEAM, WEB).await?;
    import(importer, TEAM, WEB, WEB).await?;
    wait_imported(importer, TEAM, WEB, &addresses, DEADLINE).await?;
    on_network(exporter, "True").await?;

    // A pod that is not on the network any more is refused, and the user reads why.
    attach(exporter, &pods[1], &json!([{ "name": "team/other", "ips": ["172.31.8.2"] }])).await?;
    addresses.remove("172.31.7.2");
    wait_imported(importer, TEAM, WEB, &addresses, DEADLINE).await?;
    let message = on_network(exporter, "False").await?;
    ensure!(message.contains(&pods[1]), "{message}");
    told(exporter).await?;

    // What is no longer asked for makes room for the usual addresses.
    ask(exporter, Value::Null).await?;
    wait_imported(importer, TEAM, WEB, &web.addresses(), DEADLINE).await?;

    // Nor is anything left by an agent whose setting makes it create no slices any more.
    ask(exporter, json!(NETWORK)).await?;
    wait_imported(importer, TEAM, WEB, &addresses, DEADLINE).await?;
    may_only_clean_up(exporter).await?;
    agents.set_variable(Agent::Member(0), "ENDPOINTSLICES", "off")?;
    agents.restart(Agent::Member(0)).await?;
    wait_imported(importer, TEAM, WEB, &web.addresses(), DEADLINE).await?;
    let slices: Api<EndpointSlice> = Api::namespaced(exporter.client(), TEAM);
    let ours = ListParams::default().labels(labels::NETWORK_SERVICE);
    wait_until("no slice of a network is left", DEADLINE, async || {
        Ok(slices.list(&ours).await?.items.is_empty())
    })
    .await?;
    every_right_is_used_and_none_missed(exporter)
}

/// Replaces the rights to make slices by those that the chart grants where none are made any more.
async fn may_only_clean_up(cluster: &Cluster) -> Result<()> {
    let values = json!({
        "config": { "memberClusterName": "any", "hubURL": "https://any" },
        "endpointslices": { "mode": "off", "cleanUp": true },
    });
    let place = (SYSTEM_NAMESPACE, "member-agent");
    let objects = Helm::v4().await?.template(&chart("member-agent"), place, &values).await?;
    let name = "member-agent-endpointslices";
    let mut objects = objects.into_iter();
    let role = objects.find(|one| one["kind"] == "ClusterRole" && one["metadata"]["name"] == name);
    apply(&cluster.client(), role.context("the chart has rights to clean up")?).await
}

async fn ask(cluster: &Cluster, network: Value) -> Result<()> {
    let annotations = json!({ annotations::ENDPOINT_NETWORK: network });
    let patch = json!({ "metadata": { "annotations": annotations } });
    edit(cluster, kinds::SERVICE, (TEAM, WEB), patch).await.map(drop)
}

async fn attach(cluster: &Cluster, pod: &str, status: &Value) -> Result<()> {
    let annotations = json!({ annotations::NETWORK_STATUS: status.to_string() });
    let patch = json!({ "metadata": { "annotations": annotations } });
    edit(cluster, kinds::POD, (TEAM, pod), patch).await.map(drop)
}

/// Waits until the ServiceExport has the condition; returns its message.
async fn on_network(cluster: &Cluster, status: &str) -> Result<String> {
    let mut message = String::new();
    wait_until(&format!("EndpointsOnNetwork is {status}"), DEADLINE, async || {
        let found = find(cluster, kinds::SERVICE_EXPORT, (TEAM, WEB)).await?;
        let conditions = found.context("no export")?.data["status"]["conditions"].clone();
        let mut conditions = conditions.as_array().cloned().unwrap_or_default().into_iter();
        let condition = conditions.find(|one| one["type"] == "EndpointsOnNetwork");
        let condition = condition.unwrap_or_default();
        condition["message"].as_str().unwrap_or_default().clone_into(&mut message);
        Ok(condition["status"] == status)
    })
    .await?;
    Ok(message)
}

async fn told(cluster: &Cluster) -> Result<()> {
    let events: Api<Event> = Api::namespaced(cluster.client(), TEAM);
    wait_until("an Event says who is refused", DEADLINE, async || {
        let events = events.list(&ListParams::default()).await?;
        let kinds =
            events.iter().filter(|event| event.reason.as_deref() == Some("EndpointsOffNetwork"));
        let kinds: BTreeSet<_> =
            kinds.filter_map(|event| event.regarding.as_ref()?.kind.clone()).collect();
        Ok(kinds.len() == 2)
    })
    .await
}

/// By the audit log of the cluster where slices were made, updated and deleted.
fn every_right_is_used_and_none_missed(cluster: &Cluster) -> Result<()> {
    let log = cluster.audit_log_path().context("the cluster writes no audit log")?;
    let text = std::fs::read_to_string(log)?;
    let user = rbac::member_agent().user();
    let mut asked = BTreeSet::new();
    for line in text.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        if event["user"]["username"] != user.as_str() {
            continue;
        }
        let refused = event["responseStatus"]["code"] == 403;
        ensure!(!refused, "refused: {line}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resource = text(&event["objectRef"]["resource"]);
        let in_team = text(&event["objectRef"]["namespace"]) == TEAM;
        if in_team || ["pods", "nodes"].contains(&resource.as_str()) {
            asked.insert((resource, text(&event["verb"])));
        }
    }
    for grant in rbac::endpointslices().grants()? {
        // What a watch does not show in time is read back; finalizing is asked for without a request.
        let spared = grant.verb == "get" || grant.resource.ends_with("/finalizers");
        let is_used = asked.contains(&(grant.resource.clone(), grant.verb.clone()));
        ensure!(spared || is_used, "never used: {grant:?}");
    }
    Ok(())
}
