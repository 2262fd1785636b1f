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
use crate::traffic::TrafficController;
use crate::traffic_task::TrafficTask;
use crate::virtual_node::{self, PodCount, VirtualNodeController};

/// Runs the agent until it receives a signal to stop.
///
/// # Errors
/// If the agent cannot start; the text is one line.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    args.check()?;
    let settings = args.settings();
    let (watch_timeout, relist_every) = (args.runtime.watch_timeout, args.runtime.relist_interval);
    let kubeconfig = args.runtime.kubeconfig.clone();
    let leases = args.silent_after().map(MemberLeases::new);
    let traffic = settings.traffic.then(|| TrafficTask::new(&settings));
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
        cautious: SourceSet::from([HubSnapshot::exported_services()])
            .union(VirtualNodeController::cautious()),
        cautious_for: settings.multicluster_settle,
        ..Config::default()
    };
    let feeds = |source: &SourceInfo| {
        let spec = SourceSpec::new(hub.watch.clone()).watch_timeout(watch_timeout);
        // It may read them there alone.
        if source.id == HubSnapshot::resolved_services() {
            spec.namespace(SYSTEM_NAMESPACE)
        } else if source.id == HubSnapshot::hearing() {
            leases.iter().fold(spec, |spec, leases| spec.provided(leases.hearing()))
        } else if source.id == HubSnapshot::member_decisions() {
            traffic.iter().fold(spec, |spec, task| spec.provided(task.members()))
        } else if source.id == HubSnapshot::fleet_decisions() {
            traffic.iter().fold(spec, |spec, task| spec.provided(task.fleet()))
        } else {
            spec
        }
    };
    let clients = [(ClusterId::Hub, hub.clone())];
    let mut agent = agent.connect(&clients, &config, &feeds)?;
    if let Some(leases) = leases {
        follow(&mut agent, leases)?;
    }
    if let Some(task) = traffic {
        let accumulator = agent.accumulator().clone();
        agent.task("traffic decisions", |gate, cancel| task.run(accumulator, gate, cancel));
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
        virtual_nodes = settings.virtual_nodes,
        traffic = settings.traffic,
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
    if settings.virtual_nodes {
        let controller = VirtualNodeController { traffic: settings.traffic };
        agent.controller(controller, Options::default());
    }
    if settings.traffic {
        agent.controller(TrafficController, Options::default());
    }
}

/// The gauges of an agent with these settings, from its snapshot.
pub fn gauges(settings: Settings) -> impl Fn(&HubSnapshot, Timestamp) -> Gauges {
    move |snapshot, now| {
        let mut gauges = metrics::heartbeats(&settings, snapshot, now)?;
        gauges.extend(metrics::resolved_services(&settings, snapshot)?);
        if settings.virtual_nodes {
            let PodCount { pods, withheld, open_fuses } = virtual_node::count(snapshot);
            gauges.extend(metrics::virtual_nodes(&pods, (withheld, open_fuses))?);
        }
        if settings.traffic {
            gauges.extend(metrics::traffic(snapshot)?);
        }
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
        watched_with(&["hub-agent", "--multicluster", mode])
    }

    fn watched_with(args: &[&str]) -> SourceSet {
        let args = Args::try_parse_from(args).unwrap();
        let settings = args.settings();
        let mut agent = Agent::within("hub-agent", "0", args.runtime).unwrap();
        add_controllers(&mut agent, &settings);
        agent.reads()
    }

    /// What is watched for Pods of one member in another.
    fn offloading() -> SourceSet {
        SourceSet::from([
            HubSnapshot::offload_offers(),
            HubSnapshot::virtual_nodes(),
            HubSnapshot::pod_exports(),
            HubSnapshot::pod_imports(),
            HubSnapshot::hearing(),
        ])
    }

    /// What is watched for drains and verdicts.
    fn deciding_traffic() -> SourceSet {
        SourceSet::from([
            HubSnapshot::fleet_traffics(),
            HubSnapshot::member_traffics(),
            HubSnapshot::fleet_decisions(),
            HubSnapshot::member_decisions(),
        ])
    }

    #[test]
    fn every_source_is_watched_for_a_controller() {
        for mode in ["on", "clean-up"] {
            let flags = ["hub-agent", "--multicluster", mode, "--virtual-nodes", "--traffic"];
            let all = watched_with(&flags);
            assert_eq!(all.union(MemberLeases::sources()), HubSnapshot::all());
        }
    }

    /// Switched off, nothing is watched for Pods in other members, so that no right is needed.
    #[test]
    fn what_pods_of_others_need_is_watched_only_where_they_are_carried() {
        assert!(!watched("on").intersects(offloading()));
        let with = watched_with(&["hub-agent", "--virtual-nodes"]);
        assert_eq!(with.union(offloading()), with);
        assert!(!with.contains(HubSnapshot::exported_services()));
    }

    /// The same of drains and verdicts.
    #[test]
    fn what_traffic_needs_is_watched_only_where_it_is_decided() {
        assert!(!watched("on").intersects(deciding_traffic()));
        let with = watched_with(&["hub-agent", "--traffic"]);
        assert_eq!(with.union(deciding_traffic()), with);
        assert!(!with.intersects(offloading()));
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
        let by_flag = leases.union(offloading()).union(deciding_traffic());
        let others = others.filter(|id| !by_flag.contains(*id));
        assert!(others.filter(|id| !own.contains(id)).all(|id| without.contains(id)));
    }
}
