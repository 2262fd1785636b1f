//! The store of a cluster is restored from a backup, under agents that run.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::objects::find;
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;

use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, Stage};
use crate::tests::Tests;

/// Longer than it takes until an older state is believed.
const BELIEVED: Duration = Duration::from_mins(3);

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // Stores of existing clusters are not the suite's to replace.
    }
    tests.unjudged("restored::the_hub_goes_back_in_time", the_hub_goes_back_in_time);
}

/// What is newer than the backup is written again, and never leaves the importer; what is not exported any more goes
/// again, a minute later. No agent is restarted.
async fn the_hub_goes_back_in_time(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("restored").await?;
    let mut old = stage.crossing_in(&namespace, "old", &[IMPORTER]).await?;
    let withdrawn = stage.crossing_in(&namespace, "withdrawn", &[IMPORTER]).await?;
    let hub = stage.hub().control_plane().context("the hub is the testbed's")?;
    let saved = hub.save_store().await?;
    old.arrived().await?;

    let mut new = stage.crossing_in(&namespace, "new", &[IMPORTER]).await?;
    withdrawn.end().await?;
    gone(stage, &namespace, "withdrawn").await?;
    old.change(2).await?;
    old.arrived().await?;
    let derived = [old.derived(IMPORTER).await?, new.derived(IMPORTER).await?];
    let watched = [(stage.importer(), kinds::ENDPOINT_SLICE), (stage.importer(), kinds::SERVICE)];
    let mut observer = Observer::start_for(watched).await?;
    let before = hub.etcd().revision().await?;
    hub.restore_store(&saved).await?;
    let after = hub.etcd().revision().await?;
    ensure!(after < before, "the store is at {after}, and was at {before}");

    for agent in [Agent::Hub, Agent::Member(EXPORTER), Agent::Member(IMPORTER)] {
        notices(agents, agent).await?;
    }
    for crossing in [&mut old, &mut new] {
        arrives_again(stage, crossing).await?;
    }
    // The export that the older state has again.
    gone(stage, &namespace, "withdrawn").await?;
    let lost = observer.take().into_iter().find(|seen| {
        let name = seen.name();
        seen.what == What::Gone
            && (name.contains("-old-")
                || name.contains("-new-")
                || derived.iter().any(|it| name.ends_with(it.as_str())))
    });
    ensure!(lost.is_none(), "lost: {lost:?}");
    agents.check_alive()?;
    old.end().await?;
    new.end().await?;
    stage.nothing_left(&namespace).await
}

/// Waits until an agent has seen that a server went back in time.
async fn notices(agents: &Agents, agent: Agent) -> Result<()> {
    wait_until(&format!("{agent:?} notices"), DEADLINE, async || {
        let scrape = Scrape::of(agents, agent).await?;
        let labels = [("class", "went_back")];
        Ok(scrape.sum("fleet_accumulator_source_errors_total", &labels) > 0.0)
    })
    .await
}

/// Waits until the hub has the export again, and a change of it arrives.
async fn arrives_again(stage: &Stage, crossing: &mut Crossing<'_>) -> Result<()> {
    crossing.change(3).await?;
    crossing.arrived().await.context("after the restore")?;
    crate::stage::accepted(stage, crossing.key()).await
}

/// Waits until the hub has nothing of a Service any more.
async fn gone(stage: &Stage, namespace: &str, name: &str) -> Result<()> {
    wait_until(&format!("the hub has no {name}"), BELIEVED, async || {
        Ok(find(stage.hub(), kinds::SERVICE_IMPORT, (namespace, name)).await?.is_none())
    })
    .await
}
