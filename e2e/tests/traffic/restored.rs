//! A hub whose store is restored from a backup, under agents that run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::observer::Observer;
use fleet_testbed::traffic;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Options, Testbed, exchange};
use kube::api::DynamicObject;
use serde_json::json;

use crate::held::wait_held;
use crate::hub_side::HubSide;
use crate::shared::{self, Exported, FLEET, addresses, imported};
use crate::{EAST, NORTH, SHOP, WEST};

const DEADLINE: Duration = Duration::from_mins(4);
/// Of each Service, since the backup.
const CHANGES: usize = 50;

pub(crate) async fn story() -> Result<()> {
    let testbed = Testbed::start(Options::members(3).without_audit()).await?;
    let result = Box::pin(restored(&testbed)).await;
    testbed.explain(result).await
}

/// Nothing older than what is imported comes back, and no drain ends by itself.
async fn restored(testbed: &Fleet) -> Result<()> {
    let side = HubSide { fleet: testbed, restarts: false, standard: true };
    side.prepare().await?;
    side.prepare_members().await?;
    let environment = shared::environment();
    let options = AgentOptions { environment, ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &options).await?;
    let (east, north, west) = (testbed.member(EAST), testbed.member(NORTH), testbed.member(WEST));
    let (mut of_east, mut of_north) = (Exported::by(east).await?, Exported::by(north).await?);
    exchange::import(west, SHOP, FLEET, FLEET).await?;
    shared::wait_imported(west, &[&of_east, &of_north]).await?;
    for member in [EAST, NORTH, WEST] {
        side.wait_published(member, DEADLINE).await?;
    }
    let plane = testbed.hub().control_plane().context("the hub is the testbed's")?;
    let saved = plane.save_store().await?;
    agents.wait_ready().await?;

    for _ in 0..CHANGES {
        of_east.change().await?;
        of_north.change().await?;
    }
    let all = json!([{ "service": "*", "percent": 100, "overSeconds": 0 }]);
    traffic::drain(testbed.hub(), east.name(), &all).await?;
    shared::wait_imported(west, &[&of_east, &of_north]).await?;
    wait_until("east is drained", DEADLINE, async || is_drained(west, &of_east).await).await?;
    wait_held(&agents, Agent::Member(WEST), "OtherHub", 0, DEADLINE).await?;
    let before = side.incarnation().await?;
    let live: BTreeSet<String> =
        [&of_east, &of_north].iter().flat_map(|it| it.addresses.clone()).collect();
    let mut observer = Observer::start_for([(west, kinds::ENDPOINT_SLICE)]).await?;

    plane.restore_store(&saved).await?;
    let begin = Instant::now();
    wait_until("the hub has what is exported now", DEADLINE, async || {
        has_all(testbed.hub(), &live).await
    })
    .await?;
    let rewritten = begin.elapsed();
    wait_until("the hub has another epoch", DEADLINE, async || {
        Ok(side.incarnation().await? != before)
    })
    .await?;
    let noticed = begin.elapsed();
    for member in [EAST, NORTH, WEST] {
        side.wait_published(member, DEADLINE).await?;
    }
    wait_held(&agents, Agent::Member(WEST), "OtherHub", 0, DEADLINE).await?;
    println!(
        "Restored, {} changes old: exports are back after {:.1} s, an epoch begins after {:.1} s, it is followed after {:.1} s",
        4 * CHANGES,
        rewritten.as_secs_f64(),
        noticed.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    let dead = observer.take().into_iter().find(|seen| {
        shared::is_imported(&seen.object)
            && addresses(&seen.object).iter().any(|address| !live.contains(address))
    });
    ensure!(dead.is_none(), "an address of the backup was bound: {dead:?}");
    ensure!(is_drained(west, &of_east).await?, "the backup has ended a drain");
    wait_held(&agents, Agent::Member(WEST), "DrainReverted", 1, DEADLINE).await?;
    of_north.change().await?;
    shared::wait_imported(west, &[&of_east, &of_north]).await?;
    agents.check_alive()
}

/// Whether all endpoints of an exporter are last resort.
async fn is_drained(west: &Cluster, exported: &Exported) -> Result<bool> {
    let slices = imported(west).await?;
    let of = |slice: &&DynamicObject| {
        addresses(slice).iter().any(|address| exported.addresses.contains(address))
    };
    let is_last = |slice: &DynamicObject| {
        slice.data["endpoints"][0]["conditions"]["ready"].as_bool() == Some(false)
    };
    Ok(slices.iter().filter(of).count() == 2 && slices.iter().filter(of).all(is_last))
}

/// Whether the hub has exported slices with these endpoints, and no others.
async fn has_all(hub: &Cluster, live: &BTreeSet<String>) -> Result<bool> {
    let all = fleet_testbed::objects::api(hub.client(), kinds::ENDPOINT_SLICE_EXPORT, None);
    let slices = all.list(&kube::api::ListParams::default()).await?.items;
    let there = slices.iter().filter_map(|slice| {
        slice.data["spec"]["endpoints"][0]["addresses"][0].as_str().map(str::to_owned)
    });
    Ok(there.collect::<BTreeSet<_>>() == *live)
}
