//! A hub whose store is restored from a backup, under agents that run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::traffic::REACHED;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::traffic;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Options, Testbed, exchange, multicluster, objects};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use serde_json::json;

use crate::held::{wait_any_held, wait_held};
use crate::hub_side::HubSide;
use crate::shared::{self, Exported, FLEET, STANDARD, addresses, imported};
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
    let elects = vec![("LEADER_ELECT".to_owned(), "true".to_owned())];
    let of_agents = [(Agent::Member(WEST), elects)].into();
    let options = AgentOptions { environment, of_agents, ..AgentOptions::default() };
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

    change_much(&mut of_east, &mut of_north).await?;
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
    agents.check_alive()?;
    under_new_processes(testbed, &side, &mut agents, [&mut of_east, &mut of_north]).await
}

/// Makes a backup old.
async fn change_much(of_east: &mut Exported, of_north: &mut Exported) -> Result<()> {
    for _ in 0..CHANGES {
        of_east.change().await?;
        of_north.change().await?;
    }
    Ok(())
}

/// All agents end while the hub is restored from a backup that lacks what north exports. No process has seen the hub before, and what
/// the Lease in west has is all that shows which time the hub is of.
async fn under_new_processes(
    testbed: &Fleet,
    side: &HubSide<'_>,
    agents: &mut Agents,
    [of_east, of_north]: [&mut Exported; 2],
) -> Result<()> {
    let (north, west) = (testbed.member(NORTH), testbed.member(WEST));
    let plane = testbed.hub().control_plane().context("the hub is the testbed's")?;
    exchange::unexport(north, SHOP, FLEET).await?;
    multicluster::unexport(north, SHOP, STANDARD).await?;
    shared::wait_imported(west, &[of_east]).await?;
    let saved = plane.save_store().await?;
    exchange::export(north, SHOP, FLEET).await?;
    multicluster::export(north, SHOP, STANDARD).await?;
    change_much(of_east, of_north).await?;
    shared::wait_imported(west, &[of_east, of_north]).await?;
    let newest = newest_copy(testbed).await?;
    wait_until("the Lease in west has what the hub is at", DEADLINE, async || {
        Ok(noted(west).await?.is_some_and(|noted| noted >= newest))
    })
    .await?;
    let mut observer = Observer::start_for([(west, kinds::ENDPOINT_SLICE)]).await?;

    let all = [Agent::Hub, Agent::Member(EAST), Agent::Member(NORTH), Agent::Member(WEST)];
    for agent in all {
        agents.kill(agent)?;
    }
    plane.restore_store(&saved).await?;
    for agent in [Agent::Hub, Agent::Member(WEST)] {
        agents.launch(agent)?;
    }
    wait_any_held(agents, Agent::Member(WEST), "OtherHub", DEADLINE).await?;
    for agent in all {
        agents.launch(agent)?;
    }
    for member in [EAST, NORTH, WEST] {
        side.wait_published(member, DEADLINE).await?;
    }
    wait_held(agents, Agent::Member(WEST), "OtherHub", 0, DEADLINE).await?;
    shared::wait_imported(west, &[of_east, of_north]).await?;
    let mut gone = observer.take().into_iter().filter(|seen| seen.what == What::Gone);
    let gone = gone.find(|seen| shared::is_imported(&seen.object));
    ensure!(gone.is_none(), "an imported slice was taken away: {gone:?}");
    agents.check_alive()
}

/// The newest version of a slice that the hub has distributed.
async fn newest_copy(testbed: &Fleet) -> Result<u64> {
    let all = objects::api(testbed.hub().client(), kinds::ENDPOINT_SLICE_IMPORT, None);
    let copies = all.list(&ListParams::default()).await?.items;
    let versions = copies.iter().filter_map(|copy| copy.resource_version()?.parse().ok());
    versions.max().context("no slice is distributed")
}

/// Up to which version of these the agent of a member has come, as the Lease by which it elects its leader has it.
async fn noted(member: &Cluster) -> Result<Option<u64>> {
    let noted = shared::noted(member, REACHED).await?;
    let mut parts = noted.iter().flat_map(|(_, noted)| noted.split(','));
    Ok(parts.find_map(|part| part.strip_prefix("slice_imports=")?.parse().ok()))
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
    let all = objects::api(hub.client(), kinds::ENDPOINT_SLICE_EXPORT, None);
    let slices = all.list(&kube::api::ListParams::default()).await?.items;
    let there = slices.iter().filter_map(|slice| {
        slice.data["spec"]["endpoints"][0]["addresses"][0].as_str().map(str::to_owned)
    });
    Ok(there.collect::<BTreeSet<_>>() == *live)
}
