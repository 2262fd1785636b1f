//! Own endpoints by the agent: what becomes of them when the leader stands still, and when its standby does, too.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::{Calling, Moment};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::process::Server;
use rustix::process::Signal;
use serde_json::json;

use super::prepared::Prepared;
use super::world::{Import, World, no_more_fail};
use crate::steps::Steps;

const OWN: usize = 3;
const CALLS: u64 = 2000;
const RATE: u32 = 200;
/// What fails where an endpoint is gone: others are late where the machine is.
const REFUSED: &str = "refused";
/// The agents of the importing cluster.
const HERE: Agent = Agent::Member(0);

/// The first agent leads. Its standby has to be started after it.
pub(super) async fn check(world: &World<'_>, agents: &mut Agents, steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, "stands-by", [OWN, 2, 0]).await?;
    let here = world.name(0);
    let local = json!({ "preference": "LocalFirst" });
    world.ask(&import, &local, |prepared| prepared.in_use().keys().eq([here])).await?;
    let standby = steps.take("a standby is ready", agents.start_replica(HERE)).await?;
    world.hub().freeze_apiserver().await?;
    agents.freeze(Agent::Hub)?;
    let found = story(world, &import, agents, &standby, steps).await;
    agents.thaw(HERE)?;
    agents.thaw(Agent::Hub)?;
    world.hub().thaw_apiserver().await?;
    drop(standby);
    found?;
    agents.wait_ready().await
}

async fn story(
    world: &World<'_>,
    import: &Import<'_>,
    agents: &Agents,
    standby: &Server,
    steps: &mut Steps,
) -> Result<()> {
    let (calls, plain) = (world.call_at(import, RATE)?, world.call_plain(import, RATE)?);
    agents.freeze(HERE)?;
    let moved = moves(world, import, &calls, false);
    steps.take("the leader stands still: its standby moves the Service", moved).await?;
    standby.signal(Signal::STOP);
    let frozen = stays(world, import, &calls);
    steps.take("both stand still: own Pods that are back stay out of use", frozen).await?;
    standby.signal(Signal::CONT);
    agents.thaw(HERE)?;
    let right = moves(world, import, &calls, true);
    steps.take("both go on: own endpoints are in use", right).await?;
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    eprintln!("{tally}; of the plain Service: {plain}");
    no_more_fail(&tally, &plain)
}

/// Own Pods become ready or not, if they are not so yet, and all calls follow.
async fn moves(world: &World<'_>, import: &Import<'_>, calls: &Calling, ready: bool) -> Result<()> {
    let here = world.name(0);
    let wanted = if ready { OWN } else { 0 };
    let begun = Moment::now();
    world.set_ready(import.servers_in(here)?, wanted).await?;
    let is_so = |prepared: &Prepared| prepared.ready(here) == wanted;
    world.until(import, &format!("{wanted} own endpoints are ready"), is_so).await?;
    let took = Moment::now().milliseconds() - begun.milliseconds();
    eprintln!("{wanted} own endpoints are ready after {took} ms");
    let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
    ensure!(tally.failed_with(REFUSED) == 0, "{tally}");
    ensure!(tally.of(here) == if ready { tally.answered() } else { 0 }, "{tally}");
    Ok(())
}

/// Own Pods are ready, and no agent writes it.
async fn stays(world: &World<'_>, import: &Import<'_>, calls: &Calling) -> Result<()> {
    let here = world.name(0);
    let own = import.servers_in(here)?;
    world.set_ready(own, OWN).await?;
    own.wait_ready(OWN, OWN).await?;
    let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
    ensure!(tally.of(here) == 0 && tally.failed_with(REFUSED) == 0, "{tally}");
    ensure!(world.prepared(import).await?.ready(here) == 0, "an agent wrote it");
    Ok(())
}
