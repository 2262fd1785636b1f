//! Traffic of the fleet on real control planes: a hub whose store is lost under agents that run, and a member that ends.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy takes only #[test] functions for tests, and times are printed"
)]

mod cut_off;
mod held;
mod hub_side;
mod known_tokens;
mod large;
mod local;
mod restored;
mod shared;
mod two_hubs;
mod verdict;
mod withdrawn;
mod without_kinds;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::turn::turn;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use held::wait_held;
use hub_side::HubSide;
use large::FrontEnd;
use shared::{addresses, imported};

const DEADLINE: Duration = Duration::from_mins(2);
const SHOP: &str = "shop";
const WEB: &str = "web";
/// Members that export, and the one that imports.
const EAST: usize = 0;
const NORTH: usize = 1;
const WEST: usize = 2;

/// Agents of the members end with the hub, and start again over the new one: they hand on what they follow.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_is_lost_and_nothing_changes_where_its_services_are_imported() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(3)).await.unwrap();
    let result = story(&testbed, true).await;
    testbed.explain(result).await.unwrap();
}

/// Agents of the members run on: they see the hub go back in its history, which takes them a minute to get over each time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "four minutes: make soak-hubs"]
async fn a_hub_is_lost_twice_under_agents_that_run() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(3)).await.unwrap();
    let result = story(&testbed, false).await;
    testbed.explain(result).await.unwrap();
}

/// A member that ends is silent by verdict: what that means to ports.
#[tokio::test(flavor = "multi_thread")]
async fn ports_of_a_member_that_ends_yield_to_those_of_another() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(3)).await.unwrap();
    let result = verdict::story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn kubernetes_writes_own_endpoints_where_it_is_asked_to() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(2)).await.unwrap();
    let result = local::story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "ten minutes: make soak-hubs"]
async fn a_large_hub_is_lost_and_rebuilt_by_the_api_of_the_fleet() {
    let _turn = turn().await;
    large::story(FrontEnd::Fleet).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "ten minutes: make soak-hubs"]
async fn a_large_hub_is_lost_and_rebuilt_by_the_standard_api() {
    let _turn = turn().await;
    large::story(FrontEnd::Standard).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "five minutes: make soak-hubs"]
