//! Own endpoints come first; when none is ready, others take over, and they give back.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::{Moment, Tally};
use fleet_nodes::node::ProxyMode;
use serde_json::json;

use super::world::{Import, World, no_more_fail};
use crate::steps::Steps;

const OWN: usize = 3;
const CALLS: u64 = 10_000;
const FEWER_CALLS: u64 = 3000;

pub(super) async fn check(
    world: &World<'_>,
    api: Api,
    mode: ProxyMode,
    steps: &mut Steps,
) -> Result<()> {
    let name = format!("over-{api:?}").to_lowercase();
    let import = world.import(api, &name, [OWN, 2, 2]);
    let import = steps.take(&format!("{name} is imported"), import).await?;
    steps.take("own endpoints take all connections", own_first(world, &import, mode)).await?;
    let own = import.servers_in(world.name(0))?;
    steps
        .take("without a ready own Pod others serve, and give back", async {
            takes_over(world, &import, async |ready| {
                world.set_ready(own, if ready { OWN } else { 0 }).await
            })
            .await
        })
        .await?;
    steps
        .take("the same with Pods that are deleted", async {
            takes_over(world, &import, async |ready| {
                own.begin_scale(if ready { OWN } else { 0 }).await
            })
            .await
        })
        .await
}

async fn own_first(world: &World<'_>, import: &Import<'_>, mode: ProxyMode) -> Result<()> {
    let here = world.name(0);
    let local = json!({ "preference": "LocalFirst" });
    let only_own = |used: std::collections::BTreeMap<String, usize>| {
        used.len() == 1 && used.get(here) == Some(&OWN)
    };
    world.ask(import, &local, |prepared| only_own(prepared.in_use())).await?;
    let calls = if mode == ProxyMode::Nftables { CALLS } else { FEWER_CALLS };
    let tally = world.count(import, calls).await?;
    ensure!(tally.of(here) == tally.answered() && tally.pods() == OWN, "{tally}");
    ensure!(tally.failed() == 0, "{tally}");
    Ok(())
}

/// All own Pods go and come back under load. Slices of other clusters are not written meanwhile.
async fn takes_over(
    world: &World<'_>,
    import: &Import<'_>,
    set: impl AsyncFn(bool) -> Result<()>,
) -> Result<()> {
    let here = world.name(0);
    let before = world.prepared(import).await?.versions_but(here);
    let (calls, plain) = (world.call(import)?, world.call_plain(import, world.rate)?);
    calls.next(u64::from(world.rate), Moment::now()).await?;
    let gone = Moment::now();
    set(false).await?;
    world.until(import, "no own endpoint is ready", |prepared| prepared.ready(here) == 0).await?;
    let noticed = Moment::now();
    let elsewhere = calls.next(FEWER_CALLS, world.clients.wait_synced().await?).await?;
    ensure!(elsewhere.of(here) == 0, "{elsewhere}");
    let back = Moment::now();
    set(true).await?;
    world.until(import, "own endpoints are ready", |prepared| prepared.ready(here) == OWN).await?;
    let returned = calls.next(FEWER_CALLS, world.clients.wait_synced().await?).await?;
    ensure!(returned.of(here) == returned.answered(), "{returned}");
    let after = world.prepared(import).await?.versions_but(here);
    ensure!(before == after, "slices of other clusters were written: {before:?}, then {after:?}");
    let (tally, plain) = (calls.end().await?, plain.end().await?);
    print_times(&tally, here, gone, noticed, back);
    no_more_fail(&tally, &plain)
}

fn print_times(tally: &Tally, here: &str, gone: Moment, noticed: Moment, back: Moment) {
    let since =
        |moment: Moment, from: Moment| moment.milliseconds().saturating_sub(from.milliseconds());
    let last = tally.before(back).last_of(here).unwrap_or(gone);
    let first = tally.since(back).first_of(here).unwrap_or(back);
    eprintln!(
        "{tally}; noticed after {} ms, last own answer after {} ms, back after {} ms",
        since(noticed, gone),
        since(last, gone),
        since(first, back)
    );
}
