//! Watches that fall silent without ending, and events that get lost on their way.

use anyhow::{Context, Result, bail};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::fault_proxy::{Link, Side};
use fleet_testbed::wait::wait_until;
use futures::future::try_join_all;

use crate::disturbed::Disturbed;
use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, Stage, agent_options};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // The proxy shows certificates of the testbed.
    }
    tests.apart("watches::silence_and_losses_are_noticed", silence_and_losses_are_noticed);
}

/// The ways that an endpoint takes, and the kind that it is on each.
const ROAD: [(Link, &str); 3] = [
    (Link { agent: Agent::Member(EXPORTER), to: Side::Own }, "endpointslices"),
    (Link { agent: Agent::Hub, to: Side::Hub }, "endpointsliceexports"),
    (Link { agent: Agent::Member(IMPORTER), to: Side::Hub }, "endpointsliceimports"),
];

/// F13, F17. Both limits are minutes by default.
async fn silence_and_losses_are_noticed(stage: &Stage, others: &mut Agents) -> Result<()> {
    let often = ("RELIST_INTERVAL".to_owned(), "5s".to_owned());
    let options = AgentOptions { environment: vec![often], ..agent_options() };
    let mut fleet = Disturbed::start_with(stage, others, options).await?;
    let namespace = stage.namespace("watches").await?;
    lost_events_are_found(&fleet, &namespace).await?;

    for agent in stage.fleet().agents() {
        let quick = [("WATCH_TIMEOUT", "2s"), ("HUB_WATCH_TIMEOUT", "2s")];
        for (name, value) in [("RELIST_INTERVAL", "30m")].into_iter().chain(quick) {
            fleet.agents.set_variable(agent, name, value)?;
        }
        fleet.agents.restart(agent).await?;
    }
    silent_watches_are_replaced(&fleet, &namespace).await?;
    fleet.agents.check_alive()?;
    stage.nothing_left(&namespace).await
}

/// F17: a deletion, a change and a new object that no watch ever delivers: the next list shows them.
///
/// What happens while a list is under way is in that list, and in no line: then there is none to lose, and the
/// next round tries again.
async fn lost_events_are_found(fleet: &Disturbed<'_>, namespace: &str) -> Result<()> {
    const ROUNDS: usize = 10;
    for round in 0..ROUNDS {
        let names = ["deletion", "change", "new"].map(|what| format!("lost-{what}-{round}"));
        round_of_losses(fleet, namespace, &names).await?;
        if ROAD.iter().all(|(link, _)| fleet.links.get(*link).lost_lines() == 1) {
            return Ok(());
        }
    }
    bail!("not every way has lost an event in {ROUNDS} rounds")
}

async fn round_of_losses(
    fleet: &Disturbed<'_>,
    namespace: &str,
    [deletion, change, new]: &[String; 3],
) -> Result<()> {
    let crossing = async |name| fleet.stage.crossing_in(namespace, name, &[IMPORTER]).await;
    let (mut gone, mut changed) = (crossing(deletion).await?, crossing(change).await?);
    for ((link, resource), name) in ROAD.into_iter().zip([deletion, change, new]) {
        let proxy = fleet.links.get(link);
        if proxy.lost_lines() == 0 {
            proxy.lose_line(resource, name);
        }
    }
    gone.service.remove_slice(deletion).await?;
    gone.addresses.clear();
    changed.change(2).await?;
    let new = fleet.stage.departing(namespace, new, &[IMPORTER]).await?;
    let crossings = [gone, changed, new];
    try_join_all(crossings.iter().map(Crossing::arrived)).await.context("after a lost event")?;
    // An event of their end would be another one than those that are meant.
    for (link, _) in ROAD {
        fleet.links.get(link).lose_no_more();
    }
    try_join_all(crossings.into_iter().map(Crossing::end)).await?;
    Ok(())
}

/// F13: every watch on the way of an endpoint goes on without delivering anything. What it no longer delivers arrives.
async fn silent_watches_are_replaced(fleet: &Disturbed<'_>, namespace: &str) -> Result<()> {
    let mut crossing = fleet.stage.crossing_in(namespace, "silent", &[IMPORTER]).await?;
    for (link, resource) in ROAD {
        let what = format!("{link}: the watch of {resource} falls silent");
        let proxy = fleet.links.get(link);
        // There may be none at the moment: each ends soon, and the next one begins.
        wait_until(&what, DEADLINE, async || Ok(proxy.strand_watches(resource) > 0)).await?;
    }
    crossing.change(2).await?;
    crossing.arrived().await.context("past silent watches")?;
    crossing.end().await
}
