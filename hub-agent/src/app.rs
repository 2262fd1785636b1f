//! Wiring of the hub agent.

use std::process::ExitCode;

use fleet_accumulator::{ClusterId, Config, SourceInfo, SourceSpec};
use fleet_runtime::agent::Agent;
use fleet_runtime::clients;
use fleet_runtime::clock::Clock;
use fleet_runtime::engine::Options;
use fleet_runtime::metrics::{Gauges, SnapshotMetrics};
use jiff::Timestamp;
use tracing::field;

use crate::Settings;
use crate::args::Args;
use crate::member::MemberController;
use crate::metrics;
use crate::service::{self, ServiceController};
use crate::snapshot::HubSnapshot;

/// Runs the agent until it receives a signal to stop.
///
/// # Errors
/// If the agent cannot start; the text is one line.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = args.settings();
    let (watch_timeout, relist_every) = (args.runtime.watch_timeout, args.runtime.relist_interval);
    let kubeconfig = args.runtime.kubeconfig.clone();
    let mut agent = Agent::start("hub-agent", env!("CARGO_PKG_VERSION"), args.runtime).await?;
    log(&settings);
    add_controllers(&mut agent, &settings);
    let Some(hub) = agent.prepare(clients::own(kubeconfig.as_deref())).await else {
        return Ok(ExitCode::SUCCESS);
    };
    let hub = hub?.encrypted()?;
    let config = Config { relist_every, ..Config::default() };
    let feeds = |_: &SourceInfo| SourceSpec::new(hub.watch.clone()).watch_timeout(watch_timeout);
    let clients = [(ClusterId::Hub, hub.clone())];
    let agent = agent.connect(&clients, &config, &feeds)?;
    let gauges =
        SnapshotMetrics::new(agent.accumulator().clone(), Clock::system(), gauges(settings))?;
    agent.registry().register(Box::new(gauges))?;
    Ok(agent.run().await)
}

/// Logs the settings that the flags of this agent have set.
fn log(settings: &Settings) {
    tracing::info!(
        exclusive_imports = settings.exclusive_imports,
        denied_namespaces = %settings.denied_namespaces,
        enforce_member_policies = settings.enforce_member_policies,
        max_endpoints_per_service = settings.max_endpoints_per_service,
        max_services_per_member = settings.max_services_per_member,
        force_delete_wait_time = ?settings.force_delete_wait,
        member_heartbeat_ttl = settings.heartbeat_ttl.map(field::debug),
        "Settings"
    );
}

/// Adds the controllers of the hub agent.
fn add_controllers(agent: &mut Agent<HubSnapshot>, settings: &Settings) {
    agent.controller(ServiceController { settings: settings.clone() }, Options::default());
    agent.controller(MemberController { settings: settings.clone() }, Options::default());
}

/// The gauges of an agent with these settings, from its snapshot.
pub fn gauges(settings: Settings) -> impl Fn(&HubSnapshot, Timestamp) -> Gauges {
    move |snapshot, now| {
        let mut gauges = metrics::heartbeats(&settings, snapshot, now)?;
        gauges.extend(metrics::over_limit(snapshot, &service::refused(&settings, snapshot))?);
        Ok(gauges)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use fleet_accumulator::Snapshot as _;

    use super::*;

    #[test]
    fn every_source_is_watched_for_a_controller() {
        let args = Args::try_parse_from(["hub-agent"]).unwrap();
        let settings = args.settings();
        let mut agent = Agent::within("hub-agent", "0", args.runtime).unwrap();
        add_controllers(&mut agent, &settings);
        assert_eq!(agent.reads(), HubSnapshot::all());
    }
}
