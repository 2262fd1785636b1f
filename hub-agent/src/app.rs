//! Wiring of the hub agent.

use std::process::ExitCode;
use std::time::Duration;

use fleet_accumulator::{ClusterId, Config, SourceInfo, SourceSet, SourceSpec};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_model::multicluster::mode::Mode;
use fleet_runtime::agent::{Agent, Connected};
use fleet_runtime::clients;
use fleet_runtime::clock::Clock;
use fleet_runtime::engine::Options;
use fleet_runtime::metrics::{Gauges, SnapshotMetrics};
use jiff::Timestamp;
use tracing::field;

use crate::Settings;
use crate::args::Args;
use crate::member::MemberController;
use crate::member_leases::MemberLeases;
use crate::metrics;
use crate::multicluster::{self, MulticlusterController};
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
    let leases = args.silent_after().map(MemberLeases::new);
    let mut agent = Agent::start("hub-agent", env!("CARGO_PKG_VERSION"), args.runtime).await?;
    log(&settings, args.member_lease, args.member_silent_after);
    add_controllers(&mut agent, &settings);
    if leases.is_some() {
        agent.watch_also(MemberLeases::sources());
    }
    let Some(hub) = agent.prepare(clients::own(kubeconfig.as_deref())).await else {
        return Ok(ExitCode::SUCCESS);
    };
    let hub = hub?.encrypted()?;
    let config = Config {
        relist_every,
        cautious: SourceSet::from([HubSnapshot::exported_services()]),
        cautious_for: settings.multicluster_settle,
        ..Config::default()
    };
    let feeds = |source: &SourceInfo| {
        let spec = SourceSpec::new(hub.watch.clone()).watch_timeout(watch_timeout);
        // It may read them there alone.
        let narrow = source.id == HubSnapshot::resolved_services();
        if narrow { spec.namespace(SYSTEM_NAMESPACE) } else { spec }
    };
    let clients = [(ClusterId::Hub, hub.clone())];
    let mut agent = agent.connect(&clients, &config, &feeds)?;
    if let Some(leases) = leases {
        follow(&mut agent, leases)?;
    }
    let gauges =
        SnapshotMetrics::new(agent.accumulator().clone(), Clock::system(), gauges(settings))?;
    agent.registry().register(Box::new(gauges))?;
    Ok(agent.run().await)
}

/// Logs the settings that the flags of this agent have set.
fn log(settings: &Settings, member_lease: bool, member_silent_after: Duration) {
    tracing::info!(
        member_lease,
        ?member_silent_after,
        exclusive_imports = settings.exclusive_imports,
        denied_namespaces = %settings.denied_namespaces,
        enforce_member_policies = settings.enforce_member_policies,
        max_endpoints_per_service = settings.max_endpoints_per_service,
        max_services_per_member = settings.max_services_per_member,
        force_delete_wait_time = ?settings.force_delete_wait,
        member_heartbeat_ttl = settings.heartbeat_ttl.map(field::debug),
        multicluster = settings.multicluster.as_str(),
        clusterset_id = settings.clusterset_id,
        multicluster_settle = ?settings.multicluster_settle,
        multicluster_withdrawn_for = ?settings.multicluster_withdrawn_for,
        "Settings"
    );
}

/// Follows the Leases of members, with metrics of them.
fn follow(agent: &mut Connected<HubSnapshot>, leases: MemberLeases) -> prometheus::Result<()> {
    let accumulator = agent.accumulator().clone();
    let gauges = lease_gauges(leases.clone());
    let gauges = SnapshotMetrics::new(accumulator.clone(), Clock::system(), gauges)?;
    agent.registry().register(Box::new(gauges))?;
    agent.task("member leases", |_, cancel| leases.run(accumulator, cancel));
    Ok(())
}

/// The gauges of Leases that are followed.
pub fn lease_gauges(leases: MemberLeases) -> impl Fn(&HubSnapshot, Timestamp) -> Gauges {
    move |_, _| metrics::member_leases(&leases.members())
}

/// Adds the controllers of the hub agent.
fn add_controllers(agent: &mut Agent<HubSnapshot>, settings: &Settings) {
    agent.controller(ServiceController { settings: settings.clone() }, Options::default());
    agent.controller(MemberController { settings: settings.clone() }, Options::default());
    if settings.multicluster != Mode::Off {
        agent.controller(MulticlusterController { settings: settings.clone() }, Options::default());
    }
}

/// The gauges of an agent with these settings, from its snapshot.
pub fn gauges(settings: Settings) -> impl Fn(&HubSnapshot, Timestamp) -> Gauges {
    move |snapshot, now| {
        let mut gauges = metrics::heartbeats(&settings, snapshot, now)?;
        gauges.extend(metrics::resolved_services(&settings, snapshot)?);
        let mut refused = service::refused(&settings, snapshot);
        refused.extend(multicluster::refused(&settings, snapshot));
        gauges.extend(metrics::over_limit(snapshot, &refused)?);
        Ok(gauges)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use fleet_accumulator::Snapshot as _;

    use super::*;

    fn watched(mode: &str) -> SourceSet {
        let args = Args::try_parse_from(["hub-agent", "--multicluster", mode]).unwrap();
        let settings = args.settings();
        let mut agent = Agent::within("hub-agent", "0", args.runtime).unwrap();
        add_controllers(&mut agent, &settings);
        agent.reads()
    }

    #[test]
    fn every_source_is_watched_for_a_controller() {
        for mode in ["on", "clean-up"] {
            let with_leases = watched(mode).union(MemberLeases::sources());
            assert_eq!(with_leases, HubSnapshot::all());
        }
    }

    /// Without the standard API nothing of it is watched, so that no right is needed.
    #[test]
    fn the_standard_api_is_watched_only_where_it_is_served() {
        let own = [HubSnapshot::exported_services(), HubSnapshot::resolved_services()];
        let without = watched("off");
        assert!(own.iter().all(|source| !without.contains(*source)));
        let leases = MemberLeases::sources();
        assert!(!without.intersects(leases) && !watched("on").intersects(leases));
        let others = HubSnapshot::sources().iter().map(|source| source.id);
        let others = others.filter(|id| !leases.contains(*id));
        assert!(others.filter(|id| !own.contains(id)).all(|id| without.contains(id)));
    }
}
