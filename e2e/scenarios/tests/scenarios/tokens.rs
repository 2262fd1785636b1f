//! A member's token for the hub is missing, emptied, half written, revoked, replaced, and ends by itself.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleet_api::kinds;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_runtime::clock::Clock;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::fault_proxy::FaultProxy;
use fleet_testbed::observer::Observer;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{kubeconfig, rbac};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::external_workloads;
use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, Stage, accepted};
use crate::tests::Tests;

/// For how many seconds after its end an API server still takes a token, for the sake of clocks that differ.
const LENIENCE: i64 = 60;
/// For how many seconds the token that ends is good: the agent has to find it and deliver a change, on a busy machine, too.
const LASTS: i64 = 15;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // How fast a token is forgotten is the API server's setting.
    }
    tests.apart("tokens::tokens_come_and_go", tokens_of_an_exporter);
    tests.apart("tokens::a_start_without_a_token", a_start_without_a_token);
    tests.apart("tokens::a_token_renews_itself", a_token_in_a_secret);
    tests.apart("tokens::a_gateway_with_a_wrong_clock", a_gateway_with_a_wrong_clock);
}

/// Namespace and name of the Secret that the exporter renews its token in, as in its chart.
const SECRET: (&str, &str) = (SYSTEM_NAMESPACE, "hub-kubeconfig-secret");
/// Name of the Secret that a revocable token is bound to.
const TICKET: &str = "ticket";
/// For how many seconds a token is good that is renewed.
const RENEWED_WITHIN: i64 = 40;
/// Longer than the agent takes to look at its token twice.
const SEVERAL_LOOKS: Duration = Duration::from_secs(11);
/// Where tokens are requested.
const TOKENS: &str = "serviceaccounts/token";
/// Seconds of a day: how long tokens live that the agent requests.
const DAY: i64 = 24 * 3600;

async fn a_token_in_a_secret(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let path = stage.hub_token_path(EXPORTER).to_owned();
    let good = std::fs::read_to_string(&path)?;
    let result = a_token_renews_itself(stage, agents, &path, &good).await;
    kubeconfig::write_secret(&path, &good)?;
    // Without the flag.
    agents.restart(Agent::Member(EXPORTER)).await?;
    result
}

/// The agent renews its token before it ends, and uses it before its file has it. One that is no good is reported, takes nothing
/// away, and is replaced by what a user puts into the Secret.
async fn a_token_renews_itself(
    stage: &Stage,
    agents: &mut Agents,
    path: &Path,
    good: &str,
) -> Result<()> {
    rbac::token_renewal().apply(&stage.exporter().client()).await?;
    let plane = stage.hub().control_plane().context("the hub is the testbed's")?;
    let ending = |seconds| plane.token_ending_at(good, Clock::system().now().as_second() + seconds);
    let mut crossing = stage.crossing("renewal", &[IMPORTER]).await?;
    let slices =
        [(stage.importer(), kinds::ENDPOINT_SLICE), (stage.hub(), kinds::ENDPOINT_SLICE_EXPORT)];
    let observer = Observer::start_for(slices).await?;

    let old = ending(RENEWED_WITHIN)?;
    kubeconfig::write_secret(path, &old)?;
    store(stage, &old).await?;
    let (namespace, name) = SECRET;
    let flag = format!("--hub-token-secret={namespace}/{name}");
    agents.restart_with(Agent::Member(EXPORTER), &[&flag]).await?;
    wait_until("a renewed token", DEADLINE, async || Ok(stored(stage).await? != old)).await?;
    wait_until("the new token is in use", DEADLINE, async || {
        let until = Clock::system().now().as_second() + DAY - 3600;
        let name = "fleet_hub_credential_expiry_timestamp_seconds";
        let expires = Scrape::of(agents, Agent::Member(EXPORTER)).await?.sum(name, &[]);
        Ok(expires > f64::from(u32::try_from(until)?))
    })
    .await?;
    crossing.change(2).await?;
    crossing.arrived().await.context("with a renewed token")?;

    // A token that has been revoked: its Secret on the hub is deleted.
    let bound = revocable(stage).await?;
    store(stage, &bound).await?;
    kubeconfig::write_secret(path, &bound)?;
    crossing.change(1).await?;
    crossing.arrived().await.context("with another token")?;
    revoke(stage).await?;
    refused(agents, &mut crossing).await.context("with a revoked token")?;
    expired(agents, "the hub rejects the credential").await?;
    // What `fleetctl join` does, before a kubelet has done its part.
    store(stage, good).await?;
    mended(agents).await?;
    crossing.arrived().await.context("after the token was replaced in the Secret")?;

    // Its time is over, but the hub still accepts it for a minute: it is renewed.
    let past = ending(-5)?;
    store(stage, &past).await?;
    kubeconfig::write_secret(path, &past)?;
    wait_until("a renewed token", DEADLINE, async || Ok(stored(stage).await? != past)).await?;
    mended(agents).await?;
    // The hub accepts it no longer.
    let past = ending(-LENIENCE - 5)?;
    store(stage, &past).await?;
    kubeconfig::write_secret(path, &past)?;
    expired(agents, "the token for the hub expired at").await?;
    store(stage, good).await?;
    mended(agents).await?;
    end_undisturbed(stage, agents, crossing, observer).await
}

