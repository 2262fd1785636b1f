//! API servers go away for a while.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_e2e::observer::{Observation, Observer};
use fleet_e2e::testbed::agents::{Agent, Agents};
use fleet_e2e::testbed::cluster::Cluster;
use fleet_e2e::wait::wait_until;
use futures::future::try_join_all;

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

        // While the hub was away nobody told the importers anything; what they saw was the change, once.
        let gone = observer.take().into_iter().find(|seen| {
            seen.what == fleet_e2e::observer::What::Gone && seen.name().contains(&namespace)
        });
        ensure!(
            gone.is_none(),
            "it went and came: {}",
            gone.as_ref().map_or_else(String::new, show)
        );
    }
    for crossing in &crossings {
        accepted(stage, crossing.key()).await?;
    }
    end(stage, &namespace, crossings).await
}

fn show(seen: &Observation) -> String {
    seen.to_string()
}

fn nothing_happened(observer: &mut Observer) -> Result<()> {
    let seen: Vec<String> = observer.take().iter().map(ToString::to_string).collect();
    ensure!(seen.is_empty(), "without the hub:\n{}", seen.join("\n"));
    Ok(())
}

async fn take_away(cluster: &Cluster, kill: bool) -> Result<()> {
    if kill { cluster.kill_apiserver().await } else { cluster.stop_apiserver().await }
}

async fn an_importer_catches_up(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("noimp").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    for kill in [false, true] {
        let before = failures(agents, Agent::Member(IMPORTER)).await?;
        take_away(stage.importer(), kill).await?;
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
        arrive(&format!("the importer is back (killed: {kill})"), &crossings).await?;
    }
    end(stage, &namespace, crossings).await
}

/// Its own cluster is away: what it has exported stays with the importers.
async fn an_exporter_catches_up(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("noexp").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    for kill in [false, true] {
        let mut observer = Observer::start_for([
            (stage.hub(), kinds::ENDPOINT_SLICE_EXPORT),
            (stage.importer(), kinds::ENDPOINT_SLICE),
        ])
        .await?;
        take_away(stage.exporter(), kill).await?;
        agents.check_alive()?;
        stage.exporter().start_apiserver().await?;
        for crossing in &mut crossings {
            crossing.change(2).await?;
        }
        arrive(&format!("the exporter is back (killed: {kill})"), &crossings).await?;
        let gone =
            observer.take().into_iter().find(|seen| seen.what == fleet_e2e::observer::What::Gone);
        ensure!(
            gone.is_none(),
            "it went and came: {}",
            gone.as_ref().map_or_else(String::new, show)
        );
    }
    end(stage, &namespace, crossings).await
}
