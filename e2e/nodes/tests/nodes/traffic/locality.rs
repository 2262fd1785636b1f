//! Own endpoints stay the first when the node gets a zone.

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::Moment;
use k8s_openapi::api::core::v1::Node;
use kube::Api as Objects;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::world::{Import, World};
use crate::steps::Steps;

const CALLS: u64 = 3000;
const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) async fn check(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let import = world.import(Api::Standard, "zoned", [2, 2, 0]).await?;
    let here = world.name(0);
    let local = json!({ "preference": "LocalFirst" });
    world.ask(&import, &local, |prepared| !prepared.in_use().contains_key(world.name(1))).await?;
    for zone in [json!("z1"), json!("z2"), Value::Null] {
        let moved = own_first_in(world, &import, here, &zone);
        steps.take(&format!("own endpoints come first on a node in zone {zone}"), moved).await?;
    }
    Ok(())
}

async fn own_first_in(
    world: &World<'_>,
    import: &Import<'_>,
    here: &str,
    zone: &Value,
) -> Result<()> {
    let calls = world.call(import)?;
    let begun = Moment::now();
    let nodes: Objects<Node> = Objects::all(world.member(0).client());
    let patch = json!({ "metadata": { "labels": { ZONE: zone } } });
    nodes.patch(world.fleet.node(0).name(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    world
        .until(import, "the zone is named", |prepared| {
            prepared.names(here, zone.as_str().unwrap_or_default())
        })
        .await?;
    let tally = calls.next(CALLS, world.clients.wait_synced().await?).await?;
    ensure!(tally.of(here) == tally.answered(), "{tally}");
    let all = calls.end().await?;
    let last = all
        .last_of(world.name(1))
        .map(|last| last.milliseconds().saturating_sub(begun.milliseconds()));
    eprintln!("{all}; last answer of another cluster after {last:?} ms");
    ensure!(all.failed() == 0, "{all}");
    Ok(())
}
