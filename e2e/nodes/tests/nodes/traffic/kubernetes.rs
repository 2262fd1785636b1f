//! Own endpoints by kube-controller-manager, through a selector of the derived Service: the change to it and back, and what goes on
//! when the hub and every agent stand still.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fleet_api::labels::MANAGED_BY_MULTICLUSTER;
use fleet_nodes::crossing::Api;
use fleet_nodes::load::{Moment, Tally};
use fleet_testbed::agents::Agents;
use serde_json::{Value, json};

use super::prepared::Prepared;
use super::world::{Import, World, no_more_fail};
use crate::steps::Steps;

const OWN: usize = 3;
/// How often the mode changes, there and back.
const CHANGES: usize = 3;
const CALLS: u64 = 3000;
/// What makes slices of Pods.
const BUILT_IN: &str = "endpointslice-controller.k8s.io";

fn policy(mode: &str) -> Value {
    json!({ "preference": "LocalFirst", "localEndpoints": mode })
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|&name| name.to_owned()).collect()
}

/// Whether own endpoints are in slices of this manager alone, and all of them.
fn is_written_by(prepared: &Prepared, here: &str, manager: &str) -> bool {
    let others = if manager == BUILT_IN {
        names(&[BUILT_IN, MANAGED_BY_MULTICLUSTER])
    } else {
        names(&[manager])
    };
    prepared.managers_of(here) == names(&[manager])
        && prepared.managers() == others
        && prepared.ready(here) == OWN
        && prepared.in_use().keys().eq([here])
}

/// Lets Kubernetes write own endpoints.
pub(super) async fn by_kubernetes(world: &World<'_>, import: &Import<'_>) -> Result<Prepared> {
    let here = world.name(0);
    world
        .ask(import, &policy("Kubernetes"), |prepared| is_written_by(prepared, here, BUILT_IN))
        .await
}

/// The mode changes under load. No call fails or leaves the cluster, and no slice is left behind.
pub(super) async fn mode_changes(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, "written", [OWN, 2, 0]).await?;
    let here = world.name(0);
    let by_agent = |prepared: &Prepared| is_written_by(prepared, here, MANAGED_BY_MULTICLUSTER);
    world.ask(&import, &policy("Agent"), by_agent).await?;
    let (calls, plain) = (world.call(&import)?, world.call_plain(&import, world.rate)?);
    calls.next(u64::from(world.rate), Moment::now()).await?;
    for change in 1..=CHANGES {
        let there = by_kubernetes(world, &import);
        steps.take(&format!("change {change}: Kubernetes writes own endpoints"), there).await?;
        let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
        ensure!(tally.of(here) == tally.answered(), "{tally}");
        let agent = policy("Agent");
        let back = world.ask(&import, &agent, by_agent);
        steps.take(&format!("change {change}: the agent writes them"), back).await?;
        let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
        ensure!(tally.of(here) == tally.answered(), "{tally}");
    }
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    eprintln!("{tally}; of the plain Service: {plain}");
    ensure!(tally.of(here) == tally.answered(), "others have served: {tally}");
    let left = world.prepared(&import).await?;
    ensure!(by_agent(&left), "left behind: {:?}", left.managers());
    no_more_fail(&tally, &plain)
}

/// The hub, its agent and all agents of members stand still. Own Pods fail and come back: nothing of the fleet is needed for that.
pub(super) async fn without_agents(
    world: &World<'_>,
    agents: &mut Agents,
    steps: &mut Steps,
) -> Result<()> {
    let import = world.import(Api::Standard, "alone", [OWN, 2, 2]).await?;
    let asked = by_kubernetes(world, &import);
    steps.take("Kubernetes writes own endpoints", asked).await?;
    let all = world.fleet.fleet().agents();
    world.hub().freeze_apiserver().await?;
    all.iter().try_for_each(|agent| agents.freeze(*agent))?;
    let found =
        steps.take("own Pods fail and come back without any agent", takes_over(world, &import));
    let found = found.await;
    all.iter().try_for_each(|agent| agents.thaw(*agent))?;
    world.hub().thaw_apiserver().await?;
    found?;
    let alive = async {
        agents.wait_ready().await?;
        let here = world.name(0);
        world.until(&import, "all is as it was", |it| is_written_by(it, here, BUILT_IN)).await
    };
    steps.take("the agents go on", alive).await.map(drop)
}

async fn takes_over(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    let here = world.name(0);
    let own = import.servers_in(here)?;
    let before = world.prepared(import).await?.versions_but(here);
    let (calls, plain) = (world.call(import)?, world.call_plain(import, world.rate)?);
    calls.next(u64::from(world.rate), Moment::now()).await?;
    let gone = Moment::now();
    world.set_ready(own, 0).await?;
    world.until(import, "no own endpoint is ready", |prepared| prepared.ready(here) == 0).await?;
    let elsewhere = calls.next(CALLS, world.clients.wait_synced().await?).await?;
    ensure!(elsewhere.of(here) == 0 && elsewhere.failed() == 0, "{elsewhere}");
    let back = Moment::now();
    world.set_ready(own, OWN).await?;
    world.until(import, "own endpoints are ready", |prepared| prepared.ready(here) == OWN).await?;
    let returned = calls.next(CALLS, world.clients.wait_synced().await?).await?;
    ensure!(returned.of(here) == returned.answered() && returned.failed() == 0, "{returned}");
    let after = world.prepared(import).await?.versions_but(here);
    ensure!(before == after, "slices of other clusters were written: {before:?}, then {after:?}");
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    print_times(&tally, here, gone, back);
    eprintln!("{tally}; of the plain Service: {plain}");
    no_more_fail(&tally, &plain)
}

fn print_times(tally: &Tally, here: &str, gone: Moment, back: Moment) {
    let since =
        |moment: Moment, from: Moment| moment.milliseconds().saturating_sub(from.milliseconds());
    let last = tally.before(back).last_of(here).unwrap_or(gone);
    let first = tally.since(back).first_of(here).unwrap_or(back);
    eprintln!(
        "without any agent: last own answer after {} ms, back after {} ms",
        since(last, gone),
        since(first, back)
    );
}
