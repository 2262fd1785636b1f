//! Three ranks in three clusters, which fail one after the other, and a member that serves although it is drained.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::Calling;
use fleet_testbed::agents::{Agent, Agents};
use serde_json::{Value, json};

use super::world::{Import, World, no_more_fail};
use crate::steps::Steps;

const PODS: usize = 2;
const CALLS: u64 = 2000;
const RATE: u32 = 200;
/// What fails where an endpoint is gone: others are late where the machine is.
const REFUSED: &str = "refused";

fn only(cluster: &str) -> Value {
    let id = json!({ "cluster.clusterset.k8s.io": cluster });
    json!({ "propertySelector": { "matchProperties": id } })
}

/// Each rank serves when those before it are gone, the last one without an agent, too.
pub(super) async fn in_turn(
    world: &World<'_>,
    agents: &mut Agents,
    steps: &mut Steps,
) -> Result<()> {
    let import = world.import(Api::Standard, "ranks", [PODS, PODS, PODS]).await?;
    let [first, second, third] = [0, 1, 2].map(|at| world.name(at));
    let selectors = json!({
        "preference": "Selectors", "clusterSelectors": [only(first), only(second)],
    });
    world.ask(&import, &selectors, |prepared| prepared.in_use().keys().eq([first])).await?;
    let (calls, plain) = (world.call_at(&import, RATE)?, world.call_plain(&import, RATE)?);
    let moved = fails(world, &import, first, second, &calls);
    steps.take("the first rank fails: the second one serves", moved).await?;
    let second_fails = async {
        // kube-proxy brings the third into use before the agent has promoted it.
        let gone = set(world, &import, second, 0);
        let unready = async {
            world.until(&import, "the second is gone", |it| it.ready(second) == 0).await?;
            agents.freeze(Agent::Member(0))
        };
        futures::try_join!(gone, unready)?;
        served_by(world, third, &calls).await
    };
    steps.take("the second one fails: the third one serves without an agent", second_fails).await?;
    agents.thaw(Agent::Member(0))?;
    let promoted = async {
        world.until(&import, "the third is promoted", |it| it.ready(third) == PODS).await?;
        served_by(world, third, &calls).await
    };
    steps.take("it is promoted", promoted).await?;
    let back = async {
        set(world, &import, second, PODS).await?;
        set(world, &import, first, PODS).await?;
        world
            .until(&import, "own endpoints are in use", |it| it.in_use().keys().eq([first]))
            .await?;
        served_by(world, first, &calls).await
    };
    steps.take("all are back: the first one serves", back).await?;
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    eprintln!("{tally}; of the plain Service: {plain}");
    no_more_fail(&tally, &plain)
}

/// A member is drained, then the hub is cut off, then the other member fails: the drained one serves.
pub(super) async fn drained_and_cut(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, "both", [PODS, PODS, 0]).await?;
    let [west, east] = [0, 1].map(|at| world.name(at));
    let drain =
        |percent: u64| world.drain(&import, east, json!({ "percent": percent, "overSeconds": 0 }));
    drain(100).await?;
    world.until(&import, "it is drained", |prepared| prepared.ready(east) == 0).await?;
    let calls = world.call_at(&import, RATE)?;
    let plain = world.call_plain(&import, RATE)?;
    world.hub().freeze_apiserver().await?;
    let found = steps.take(
        "the hub is cut off and the other one fails: the drained one serves",
        fails(world, &import, west, east, &calls),
    );
    let found = found.await;
    world.hub().thaw_apiserver().await?;
    found?;
    set(world, &import, west, PODS).await?;
    let back = async {
        world
            .until(&import, "own endpoints are in use", |it| it.in_use().keys().eq([west]))
            .await?;
        served_by(world, west, &calls).await
    };
    steps.take("it is back: the drained one rests", back).await?;
    drain(0).await?;
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    eprintln!("{tally}; of the plain Service: {plain}");
    no_more_fail(&tally, &plain)
}

async fn set(world: &World<'_>, import: &Import<'_>, cluster: &str, ready: usize) -> Result<()> {
    world.set_ready(import.servers_in(cluster)?, ready).await
}

/// All Pods of a cluster fail, and another one serves.
async fn fails(
    world: &World<'_>,
    import: &Import<'_>,
    from: &str,
    to: &str,
    calls: &Calling,
) -> Result<()> {
    set(world, import, from, 0).await?;
    world.until(import, "it is gone", |prepared| prepared.in_use().keys().eq([to])).await?;
    served_by(world, to, calls).await
}

async fn served_by(world: &World<'_>, cluster: &str, calls: &Calling) -> Result<()> {
    let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
    ensure!(tally.failed_with(REFUSED) == 0 && tally.of(cluster) == tally.answered(), "{tally}");
    Ok(())
}
