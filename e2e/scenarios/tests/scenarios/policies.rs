//! Member policies that change while Services cross.

use anyhow::{Context, Result, ensure};
use fleet_api::events::{IMPORT_REFUSED, WRITE_REFUSED};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::member_policy;
use fleet_testbed::objects::{find, remove};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{exchange, rbac};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::blocked::told;
use crate::stage::{Crossing, DEADLINE, IMPORTER, Stage, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // The policies and the rights of others are not the suite's to change.
    }
    tests.unjudged("policies::what_is_no_longer_listed_is_withdrawn", narrowed);
    tests.unjudged("policies::what_is_missing_withdraws_nothing", missing);
}

/// Gives a member a policy with these exports and imports.
async fn give(stage: &Stage, member: &str, exports: &str, imports: &str) -> Result<()> {
    let (hub, home) = (stage.hub().client(), member_namespace(member));
    member_policy::allow(&hub, &home, "10.0.0.0/8", (exports, imports)).await
}

/// Lets a member do everything, as the others.
async fn give_all(stage: &Stage, member: &str) -> Result<()> {
    member_policy::allow_all(&stage.hub().client(), &member_namespace(member)).await
}

async fn take(stage: &Stage, member: &str) -> Result<()> {
    let key = (&*member_namespace(member), member_policy::NAME);
    remove(stage.hub(), kinds::CONFIG_MAP, key).await
}

/// Waits until the importer's copies and its endpoints of a Service are gone.
async fn left(stage: &Stage, crossing: &Crossing<'_>) -> Result<()> {
    let (namespace, name) = crossing.key();
    let importer = stage.importer();
    wait_until(&format!("{name} has left the importer"), DEADLINE, async || {
        let there = exchange::imported_addresses(importer, namespace, name).await?;
        Ok(there.is_empty())
    })
    .await
}

/// An administrator takes a Service off the exports of one member and then off the imports of the other one, and puts it
/// back each time. Users read the reason, and another Service goes on.
async fn narrowed(stage: &Stage, _: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("narrowed", &[IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let mut other = stage.crossing_in(&namespace, "other", &[IMPORTER]).await?;
    let [exporter, importer] = [stage.exporter().name(), stage.importer().name()];

    give(stage, exporter, &format!("{namespace}/other"), "*").await?;
    let (service, key) = (format!("{namespace}/web"), (namespace.as_str(), "web"));
    let valid = condition(stage.exporter(), kinds::SERVICE_EXPORT, key, ("Valid", "False")).await?;
    let message = valid["message"].as_str().unwrap_or_default();
    let reason = format!("the member policy does not list {service} among its exports");
    ensure!(valid["reason"] == "PolicyDenied" && message.contains(&reason), "{valid}");
    left(stage, &crossing).await?;
    let gone = async || Ok(find(stage.hub(), kinds::SERVICE_IMPORT, key).await?.is_none());
    wait_until("the hub has no ServiceImport of it", DEADLINE, gone).await?;
    other.change(2).await?;
    other.arrived().await?;
    give(stage, exporter, &format!("{namespace}/*"), "*").await?;
    crossing.arrived().await?;
    condition(stage.exporter(), kinds::SERVICE_EXPORT, key, ("Valid", "True")).await?;

    give(stage, importer, "", &format!("{namespace}/other")).await?;
    let reason = format!("the member policy does not list {service} among its imports");
    told(stage.importer(), &namespace, IMPORT_REFUSED, &reason).await?;
    left(stage, &crossing).await?;
    condition(stage.importer(), kinds::MULTI_CLUSTER_SERVICE, key, ("Valid", "Unknown")).await?;
    other.change(1).await?;
    other.arrived().await?;
    give(stage, importer, "*", "*").await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    for member in [exporter, importer] {
        give_all(stage, member).await?;
    }
    other.end().await?;
    crossing.withdraw().await
}

/// The policies of both members list a Service; then the hub agent may not read them and is restarted, and they are narrowed,
/// and deleted. It is withdrawn only when the hub agent reads a policy that does not list it.
async fn missing(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("unread", &[IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let exporter = stage.exporter().name();
    give(stage, exporter, &format!("{namespace}/*"), "").await?;
    let result = unread(stage, agents, &mut crossing).await;
    rbac::hub_agent().apply(&stage.hub().client()).await?;
    result?;
    // The right is there again, and the policy does not list the Service.
    agents.restart(Agent::Hub).await?;
    left(stage, &crossing).await?;
    give_all(stage, exporter).await?;
    crossing.arrived().await?;
    // Without a policy nothing new is accepted, since the hub is strict as it is shipped; what is there goes on.
    take(stage, exporter).await?;
    stage.exported(&namespace, "new").await?;
    told(stage.exporter(), &namespace, WRITE_REFUSED, "no params found").await?;
    exchange::unexport(stage.exporter(), &namespace, "new").await?;
    crossing.change(1).await?;
    crossing.arrived().await?;
    give_all(stage, exporter).await?;
    crossing.withdraw().await
}

/// Without the right to read policies, neither a restart nor a policy without the Service withdraws anything.
async fn unread(stage: &Stage, agents: &mut Agents, crossing: &mut Crossing<'_>) -> Result<()> {
    let roles: Api<ClusterRole> = Api::all(stage.hub().client());
    let role = roles.get("hub-agent").await?;
    let reads = |rule: &&PolicyRule| {
        !rule.resources.iter().flatten().any(|resource| resource == "configmaps")
    };
    let others: Vec<_> = role.rules.iter().flatten().filter(reads).collect();
    ensure!(others.len() < role.rules.iter().flatten().count(), "the agent has no such right");
    let without = Patch::Merge(json!({ "rules": others }));
    roles.patch("hub-agent", &PatchParams::default(), &without).await?;
    agents.restart(Agent::Hub).await?;
    let labels = [("source", "member_policies"), ("state", "forbidden")];
    wait_until("the agent may not read policies", DEADLINE, async || {
        let scrape = Scrape::of(agents, Agent::Hub).await?;
        Ok(scrape.sum("fleet_accumulator_source_state", &labels) > 0.0)
    })
    .await?;
    crossing.arrived().await?;

    give(stage, stage.exporter().name(), "", "").await?;
    // Another Service crosses after that: what the narrowed policy could cause would be seen.
    let other = stage.importer();
    let spec = ServiceSpec::http(&crossing.namespace, "back");
    let deployed = ManualService::deploy(other, &spec, &[next_address()]).await?;
    exchange::export(other, &crossing.namespace, "back").await?;
    let key = (crossing.namespace.as_str(), "back");
    condition(other, kinds::SERVICE_EXPORT, key, ("Conflict", "False")).await?;
    crossing.arrived().await?;
    let export = format!("{}-web", crossing.namespace);
    let at = member_namespace(stage.exporter().name());
    let export = find(stage.hub(), kinds::INTERNAL_SERVICE_EXPORT, (&at, &export)).await?;
    let conditions = &export.context("the export")?.data["status"]["conditions"];
    ensure!(!conditions.to_string().contains("PolicyDenied"), "{conditions}");
    exchange::unexport(other, &crossing.namespace, "back").await?;
    deployed.delete().await
}
