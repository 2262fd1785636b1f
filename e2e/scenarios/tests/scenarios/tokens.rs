//! A member's token for the hub is emptied, half written, revoked, replaced, and ends by itself.

use std::path::Path;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_runtime::clock::Clock;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{kubeconfig, rbac};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, Stage, accepted};
use crate::tests::Tests;

/// For how many seconds after its end an API server still takes a token, for the sake of clocks that differ.
const LENIENCE: i64 = 60;
/// For how many seconds the token that ends is good.
const LASTS: i64 = 8;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // How fast a token is forgotten is the API server's setting.
    }
    tests.apart("tokens::tokens_come_and_go", tokens_of_an_exporter);
}

/// F09, F10: nothing is withdrawn, and no restart is needed.
async fn tokens_of_an_exporter(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let path = stage.hub_token_path(EXPORTER).to_owned();
    let good = std::fs::read_to_string(&path)?;
    let result = tokens_come_and_go(stage, agents, &path, &good).await;
    // Others need it too.
    kubeconfig::write_secret(&path, &good)?;
    result
}

async fn tokens_come_and_go(
    stage: &Stage,
    agents: &mut Agents,
    path: &Path,
    good: &str,
) -> Result<()> {
    let mut crossing = stage.crossing("tokens", &[IMPORTER]).await?;
    let slices =
        [(stage.importer(), kinds::ENDPOINT_SLICE), (stage.hub(), kinds::ENDPOINT_SLICE_EXPORT)];
    let mut observer = Observer::start_for(slices).await?;

    // The writer of the file has only begun: the last token stays in force.
    kubeconfig::write_secret(path, "")?;
    crossing.change(2).await?;
    crossing.arrived().await.context("with an empty file")?;

    // A token that ends with a Secret, which is deleted.
    let (hub, namespace) = (stage.hub().client(), member_namespace(stage.exporter().name()));
    let secrets: Api<Secret> = Api::namespaced(hub.clone(), &namespace);
    let secret = serde_json::from_value(json!({ "metadata": { "name": "ticket" } }))?;
    let secret = secrets.create(&PostParams::default(), &secret).await?;
    let account = rbac::member_on_hub(stage.exporter().name());
    let short = account.token_bound_to(&hub, &secret).await?;
    kubeconfig::write_secret(path, &short)?;
    crossing.change(1).await?;
    crossing.arrived().await.context("with another token")?;
    secrets.delete("ticket", &DeleteParams::default()).await?;
    refused(agents, &mut crossing).await.context("with a revoked token")?;

    // Half of the next one is no better. The whole of it is taken up without a restart.
    kubeconfig::write_secret(path, &good[..good.len() / 2])?;
    refused(agents, &mut crossing).await.context("with half a token")?;
    let plane = stage.hub().control_plane().context("the hub is the testbed's")?;
    let ending =
        plane.token_ending_at(good, Clock::system().now().as_second() - LENIENCE + LASTS)?;
    kubeconfig::write_secret(path, &ending)?;
    crossing.arrived().await.context("with a token that ends soon")?;

    // It ends, and the next one is taken up.
    refused(agents, &mut crossing).await.context("after the token's end")?;
    kubeconfig::write_secret(path, good)?;
    crossing.arrived().await.context("with a good token again")?;
    accepted(stage, crossing.key()).await?;
    agents.check_alive()?;
    let gone = observer
        .take()
        .into_iter()
        .find(|seen| seen.what == What::Gone && seen.name().contains(&crossing.namespace));
    anyhow::ensure!(gone.is_none(), "withdrawn: {gone:?}");
    crossing.withdraw().await
}

/// Lets the Service change until the hub refuses the exporter: it remembers tokens for some seconds, and lets changes
/// through until it has forgotten this one.
async fn refused(agents: &Agents, crossing: &mut Crossing<'_>) -> Result<()> {
    let refusals = async || {
        let scrape = Scrape::of(agents, Agent::Member(EXPORTER)).await?;
        anyhow::Ok(scrape.sum("fleet_runtime_failures_total", &[("class", "unauthorized")]))
    };
    let before = refusals().await?;
    let mut count = 1;
    wait_until("the token is refused", DEADLINE, async || {
        crossing.change(count).await?;
        count = 3 - count;
        Ok(refusals().await? > before)
    })
    .await
}
