//! Drains of the only member that exports a Service.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::Moment;
use fleet_testbed::traffic;
use serde_json::{Value, json};

use super::world::{Import, World};
use crate::steps::Steps;

const NAME: &str = "sole";
const PODS: usize = 2;
const CALLS: u64 = 1000;

pub(super) async fn check(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, NAME, [0, PODS, 0]).await?;
    steps.take("a drain of the only exporter is refused", refused(world, &import)).await?;
    steps.take("forced, it still serves", forced(world, &import)).await?;
    steps.take("removed, nothing answers", removed(world, &import)).await?;
    steps.take("undrained, it serves again", undrained(world, &import)).await
}

async fn ask(world: &World<'_>, import: &Import<'_>, drain: Value) -> Result<()> {
    world.drain(import, world.name(1), drain).await
}

async fn refused(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    ask(world, import, json!({ "percent": 100 })).await?;
    let is_refused = |status: &Value| status["drains"][0]["reason"] == "Refused";
    world.decided(world.name(1), "refused", is_refused).await?;
    serves(world, import).await?;
    let ready = world.prepared(import).await?.ready(world.name(1));
    ensure!(ready == PODS, "{ready} are ready");
    Ok(())
}

async fn forced(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    let calls = world.call(import)?;
    ask(world, import, json!({ "percent": 100, "force": true })).await?;
    let is_drained = |status: &Value| status["drains"][0]["reason"] == "Drained";
    world.decided(world.name(1), "drained", is_drained).await?;
    let tally = calls.next(CALLS * 5, Moment::now()).await?;
    calls.end().await?;
    ensure!(tally.failed() == 0, "{tally}");
    Ok(())
}

async fn removed(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    ask(world, import, json!({ "percent": 100, "force": true, "remove": true })).await?;
    world.until(import, "nothing is left", |prepared| prepared.all(world.name(1)) == 0).await?;
    world.clients.wait_synced().await?;
    let tally = world.count(import, CALLS).await?;
    // The kernel sends few refusals to one client in a second: most calls get none.
    ensure!(tally.answered() == 0 && tally.failed_with("refused") > 0, "{tally}");
    Ok(())
}

async fn undrained(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    traffic::drain(world.hub(), world.name(1), &json!([])).await?;
    world.until(import, "all is back", |prepared| prepared.ready(world.name(1)) == PODS).await?;
    world.clients.wait_synced().await?;
    serves(world, import).await
}

async fn serves(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    let tally = world.count(import, CALLS).await?;
    ensure!(tally.of(world.name(1)) == CALLS, "{tally}");
    Ok(())
}
