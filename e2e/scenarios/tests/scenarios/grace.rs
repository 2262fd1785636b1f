//! A derived Service outlives its last exporter for a while, so that its address survives a redeploy.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_testbed::agents::{Agent, Agents, GRACE_PERIOD};
use fleet_testbed::exchange::{export, unexport, unimport, wait_gone, wait_imported};
use fleet_testbed::objects::find;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;

use crate::stage::{DEADLINE, IMPORTER, Stage, becomes, condition};
use crate::tests::Tests;

const ADDRESS: &str = "192.0.2.80";

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("grace::an_address_survives_a_redeploy", an_address_survives_a_redeploy);
}

async fn an_address_survives_a_redeploy(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let result = redeploy_then_end(stage, agents).await;
    result.and(start_with_grace(agents, "0s").await)
}

async fn start_with_grace(agents: &mut Agents, period: &str) -> Result<()> {
    agents.set_variable(Agent::Member(IMPORTER), GRACE_PERIOD, period)?;
    agents.restart(Agent::Member(IMPORTER)).await
}

async fn redeploy_then_end(stage: &Stage, agents: &mut Agents) -> Result<()> {
    start_with_grace(agents, "1h").await?;
    let crossing = stage.crossing("grace", &[IMPORTER]).await?;
    let (importer, mcs) = (stage.importer(), kinds::MULTI_CLUSTER_SERVICE);
    let derived = crossing.derived(IMPORTER).await?;
    let key = (SYSTEM_NAMESPACE, derived.as_str());
    let services: Api<Service> = Api::namespaced(importer.client(), SYSTEM_NAMESPACE);
    let balancer = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": ADDRESS }] } } });
    let given =
        services.patch_status(&derived, &PatchParams::default(), &Patch::Merge(balancer)).await?;
    let has_address =
        |mcs: &DynamicObject| mcs.data["status"]["loadBalancer"]["ingress"][0]["ip"] == ADDRESS;
    becomes(importer, mcs, crossing.key(), "has the address", has_address).await?;

    // The last exporter goes: so do the endpoints, while Service and address stay.
    unexport(stage.exporter(), &crossing.namespace, "web").await?;
    let told = condition(importer, mcs, crossing.key(), ("Valid", "Unknown")).await?;
    let message = told["message"].as_str().unwrap_or_default();
    ensure!(message.contains("is kept until"), "{message}");
    let nothing = BTreeSet::new();
    wait_imported(importer, &crossing.namespace, "web", &nothing, DEADLINE).await?;
    let object = find(importer, mcs, crossing.key()).await?.context("the wish")?;
    ensure!(has_address(&object), "{}", object.data["status"]);

    // It comes again.
    export(stage.exporter(), &crossing.namespace, "web").await?;
    crossing.arrived().await?;
    condition(importer, mcs, crossing.key(), ("Valid", "True")).await?;
    let kept = services.get(&derived).await?;
    ensure!(kept.metadata.uid == given.metadata.uid, "another derived Service");

    // It goes for good. The period is counted from then, by either agent.
    unexport(stage.exporter(), &crossing.namespace, "web").await?;
    condition(importer, mcs, crossing.key(), ("Valid", "Unknown")).await?;
    ensure!(find(importer, kinds::SERVICE, key).await?.is_some(), "it did not stay");
    start_with_grace(agents, "1s").await?;
    wait_gone(importer, kinds::SERVICE, key.0, key.1, DEADLINE).await?;
    let without = |mcs: &DynamicObject| mcs.data["status"]["loadBalancer"]["ingress"].is_null();
    becomes(importer, mcs, crossing.key(), "has no address", without).await?;
    unimport(importer, &crossing.namespace, "web").await?;
    stage.nothing_left(&crossing.namespace).await
}
