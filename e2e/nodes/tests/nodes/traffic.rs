//! Where new connections go: a client opens hundreds in a second and notes what becomes of each, while Pods, agents and servers
//! fail, members are drained, and owners change their minds.
//!
//! A plain Service of the same cluster is called in the same run, at the highest rate at which none of its calls fails. So many
//! calls of an imported one may fail as of that one.

mod drain;
mod failover;
mod flows;
mod kubernetes;
mod locality;
mod prepared;
mod ranks;
mod silence;
mod sole;
mod spill;
mod standby;
mod statistics;
mod upgrade;
mod weights;
mod world;

use anyhow::Result;
use fleet_nodes::crossing::Api;
use fleet_nodes::node::ProxyMode;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::{Agent, AgentOptions};
use fleet_testbed::edition::Edition;
use fleet_testbed::released::released;
use tokio::task::spawn_blocking;

use crate::steps::Steps;
use world::World;

/// What depends on kube-proxy's mode: with agents of its own, in clusters that imported before without any of it.
pub(crate) async fn fails_over(
    fleet: &WholeFleet,
    mode: ProxyMode,
    steps: &mut Steps,
) -> Result<()> {
    let (world, _agents) = World::begin(fleet, steps).await?;
    for api in Api::ALL {
        failover::check(&world, api, mode, steps).await?;
    }
    Ok(())
}

/// What does not, in clusters of its own.
pub(crate) async fn check() -> Result<()> {
    let mut steps = Steps::begin("traffic");
    let start = WholeFleet::start(3, ProxyMode::Nftables);
    let fleet = steps.take("three clusters start", start).await?;
    let found = Box::pin(story(&fleet, &mut steps)).await;
    fleet.explain(found).await
}

async fn story(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    let (world, mut agents) = World::begin(fleet, steps).await?;
    locality::check(&world, steps).await?;
    let [mut drains, mut counts, mut silences] = ["drains", "counts", "silence"].map(Steps::begin);
    // Drains and silence wait for their time, the others for their calls.
    let drains = async {
        sole::check(&world, &mut drains).await?;
        drain::check(&world, &mut drains).await
    };
    let counts = async {
        weights::check(&world, &mut counts).await?;
        spill::check(&world, &[9, 7, 4, 1, 0], &mut counts).await
    };
    let silence = silence::agent_killed(&world, &mut agents, &mut silences);
    futures::try_join!(Box::pin(drains), Box::pin(counts), Box::pin(silence))?;
    kubernetes::mode_changes(&world, steps).await?;
    kubernetes::without_agents(&world, &mut agents, steps).await
}

/// What takes longer.
pub(crate) async fn check_long(mode: ProxyMode) -> Result<()> {
    let mut steps = Steps::begin(&mode.to_string());
    let fleet = steps.take("three clusters start", WholeFleet::start(3, mode)).await?;
    let story = async {
        let variables = silence::variables();
        let (world, mut agents) = World::begin_with(&fleet, variables, &mut steps).await?;
        spill::check(&world, &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0], &mut steps).await?;
        silence::agent_killed(&world, &mut agents, &mut steps).await?;
        silence::member_killed(&world, &mut steps).await
    };
    let found = story.await;
    fleet.explain(found).await
}

/// What belongs to one port or one client while a member is drained.
pub(crate) async fn check_flows(mode: ProxyMode) -> Result<()> {
    let mut steps = Steps::begin(&mode.to_string());
    let fleet = steps.take("three clusters start", WholeFleet::start(3, mode)).await?;
    let story = async {
        let (world, _agents) = World::begin(&fleet, &mut steps).await?;
        for api in Api::ALL {
            flows::datagrams(&world, api, &mut steps).await?;
        }
        flows::sessions(&world, &mut steps).await
    };
    let found = Box::pin(story).await;
    fleet.explain(found).await
}

/// Ranks and a drain where the importing cluster's nodes follow no zones.
pub(crate) async fn check_conditions() -> Result<()> {
    let mut steps = Steps::begin("conditions");
    let start = WholeFleet::start(3, ProxyMode::Nftables);
    let fleet = steps.take("three clusters start", start).await?;
    let story = async {
        let variables = [(Agent::Member(0), vec![world::by_conditions()])].into();
        let (world, mut agents) = World::begin_with(&fleet, variables, &mut steps).await?;
        ranks::in_turn(&world, &mut agents, &mut steps).await?;
        drain::check(&world, &mut steps).await
    };
    let found = Box::pin(story).await;
    fleet.explain(found).await
}

/// Who writes own endpoints, and what goes on when agents stand still.
pub(crate) async fn check_local(mode: ProxyMode) -> Result<()> {
    let mut steps = Steps::begin(&mode.to_string());
    let fleet = steps.take("three clusters start", WholeFleet::start(3, mode)).await?;
    let story = async {
        let leads = vec![("LEADER_ELECT".to_owned(), "true".to_owned())];
        let variables = [(Agent::Member(0), leads)].into();
        let (world, mut agents) = World::begin_with(&fleet, variables, &mut steps).await?;
        kubernetes::mode_changes(&world, &mut steps).await?;
        kubernetes::without_agents(&world, &mut agents, &mut steps).await?;
        ranks::in_turn(&world, &mut agents, &mut steps).await?;
        ranks::drained_and_cut(&world, &mut steps).await?;
        standby::check(&world, &mut agents, &mut steps).await
    };
    let found = Box::pin(story).await;
    fleet.explain(found).await
}

/// The agents are those of the last release at first.
pub(crate) async fn check_upgrade() -> Result<()> {
    let mut steps = Steps::begin("upgrade");
    let released = async { spawn_blocking(released).await? };
    let old = steps.take("there are agents of the last release", released).await?;
    let new = Edition::current()?;
    let start = WholeFleet::start(3, ProxyMode::Nftables);
    let fleet = steps.take("three clusters start", start).await?;
    let story = async {
        let programs = Some(old.programs.clone());
        let options = AgentOptions { programs, ..AgentOptions::default() };
        let (world, mut agents) = World::with_agents(&fleet, &options, &mut steps).await?;
        upgrade::check(&world, &mut agents, [&new, &old], &mut steps).await
    };
    let found = Box::pin(story).await;
    fleet.explain(found).await
}
