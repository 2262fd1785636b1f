//! Early spill: the fewer own Pods are ready, the more connections go to others.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use serde_json::json;

use super::statistics::fits;
use super::world::{Import, World, no_more_fail};
use crate::steps::Steps;

const SIZE: usize = 10;
const OTHERS: usize = 10;
const CALLS: u64 = 3000;
/// Endpoints lent for each number of own ones that are ready, below 80 percent of ten.
const LENT: [usize; SIZE + 1] = [OTHERS, 9, 8, 7, 4, 3, 3, 2, 0, 0, 0];

pub(super) async fn check(world: &World<'_>, counts: &[usize], steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, "spilling", [SIZE, OTHERS, 0]);
    let import = steps.take("a Service that may spill is imported", import).await?;
    let spec = json!({
        "preference": "LocalFirst", "spill": { "belowPercent": 80, "size": SIZE },
    });
    world.ask(&import, &spec, |prepared| !prepared.in_use().contains_key(world.name(1))).await?;
    let (calls, plain) = (world.call(&import)?, world.call_plain(&import, world.rate)?);
    for ready in counts {
        let what = format!("{ready} of {SIZE} own Pods are ready");
        let shares = steps.take(&what, left(world, &import, *ready)).await?;
        let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
        eprintln!("{tally}; shares {shares:?}");
        fits(&tally, &shares)?;
    }
    let all = calls.end().await?;
    no_more_fail(&all, &plain.end().await?)
}

/// The endpoints in use once so many own ones are ready.
async fn left(
    world: &World<'_>,
    import: &Import<'_>,
    ready: usize,
) -> Result<BTreeMap<String, usize>> {
    let [here, other] = [world.name(0), world.name(1)];
    world.set_ready(import.servers_in(here)?, ready).await?;
    let lent = LENT[ready];
    let prepared = world
        .until(import, &format!("{ready} serve, {lent} are lent"), |prepared| {
            let used = prepared.in_use();
            let of = |cluster: &str| used.get(cluster).copied().unwrap_or(0);
            (of(here), of(other)) == (ready, lent)
        })
        .await?;
    let used = prepared.in_use();
    ensure!(!used.is_empty(), "nothing is in use");
    Ok(used)
}