/// Seconds of a year: how wrong clocks are.
const YEAR: i64 = 365 * DAY;

/// The exporter reaches the hub through a gateway whose date is a year ahead, then a year behind. A token that is good does not
/// count as expired, and is renewed, once.
async fn a_gateway_with_a_wrong_clock(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let path = stage.hub_token_path(EXPORTER).to_owned();
    let good = std::fs::read_to_string(&path)?;
    let gateway = FaultProxy::to(stage.hub()).await?;
    let agent = Agent::Member(EXPORTER);
    agents.set_variable(agent, "HUB_SERVER_URL", &gateway.url())?;
    let result = renewed_through(stage, agents, &gateway, &path, &good).await;
    agents.set_variable(agent, "HUB_SERVER_URL", &stage.hub().server_url())?;
    kubeconfig::write_secret(&path, &good)?;
    agents.restart(agent).await?;
    result
}

async fn renewed_through(
    stage: &Stage,
    agents: &mut Agents,
    gateway: &FaultProxy,
    path: &Path,
    good: &str,
) -> Result<()> {
    rbac::token_renewal().apply(&stage.exporter().client()).await?;
    let plane = stage.hub().control_plane().context("the hub is the testbed's")?;
    let mut crossing = stage.crossing("gateway", &[IMPORTER]).await?;
    let flag = format!("--hub-token-secret={}/{}", SECRET.0, SECRET.1);
    for (wrong, count) in [(YEAR, 2), (-YEAR, 1)] {
        let now = Clock::system().now().as_second();
        gateway.set_time(now + wrong)?;
        let old = plane.token_ending_at(good, now + RENEWED_WITHIN)?;
        kubeconfig::write_secret(path, &old)?;
        store(stage, &old).await?;
        let requests = gateway.log().len();
        agents.restart_with(Agent::Member(EXPORTER), &[&flag]).await?;
        mended(agents).await.with_context(|| format!("{wrong} s from now"))?;
        wait_until("a renewed token", DEADLINE, async || Ok(stored(stage).await? != old)).await?;
        crossing.change(count).await?;
        crossing.arrived().await.context("with a renewed token")?;
        // Through several looks at the token, by a clock that is a year ahead.
        let renewed = stored(stage).await?;
        tokio::time::sleep(SEVERAL_LOOKS).await;
        anyhow::ensure!(stored(stage).await? == renewed, "renewed again, {wrong} s from now");
        mended(agents).await?;
        let entries = gateway.log().entries();
        let asked = entries[requests..].iter().filter(|one| one.seen.resource == TOKENS).count();
        anyhow::ensure!(asked == 1, "{asked} tokens were requested, {wrong} s from now");
    }
    crossing.withdraw().await
}

/// Where the Secret on the hub is that a revocable token of the exporter is bound to.
fn tickets(stage: &Stage) -> Api<Secret> {
    Api::namespaced(stage.hub().client(), &member_namespace(stage.exporter().name()))
}

/// A token of the exporter that is good until it is [revoked](revoke).
async fn revocable(stage: &Stage) -> Result<String> {
    let ticket = serde_json::from_value(json!({ "metadata": { "name": TICKET } }))?;
    let ticket = tickets(stage).create(&PostParams::default(), &ticket).await?;
    let account = rbac::member_on_hub(stage.exporter().name());
    account.token_bound_to(&stage.hub().client(), &ticket).await
}

async fn revoke(stage: &Stage) -> Result<()> {
    tickets(stage).delete(TICKET, &DeleteParams::default()).await?;
    Ok(())
}

