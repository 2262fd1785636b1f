//! Wiring of the hub agent.

use std::process::ExitCode;

use fleet_accumulator::{Accumulator, ClusterId, Config, SourceSpec};
use fleet_model::served::{GROUP_VERSION, Served};
use fleet_runtime::agent::Agent;
use fleet_runtime::clock::Clock;

use crate::args::Args;
use crate::member::{HeartbeatMetrics, MemberController};
use crate::service::ServiceController;
use crate::snapshot::HubSnapshot;

/// Runs the agent until it is told to end.
///
/// # Errors
/// What keeps it from starting, in one line.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = args.settings();
    let (watch_timeout, relist_every) = (args.runtime.watch_timeout, args.runtime.relist_interval);
    let agent = Agent::start("hub-agent", env!("CARGO_PKG_VERSION"), args.runtime).await?;
    let hub = agent.own_cluster().await?;
    let everywhere = || SourceSpec::new(hub.watch.clone()).watch_timeout(watch_timeout);
    let config = Config { relist_every, ..Config::default() };
    let sources = Accumulator::<HubSnapshot>::builder(config)
        .source(HubSnapshot::internal_exports(), everywhere())
        .source(HubSnapshot::internal_imports(), everywhere())
        .source(HubSnapshot::service_imports(), everywhere())
        .source(HubSnapshot::slice_exports(), everywhere())
        .source(HubSnapshot::slice_imports(), everywhere())
        .source(HubSnapshot::namespaces(), everywhere())
        .source(HubSnapshot::member_clusters(), everywhere())
        .source(HubSnapshot::internal_members(), everywhere());
    let mut agent = agent.connect(&[(ClusterId::Hub, hub.clone())], sources)?;
    let heartbeats =
        HeartbeatMetrics::new(agent.accumulator().clone(), settings.clone(), Clock::system())?;
    agent.registry().register(Box::new(heartbeats))?;
    let served = settings.served.clone();
    agent.follow_schema(hub.write, GROUP_VERSION, served, |document| Served::of(document?));
    agent.controller(ServiceController { settings: settings.clone() });
    agent.controller(MemberController { settings });
    Ok(agent.run().await)
}
