//! Wiring of the member agent.

use std::process::ExitCode;

use fleet_accumulator::{Accumulator, Builder, ClusterId, Config, SourceSpec};
use fleet_model::served::{GROUP_VERSION, Served};
use fleet_runtime::agent::Agent;
use fleet_runtime::clients::{ClientSet, HubAccess};

use prometheus::{IntGauge, Registry};

use crate::Identity;
use crate::args::Args;
use crate::export::ExportRoom;
use crate::import::ImportRoom;
use crate::membership::MembershipRoom;
use crate::metrics::{ExportMetrics, ImportMetrics, MembershipMetrics};
use crate::rollback;
use crate::snapshot::MemberSnapshot;

/// Runs the agent until it is told to end.
///
/// # Errors
/// What keeps it from starting, in one line.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = args.settings()?;
    let hub = HubAccess::new(args.hub_kubeconfig.clone(), args.tls_insecure)?;
    if args.prepare_rollback {
        return rollback::run(&settings, args.runtime.kubeconfig.as_deref(), hub).await;
    }
    let agent = Agent::start("member-agent", env!("CARGO_PKG_VERSION"), args.runtime()).await?;
    warn_of_insecure_link(hub.insecure(), agent.registry())?;
    let export = ExportMetrics::register(agent.registry())?;
    let membership = MembershipMetrics::register(agent.registry())?;
    let import = ImportMetrics::register(agent.registry(), settings.identity.cluster.as_str())?;

    let own = agent.own_cluster().await?;
    let hub = hub.connect().await?;
    let sources = sources(&args, &settings.identity, &own, &hub);
    let schema = hub.write.clone();
    let mut agent = agent.connect(&[(ClusterId::Local, own), (ClusterId::Hub, hub)], sources)?;
    let served = settings.served.clone();
    agent.follow_schema(schema, GROUP_VERSION, served, |document| Served::of(document?));
    if args.enable_networking_features {
        agent.room(ExportRoom::new(settings.clone(), export));
        agent.room(ImportRoom::new(settings.clone(), import));
    }
    agent.room(MembershipRoom::new(settings, membership));
    Ok(agent.run().await)
}

/// Says what everybody should know of a link that anybody can listen to.
fn warn_of_insecure_link(insecure: bool, registry: &Registry) -> Result<(), prometheus::Error> {
    let gauge = IntGauge::new(
        "fleet_hub_tls_insecure",
        "1 if the hub's certificate is not verified (--tls-insecure).",
    )?;
    gauge.set(i64::from(insecure));
    registry.register(Box::new(gauge))?;
    if insecure {
        tracing::warn!("--tls-insecure: the hub's certificate is not verified");
    }
    Ok(())
}

fn sources(
    args: &Args,
    identity: &Identity,
    own: &ClientSet,
    hub: &ClientSet,
) -> Builder<MemberSnapshot> {
    let everywhere =
        || SourceSpec::new(own.watch.clone()).watch_timeout(args.runtime.watch_timeout);
    let on_hub = || {
        SourceSpec::new(hub.watch.clone())
            .namespace(identity.hub_namespace.as_str())
            .watch_timeout(args.hub_watch_timeout)
    };
    let relist_every = args.runtime.relist_interval;
    Accumulator::builder(Config { relist_every, ..Config::default() })
        .source(MemberSnapshot::services(), everywhere())
        .source(MemberSnapshot::service_exports(), everywhere())
        .source(MemberSnapshot::endpoint_slices(), everywhere())
        .source(MemberSnapshot::multi_cluster_services(), everywhere())
        .source(MemberSnapshot::service_imports(), everywhere())
        .source(MemberSnapshot::namespaces(), everywhere())
        .source(MemberSnapshot::internal_exports(), on_hub())
        .source(MemberSnapshot::slice_exports(), on_hub())
        .source(MemberSnapshot::internal_imports(), on_hub())
        .source(MemberSnapshot::slice_imports(), on_hub())
        .source(MemberSnapshot::memberships(), on_hub())
}
