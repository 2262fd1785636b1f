//! Wiring of the hub agent.

use std::process::ExitCode;

use fleet_accumulator::{ClusterId, Config, Snapshot as _, SourceInfo, SourceSpec};
use fleet_runtime::agent::Agent;
use fleet_runtime::clock::Clock;
use fleet_runtime::engine::Options;
use fleet_runtime::metrics::{Gauges, SnapshotMetrics};
use jiff::Timestamp;
use tracing::field;

use crate::Settings;
use crate::args::Args;
use crate::member::MemberController;
use crate::metrics;
use crate::service::ServiceController;
use crate::snapshot::HubSnapshot;

/// Runs the agent until it receives a signal to stop.
///
/// # Errors
/// If the agent cannot start; the text is one line.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = args.settings();
    let (watch_timeout, relist_every) = (args.runtime.watch_timeout, args.runtime.relist_interval);
    let agent = Agent::start("hub-agent", env!("CARGO_PKG_VERSION"), args.runtime).await?;
    log(&settings);
    let hub = agent.own_cluster().await?;
    let config = Config { relist_every, ..Config::default() };
    let feeds = |_: &SourceInfo| SourceSpec::new(hub.watch.clone()).watch_timeout(watch_timeout);
    let clients = [(ClusterId::Hub, hub.clone())];
    let mut agent = agent.connect::<HubSnapshot>(&clients, &config, HubSnapshot::all(), &feeds)?;
    let gauges = gauges(settings.clone());
    let gauges = SnapshotMetrics::new(agent.accumulator().clone(), Clock::system(), gauges)?;
    agent.registry().register(Box::new(gauges))?;
    agent.controller(ServiceController { settings: settings.clone() }, Options::default());
    agent.controller(MemberController { settings }, Options::default());
    Ok(agent.run().await)
}

/// Logs the settings that the flags of this agent have set.
fn log(settings: &Settings) {
    tracing::info!(
        exclusive_imports = settings.exclusive_imports,
        force_delete_wait_time = ?settings.force_delete_wait,
        member_heartbeat_ttl = settings.heartbeat_ttl.map(field::debug),
        "Settings"
    );
}

/// The gauges of an agent with these settings, from its snapshot.
pub fn gauges(settings: Settings) -> impl Fn(&HubSnapshot, Timestamp) -> Gauges {
    move |snapshot, now| metrics::heartbeats(&settings, snapshot, now)
}
