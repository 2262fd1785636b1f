//! A member is drained and returns while one connection stays and thousands come and go.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::{Calling, Moment};
use serde_json::{Value, json};

use super::world::{Import, NAMESPACE, World, no_more_fail};
use crate::steps::Steps;

/// Two steps.
const SECONDS: u64 = 60;
const PODS: usize = 4;
const CALLS: u64 = 10_000;
/// Calls that are new to the drained member take so long.
const RATE: u32 = 200;

pub(super) async fn check(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, "drained", [PODS, PODS, 0]).await?;
    let east = world.name(1);
    let stream = world.leads_to(east, |number| world.stream(&import, number));
    let stream = steps.take("a connection stays at the member", stream).await?;
    let (calls, plain) = (world.call_at(&import, RATE)?, world.call_plain(&import, RATE)?);
    steps.take("the member is drained", drained(world, &import, east, &calls)).await?;
    steps.take("and returns in steps", returns(world, &import, east, &calls)).await?;
    let tally = calls.next(CALLS, Moment::of(0)).await?;
    eprintln!("{tally}");
    calls.end().await?;
    no_more_fail(&tally, &plain.end().await?)?;
    let kept = stream.end().await?;
    ensure!(kept.failed() == 0 && kept.of(east) > SECONDS, "the connection that stayed: {kept}");
    Ok(())
}

async fn ask(world: &World<'_>, import: &Import<'_>, member: &str, percent: u64) -> Result<()> {
    world.drain(import, member, json!({ "percent": percent, "overSeconds": SECONDS })).await
}

fn percent(status: &Value) -> Option<u64> {
    let drains = status["drains"].as_array()?;
    let service = format!("{NAMESPACE}/drained");
    drains.iter().find(|drain| drain["service"] == service.as_str())?["percent"].as_u64()
}

async fn drained(
    world: &World<'_>,
    import: &Import<'_>,
    east: &str,
    calls: &Calling,
) -> Result<()> {
    ask(world, import, east, 100).await?;
    world.decided(east, "drained by half", |status| percent(status) == Some(50)).await?;
    world.until(import, "half is last resort", |prepared| prepared.ready(east) == PODS / 2).await?;
    world.decided(east, "drained", |status| percent(status) == Some(100)).await?;
    world.until(import, "all is last resort", |prepared| prepared.ready(east) == 0).await?;
    let tally = calls.next(3000, world.clients.wait_synced().await?).await?;
    ensure!(tally.of(east) == 0, "{tally}");
    Ok(())
}

async fn returns(
    world: &World<'_>,
    import: &Import<'_>,
    east: &str,
    calls: &Calling,
) -> Result<()> {
    ask(world, import, east, 0).await?;
    world.until(import, "half has returned", |prepared| prepared.ready(east) == PODS / 2).await?;
    let half = Moment::now();
    let prepared =
        world.until(import, "all has returned", |prepared| prepared.ready(east) == PODS).await?;
    ensure!(prepared.ready(east) == PODS, "all is ready");
    ensure!(
        Moment::now() >= half.after(std::time::Duration::from_secs(SECONDS / 4)),
        "in one step"
    );
    let tally = calls.next(1000, world.clients.wait_synced().await?).await?;
    ensure!(tally.of(east) > 0, "{tally}");
    Ok(())
}