/// Puts a token into the Secret of the exporter.
async fn store(stage: &Stage, token: &str) -> Result<()> {
    let (namespace, name) = SECRET;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": name, "namespace": namespace }, "data": { "token": STANDARD.encode(token) },
    });
    apply(&stage.exporter().client(), secret).await
}

async fn stored(stage: &Stage) -> Result<String> {
    let (namespace, name) = SECRET;
    let secrets: Api<Secret> = Api::namespaced(stage.exporter().client(), namespace);
    let data = secrets.get(name).await?.data.unwrap_or_default();
    Ok(String::from_utf8(data.get("token").context("a token")?.0.clone())?)
}

/// Waits until the exporter reports that its credential is no good, to probes and in metrics.
async fn expired(agents: &Agents, why: &str) -> Result<()> {
    wait_until(why, DEADLINE, async || {
        let (code, text) = agents.readiness(Agent::Member(EXPORTER)).await?;
        Ok(code != 200 && text.contains("CredentialExpired: ") && text.contains(why))
    })
    .await?;
    let scrape = Scrape::of(agents, Agent::Member(EXPORTER)).await?;
    anyhow::ensure!(scrape.sum("fleet_hub_credential_expired", &[]) > 0.0, "no metric");
    Ok(())
}

async fn mended(agents: &mut Agents) -> Result<()> {
    agents.wait_ready_of(Agent::Member(EXPORTER)).await?;
    let scrape = Scrape::of(agents, Agent::Member(EXPORTER)).await?;
    anyhow::ensure!(scrape.sum("fleet_hub_credential_expired", &[]) == 0.0, "the metric stays");
    Ok(())
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
    let observer = Observer::start_for(slices).await?;

    // The writer of the file has only begun: the last token stays in force.
    kubeconfig::write_secret(path, "")?;
    crossing.change(2).await?;
    crossing.arrived().await.context("with an empty file")?;

    // A token that ends with a Secret, which is deleted.
    let short = revocable(stage).await?;
    kubeconfig::write_secret(path, &short)?;
    crossing.change(1).await?;
    crossing.arrived().await.context("with another token")?;
    revoke(stage).await?;
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
    end_undisturbed(stage, agents, crossing, observer).await
}

/// F09: an agent is started where the writer of the file has nothing yet.
async fn a_start_without_a_token(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let path = stage.hub_token_path(EXPORTER).to_owned();
    let good = std::fs::read_to_string(&path)?;
    let result = starts_without_a_token(stage, agents, &path, &good).await;
    kubeconfig::write_secret(&path, &good)?;
    result
}

/// What needs no hub works, the agent reports what it waits for, and the hub's part follows when the token is there.
async fn starts_without_a_token(
    stage: &Stage,
    agents: &mut Agents,
    path: &Path,
    good: &str,
) -> Result<()> {
    let agent = Agent::Member(EXPORTER);
    let mut crossing = stage.crossing("tokenless", &[IMPORTER]).await?;
    let machines = stage.namespace("machinesalone").await?;
    let slices =
        [(stage.importer(), kinds::ENDPOINT_SLICE), (stage.hub(), kinds::ENDPOINT_SLICE_EXPORT)];
    let observer = Observer::start_for(slices).await?;

    agents.kill(agent)?;
    kubeconfig::write_secret(path, "")?;
    agents.launch(agent)?;
    external_workloads::own_slices_come_and_go(stage, &machines).await?;
    wait_until("the agent reports that it has no token", DEADLINE, async || {
        let (code, text) = agents.readiness(agent).await?;
        Ok(code != 200 && text.contains("no token yet in "))
    })
    .await?;
    crossing.change(2).await?;
    kubeconfig::write_secret(path, good)?;
    mended(agents).await?;
    crossing.arrived().await.context("with a token")?;
    stage.nothing_left(&machines).await?;
    end_undisturbed(stage, agents, crossing, observer).await
}

/// The Service still crosses, and nothing of it was withdrawn meanwhile.
async fn end_undisturbed(
    stage: &Stage,
    agents: &mut Agents,
    crossing: Crossing<'_>,
    mut observer: Observer,
) -> Result<()> {
    accepted(stage, crossing.key()).await?;
    agents.check_alive()?;
    let gone = observer.take_gone(&crossing.namespace);
    anyhow::ensure!(gone.is_empty(), "withdrawn: {gone:?}");
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
