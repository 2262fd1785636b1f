//! API servers go away for a while.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fleet_api::kinds;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_e2e::observer::{Observer, What};
use fleet_e2e::testbed::agents::{Agent, Agents};
use fleet_e2e::testbed::cluster::Cluster;
use fleet_e2e::testbed::rbac;
use fleet_e2e::wait::wait_until;
use futures::future::try_join_all;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::DeleteParams;

use crate::scrape::Scrape;
use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, SECOND_IMPORTER, Stage, accepted};
use crate::tests::Tests;

const SERVICES: usize = 5;
/// Shorter than the longest pause of anybody who tries again for ever.
const BACK_WITHIN: Duration = Duration::from_secs(20);

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_e2e::fleet::HUB_KUBECONFIG).is_some() {
        return; // Nobody else's API servers are ours to stop.
    }
    tests.alone("outage::traffic_survives_the_hub", traffic_survives_the_hub);
    tests.alone("outage::an_importer_catches_up", an_importer_catches_up);
    tests.alone("outage::an_exporter_catches_up", an_exporter_catches_up);
    tests.alone("outage::a_right_is_taken_and_given_back", a_right_is_taken_and_given_back);
}

async fn crossings<'a>(stage: &'a Stage, namespace: &str) -> Result<Vec<Crossing<'a>>> {
    let mut crossings = Vec::new();
    for number in 0..SERVICES {
        let (name, importers) = (format!("web-{number}"), [IMPORTER, SECOND_IMPORTER]);
        crossings.push(stage.crossing_in(namespace, &name, &importers).await?);
    }
    Ok(crossings)
}

async fn arrive(what: &str, crossings: &[Crossing<'_>]) -> Result<()> {
    let begin = Instant::now();
    try_join_all(crossings.iter().map(Crossing::arrived)).await.with_context(|| what.to_owned())?;
    let took = begin.elapsed();
    eprintln!("{what}: caught up after {:.1} s", took.as_secs_f64());
    ensure!(took < BACK_WITHIN, "{what}: it took {took:?}");
    Ok(())
}

async fn end(stage: &Stage, namespace: &str, crossings: Vec<Crossing<'_>>) -> Result<()> {
    try_join_all(crossings.into_iter().map(Crossing::end)).await?;
    stage.nothing_left(namespace).await
}

/// Writes of an agent that failed so far.
async fn failures(agents: &Agents, agent: Agent) -> Result<f64> {
    Ok(Scrape::of(agents, agent).await?.sum("fleet_runtime_failures_total", &[]))
}

/// Waits until an agent has tried in vain several times: it has noticed.
async fn tries_in_vain(agents: &Agents, agent: Agent, before: f64) -> Result<()> {
    let what = format!("{agent:?} tries in vain");
    wait_until(&what, DEADLINE, async || Ok(failures(agents, agent).await? >= before + 15.0)).await
}

/// Imported slices and derived Services stay as they are; changes made meanwhile arrive afterwards.
async fn traffic_survives_the_hub(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("nohub").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let importers = [stage.importer(), stage.member(SECOND_IMPORTER)];
    for kill in [false, true] {
        let kinds = [kinds::ENDPOINT_SLICE, kinds::SERVICE];
        let targets = importers.iter().flat_map(|&cluster| kinds.map(|kind| (cluster, kind)));
        let mut observer = Observer::start_for(targets).await?;
        let before = failures(agents, Agent::Member(EXPORTER)).await?;
        take_away(stage.hub(), kill).await?;
        for crossing in &mut crossings {
            crossing.change(2).await?;
        }
        tries_in_vain(agents, Agent::Member(EXPORTER), before).await?;
        agents.check_alive()?;
        nothing_happened(&mut observer)?;
        stage.hub().start_apiserver().await?;
        arrive(&format!("the hub is back (killed: {kill})"), &crossings).await?;

        nothing_went(&mut observer, &namespace)?;
    }
    for crossing in &crossings {
        accepted(stage, crossing.key()).await?;
    }
    end(stage, &namespace, crossings).await
}

/// What was imported has changed in place: traffic was never without endpoints.
fn nothing_went(observer: &mut Observer, namespace: &str) -> Result<()> {
    let gone = observer
        .take()
        .into_iter()
        .find(|seen| seen.what == What::Gone && seen.name().contains(namespace));
    gone.map_or(Ok(()), |gone| bail!("it went and came: {gone}"))
}

/// Not one write.
fn nothing_happened(observer: &mut Observer) -> Result<()> {
    let seen: Vec<String> = observer.take().iter().map(ToString::to_string).collect();
    ensure!(seen.is_empty(), "meanwhile:\n{}", seen.join("\n"));
    Ok(())
}

/// Ends the API server as an update does, or as a crash.
async fn take_away(cluster: &Cluster, kill: bool) -> Result<()> {
    if kill { cluster.kill_apiserver().await } else { cluster.stop_apiserver().await }
}

async fn an_importer_catches_up(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("noimp").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let before = failures(agents, Agent::Member(IMPORTER)).await?;
    take_away(stage.importer(), true).await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    tries_in_vain(agents, Agent::Member(IMPORTER), before).await?;
    // The other importer does not notice.
    let other = stage.member(SECOND_IMPORTER);
    for crossing in &crossings {
        let (namespace, name) = crossing.key();
        let wanted = &crossing.addresses;
        fleet_e2e::exchange::wait_imported(other, namespace, name, wanted, DEADLINE).await?;
    }
    agents.check_alive()?;
    stage.importer().start_apiserver().await?;
    arrive("the importer is back", &crossings).await?;
    end(stage, &namespace, crossings).await
}

/// Its own cluster is away: what it has exported stays with the importers.
async fn an_exporter_catches_up(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("noexp").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let mut observer = Observer::start_for([
        (stage.hub(), kinds::ENDPOINT_SLICE_EXPORT),
        (stage.importer(), kinds::ENDPOINT_SLICE),
    ])
    .await?;
    take_away(stage.exporter(), false).await?;
    agents.check_alive()?;
    stage.exporter().start_apiserver().await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    arrive("the exporter is back", &crossings).await?;
    nothing_went(&mut observer, &namespace)?;
    end(stage, &namespace, crossings).await
}

/// The importer's agent may not write slices for a while. What is imported stays, and follows as soon as it may again.
async fn a_right_is_taken_and_given_back(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("norights").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let importer = stage.importer();
    let mut observer = Observer::start_for([(importer, kinds::ENDPOINT_SLICE)]).await?;
    let before = failures(agents, Agent::Member(IMPORTER)).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(importer.client(), SYSTEM_NAMESPACE);
    bindings.delete("member-agent", &DeleteParams::default()).await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    tries_in_vain(agents, Agent::Member(IMPORTER), before).await?;
    agents.check_alive()?;
    nothing_happened(&mut observer)?;
    rbac::member_agent().apply(&importer.client()).await?;
    arrive("the right is back", &crossings).await?;
    nothing_went(&mut observer, &namespace)?;
    end(stage, &namespace, crossings).await
}