async fn two_hubs_behind_one_address_take_nothing_away() {
    let _turn = turn().await;
    two_hubs::story().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_kinds_and_rights_nothing_is_removed() {
    let _turn = turn().await;
    let testbed = Testbed::start(Options::members(3).without_audit()).await.unwrap();
    let result = Box::pin(without_kinds::story(&testbed)).await;
    testbed.explain(result).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "three minutes: make soak-hubs"]
async fn many_exports_that_are_withdrawn_at_once_go_by_themselves() {
    let _turn = turn().await;
    withdrawn::story().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_without_the_hub_keeps_what_it_imported() {
    let _turn = turn().await;
    cut_off::story().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "three minutes: make soak-hubs"]
async fn a_restored_hub_brings_nothing_back() {
    let _turn = turn().await;
    restored::story().await.unwrap();
}

/// The chapters build on each other: each needs what the one before has left.
async fn story(testbed: &Testbed, restarts: bool) -> Result<()> {
    let side = HubSide { fleet: testbed, restarts, standard: false };
    side.prepare().await?;
    side.prepare_members().await?;
    let set = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let environment = [
        ("TRAFFIC", "true"),
        ("MEMBER_LEASE", "true"),
        ("MULTICLUSTER_SETTLE", "1s"),
        ("DERIVED_SERVICE_GRACE_PERIOD", "0s"),
        ("MISSING_EXPORTER_AFTER", "5s"),
    ];
    let environment = environment.map(set).into();
    // Its Lease has what the next process needs.
    let of_agents = [(Agent::Member(WEST), vec![set(("LEADER_ELECT", "true"))])].into();
    let options = AgentOptions { environment, of_agents, ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &options).await?;

    let mut addresses = Vec::new();
    let mut services = Vec::new();
    for member in [EAST, NORTH] {
        let (cluster, address) = (testbed.member(member), next_address());
        let spec = ServiceSpec::http(SHOP, WEB);
        services.push(ManualService::deploy(cluster, &spec, std::slice::from_ref(&address)).await?);
        export(cluster, SHOP, WEB).await?;
        addresses.push(address);
    }
    let importer = testbed.member(WEST);
    import(importer, SHOP, WEB, WEB).await?;
    let both = addresses.iter().cloned().collect();
    wait_imported(importer, SHOP, WEB, &both, DEADLINE).await?;
    for member in [EAST, NORTH, WEST] {
        side.wait_published(member, DEADLINE).await.context("before the loss")?;
    }
    let watched = [(importer, kinds::ENDPOINT_SLICE), (importer, kinds::SERVICE)];
    let mut observer = Observer::start_for(watched).await?;
    drop(observer.take());

    // One exporter is down when the hub is lost, and comes back later than the others.
    agents.kill(Agent::Member(NORTH))?;
    lose_hub(&side, &mut agents).await?;
    side.wait_distributed(WEST, 1, DEADLINE).await?;
    agents.launch(Agent::Member(NORTH))?;
    side.wait_published(NORTH, DEADLINE).await.context("the last exporter")?;
    side.wait_distributed(WEST, 2, DEADLINE).await?;
    let seen = observer.take();
    ensure!(seen.is_empty(), "the importer wrote: {seen:?}");

    // The hub is followed again: what changes arrives.
    let changed = next_address();
    services[EAST].set_addresses(std::slice::from_ref(&changed)).await?;
    let now = [changed.clone(), addresses[NORTH].clone()].into();
    wait_imported(importer, SHOP, WEB, &now, DEADLINE).await?;
    drop(observer.take());

    // It is lost once more, and the same exporter for good.
    agents.kill(Agent::Member(NORTH))?;
    lose_hub(&side, &mut agents).await?;
    side.wait_distributed(WEST, 1, DEADLINE).await?;
    let seen = observer.take();
    ensure!(seen.is_empty(), "the importer wrote: {seen:?}");
    agents.kill(Agent::Hub)?;
    side.end_wait().await?;
    wait_last_resort(importer, &addresses[NORTH]).await?;
    let seen = observer.take();
    ensure!(seen.len() == 1 && seen[0].what == What::Changed, "{seen:?}");
    wait_held(&agents, Agent::Member(WEST), "ExporterMissing", 1, DEADLINE).await?;
    side.forget(NORTH).await?;
    wait_imported(importer, SHOP, WEB, &[changed].into(), DEADLINE).await?;
    let gone = observer.take();
    ensure!(gone.iter().all(|seen| seen.kind == kinds::ENDPOINT_SLICE), "{gone:?}");
    agents.launch(Agent::Hub)?;
    agents.launch(Agent::Member(NORTH))?;
    agents.wait_ready().await?;
    agents.check_alive()
}

/// Waits until an endpoint gets no new connections as long as others are ready.
async fn wait_last_resort(importer: &Cluster, address: &str) -> Result<()> {
    wait_until(&format!("{address} is last resort"), DEADLINE, async || {
        let slices = imported(importer).await?;
        let slice = slices.iter().find(|slice| addresses(slice).iter().any(|it| it == address));
        let slice = slice.context("its slice is gone")?;
        Ok(slice.data["endpoints"][0]["conditions"]["ready"] == false)
    })
    .await
}

/// The store of the hub is lost, and administrators set the hub up again. Tokens of agents are new; the hub's own agent is started again
/// for it.
async fn lose_hub(side: &HubSide<'_>, agents: &mut Agents) -> Result<()> {
    let first = side.incarnation().await?;
    let running = [EAST, WEST].map(Agent::Member);
    if side.restarts {
        for agent in running {
            ensure!(agents.stop(agent).await?, "{agent:?} does not end");
        }
    }
    side.fleet.hub().control_plane().context("the hub is the testbed's")?.lose_store().await?;
    side.prepare().await?;
    agents.restart(Agent::Hub).await?;
    for agent in running {
        agents.launch(agent)?;
    }
    let second = side.incarnation().await?;
    ensure!(first != second, "the hub is {first} again");
    for member in [EAST, WEST] {
        side.wait_published(member, DEADLINE).await.context("after the loss")?;
    }
    Ok(())
}
