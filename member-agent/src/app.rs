//! Wiring of the member agent.

pub mod embedded;
mod scope;

use std::process::ExitCode;
use std::sync::Arc;

use fleet_accumulator::{ClusterId, Config, Reached, Snapshot as _, SourceInfo, SourceSpec};
use fleet_runtime::agent::{Agent, Connected};
use fleet_runtime::clients::{self, ClientSet, Credential, HubAccess};
use fleet_runtime::clock::{BootClock, Clock};
use fleet_runtime::credential::standing;
use fleet_runtime::engine::Options;
use fleet_runtime::metrics::{Gauges, SnapshotMetrics};
use fleet_virtual_node::names::import as import_name;
use jiff::Timestamp;

use crate::args::Args;
use crate::endpointslices::{self, EndpointSliceController, LeftoverController};
use crate::export::{ExportController, is_complete};
use crate::external_workloads::{self, ExternalWorkloadController, linkerd_is_active};
use crate::fence::Fence;
use crate::fence_log::FenceLog;
use crate::fenced::Fenced;
use crate::hub_answers::{HubAnswers, Nothing, Noting};
use crate::hub_follower;
use crate::hub_token;
use crate::hub_witness_task;
use crate::import::{ImportController, kept_imports};
use crate::left_over;
use crate::links::{FromTheBeginning, Links};
use crate::member_lease::{self, TrafficNotes};
use crate::membership::{self, MembershipController};
use crate::metrics::{
    self, ExportMetrics, ImportMetrics, SliceMetrics, StandardImportMetrics, VirtualNodeMetrics,
};
use crate::multicluster::export::{ExportState, StandardExportController};
use crate::multicluster::import::StandardImportController;
use crate::multicluster::{export, import};
use crate::phase::Phase;
use crate::reach_tasks;
use crate::refusals::Refusals;
use crate::rollback;
use crate::settings::{Mode, Settings};
use crate::snapshot::MemberSnapshot;
use crate::status_writes::StatusWrites;
use crate::tenure::Tenure;
use crate::traffic_memory::{Remembering, TrafficMemory};
use crate::traffic_status::TrafficStatusController;
use crate::views;
use crate::virtual_node::executor::{self, CutOffController, ExecutorController};
use crate::virtual_node::origin::{self, OriginController};
use crate::virtual_node_tasks::{self, Selected};

const NAME: &str = "member-agent";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the agent until it receives a signal to stop.
///
/// # Errors
/// One line about what keeps the agent from starting.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = args.settings()?;
    let hub = HubAccess::new(args.hub_kubeconfig.clone(), args.tls_insecure)?;
    if args.prepare_rollback {
        return rollback::run(&settings, args.runtime.kubeconfig.as_deref(), hub).await;
    }
    let agent = Agent::start(NAME, VERSION, args.runtime()).await?;
    let mut agent = agent.of_cluster(settings.identity.cluster.as_str());
    let insecure_link = metrics::insecure_link(agent.registry())?;
    log(&args, &settings);
    let own = clients::own(args.runtime.kubeconfig.as_deref());
    let connect = Box::pin(async { anyhow::Ok((own.await?, hub.connect().await?)) });
    let connected = agent.prepare(connect).await;
    let Some(connected) = connected else { return Ok(ExitCode::SUCCESS) };
    let (own, hub) = connected?;
    if !hub.is_verified {
        insecure_link.set(1);
        tracing::warn!(hub = hub.url, "The hub's certificate is not verified");
    }
    Ok(assemble(agent, &args, settings, own, hub)?.run().await)
}

/// Logs the settings that the flags of this agent have set.
fn log(args: &Args, settings: &Settings) {
    let addresses = &args.addresses;
    tracing::info!(
        member_cluster_name = settings.identity.cluster,
        hub_namespace = settings.identity.hub_namespace,
        fleet_system_namespace = settings.identity.system_namespace,
        member_lease = args.member_lease,
        derived_service_grace_period = ?settings.derived_service_grace,
        derived_service_type = settings.derived_services.service_type.as_str(),
        derived_service_load_balancer_class = settings.derived_services.load_balancer_class,
        enable_networking_features = settings.networking,
        multicluster = settings.multicluster.mode.as_str(),
        multicluster_settle = ?settings.multicluster.settle,
        multicluster_exported_metadata = settings.multicluster.exported_metadata,
        multicluster_import_namespaces = %settings.multicluster.import_namespaces,
        multicluster_zones = settings.multicluster.zones,
        denied_namespaces = %settings.denied_namespaces,
        reserved_cidrs = %settings.reserved_addresses.cidrs,
        allowed_reserved_cidrs = %settings.reserved_addresses.allowed,
        external_workloads = settings.external_workloads,
        external_workload_cidrs = %settings.external_workload_cidrs,
        linkerd_namespace = settings.linkerd_namespace,
        endpointslices = settings.endpointslices.as_str(),
        endpoint_network_cidrs = %settings.endpoint_network_cidrs,
        max_endpoints_per_slice = settings.max_endpoints_per_slice,
        endpointslice_updates_batch_period = ?settings.endpointslice_batch_period,
        virtual_node_origin = settings.virtual_nodes.origin,
        virtual_node_executor = settings.virtual_nodes.executor,
        virtual_node_address = settings.virtual_nodes.address.map(tracing::field::display),
        virtual_node_client_cidrs = %settings.virtual_nodes.clients,
        traffic = settings.traffic.enabled,
        data_plane = %args.traffic.data_plane,
        reachability = %args.reachability,
        hub_token_secret = args.hub_token.hub_token_secret.as_ref().map(tracing::field::display),
        hub_token_lifetime = ?args.hub_token.hub_token_lifetime,
        hub_token_audiences = ?args.hub_token.hub_token_audiences,
        hub_metrics_bind_address = addresses.hub_metrics_bind_address,
        hub_health_probe_bind_address = addresses.hub_health_probe_bind_address,
        member_metrics_bind_address = addresses.member_metrics_bind_address,
        member_health_probe_bind_address = addresses.member_health_probe_bind_address,
        "Settings"
    );
}

/// One of several agents in a process, for simulations. It is stopped with [`Connected::run_until`].
///
/// # Errors
/// One line about what keeps the agent from starting.
pub fn embed(
    args: &Args,
    own: ClientSet,
    hub: ClientSet,
) -> anyhow::Result<Connected<MemberSnapshot>> {
    let agent = Agent::within(NAME, VERSION, args.runtime())?;
    assemble(agent, args, args.settings()?, own, hub)
}

/// Adds the controllers, and connects the agent to both clusters.
fn assemble(
    mut agent: Agent<MemberSnapshot>,
    args: &Args,
    mut settings: Settings,
    own: ClientSet,
    hub: ClientSet,
) -> anyhow::Result<Connected<MemberSnapshot>> {
    settings.reserved_addresses.api_server = own.address();
    let virtual_nodes = VirtualNodeParts::default();
    let memory = TrafficMemory::default();
    let answers = HubAnswers::default();
    add_controllers(&mut agent, &settings, &virtual_nodes, &memory, &answers)?;
    let directs = settings.networking && settings.traffic.enabled;
    let reached = Reached::by(MemberSnapshot::sources());
    if directs {
        agent.keep_notes(hub_follower::notes(&memory, &reached));
    }
    let selected = Arc::clone(&virtual_nodes.selected);
    hub_token::watch(&mut agent, &settings.identity.cluster, &hub);
    let clients = [(ClusterId::Local, own), (ClusterId::Hub, hub)];
    let [(_, own), (_, hub)] = &clients;
    let feeds = |source: &SourceInfo| match source.cluster {
        ClusterId::Local => {
            scope::own(&settings, &selected, source.id, SourceSpec::new(own.watch.clone()))
                .watch_timeout(args.runtime.watch_timeout)
        }
        ClusterId::Hub => scope::hub(&settings, source.id, SourceSpec::new(hub.watch.clone()))
            .watch_timeout(args.hub_watch_timeout),
    };
    let config = Config {
        relist_every: args.runtime.relist_interval,
        cautious: scope::cautious().union(views::cautious()),
        cautious_for: settings.multicluster.settle,
        reached: reached.clone(),
        ..Config::default()
    };
    let mut agent = agent.connect(&clients, &config, &feeds)?;
    hub_token::renew(&mut agent, &args.hub_token, own, hub)?;
    let links = settings.virtual_nodes.is_on().then_some(&virtual_nodes.links);
    if args.member_lease {
        let notes = directs.then(|| traffic_notes(&settings, &memory, &answers));
        member_lease::keep(&mut agent, &settings.identity, hub, links, notes)?;
    }
    if settings.networking && settings.reachability.is_on() {
        reach_tasks::start(&mut agent, &settings, hub)?;
    }
    if let Some(links) = links {
        virtual_node_tasks::start(&mut agent, &settings, links, virtual_nodes.selected, own)?;
    }
    if directs {
        hub_follower::start(&mut agent, &settings, &memory, &reached);
        hub_witness_task::start(&mut agent, &settings.identity, &memory, hub);
        let gauges = traffic_gauges(memory);
        let gauges = SnapshotMetrics::new(agent.accumulator().clone(), Clock::system(), gauges)?;
        agent.registry().register(Box::new(gauges))?;
    }
    let gauges = gauges(settings, hub.credential.clone());
    let gauges = SnapshotMetrics::new(agent.accumulator().clone(), Clock::system(), gauges)?;
    agent.registry().register(Box::new(gauges))?;
    Ok(agent)
}

/// What the Lease on the hub carries where traffic is directed.
fn traffic_notes(
    settings: &Settings,
    memory: &TrafficMemory,
    answers: &HubAnswers,
) -> TrafficNotes {
    let (memory, settle, settings) =
        (memory.clone(), settings.multicluster.settle, settings.clone());
    let (clock, answers) = (Clock::system(), answers.clone());
    let is_complete = move |snapshot: &MemberSnapshot| {
        is_complete(&settings, &answers, snapshot, clock.now())
            && membership::is_published(&settings, snapshot)
    };
    TrafficNotes { memory, is_complete: Box::new(is_complete), settle }
}

/// Adds the controllers that the settings ask for. Those of the fleet are fenced; EndpointSlices that the agent makes for Pods
/// and machines are this cluster's own.
fn add_controllers(
    agent: &mut Agent<MemberSnapshot>,
    settings: &Settings,
    virtual_nodes: &VirtualNodeParts,
    memory: &TrafficMemory,
    answers: &HubAnswers,
) -> anyhow::Result<()> {
    let (identity, tenure) = (&settings.identity, Arc::new(Tenure::default()));
    if settings.networking {
        let registry = agent.registry();
        let import = ImportMetrics::register(registry, settings.identity.cluster.as_str())?;
        let export = ExportMetrics::register(registry)?;
        let controller = ExportController { settings: settings.clone() };
        let controller = Fenced::new(controller, identity, &tenure);
        let export = Noting { answers: answers.clone(), others: export };
        agent.controller(controller, Options::default().recorder(export));
        let memory = memory.clone();
        let import = Remembering { memory: memory.clone(), others: import };
        let controller = ImportController { settings: settings.clone(), memory };
        let controller = Fenced::new(controller, identity, &tenure);
        agent.controller(controller, Options::default().recorder(import));
    }
    if settings.networking && settings.multicluster.is_watched() {
        let controller = StandardExportController { settings: settings.clone() };
        let controller = Fenced::new(controller, identity, &tenure).without_hub();
        let noting = Noting { answers: answers.clone(), others: Nothing };
        agent.controller(controller, Options::default().recorder(noting));
        let arrivals = StandardImportMetrics::register(agent.registry())?;
        let memory = memory.clone();
        let arrivals = Remembering { memory: memory.clone(), others: arrivals };
        let controller = StandardImportController { settings: settings.clone(), memory };
        let controller = Fenced::new(controller, identity, &tenure).without_hub();
        agent.controller(controller, Options::default().recorder(arrivals));
    }
    if settings.networking && settings.traffic.enabled {
        let controller = TrafficStatusController { memory: memory.clone() };
        agent.controller(controller, Options::default());
    }
    if settings.external_workloads {
        let options = Options::default().queue_name(external_workloads::QUEUE);
        let cidrs = settings.external_workload_cidrs.clone();
        agent.controller(ExternalWorkloadController { cidrs }, options);
    }
    if settings.endpointslices != Mode::Off {
        let slices = SliceMetrics::register(agent.registry(), settings.max_endpoints_per_slice)?;
        let replaces = settings.endpointslices == Mode::All;
        let options = Options::default().queue_name(replaces.then_some(endpointslices::QUEUE));
        let controller = EndpointSliceController { settings: settings.clone() };
        agent.controller(controller, options.recorder(slices));
    } else if settings.networking {
        agent.controller(LeftoverController, Options::default());
    }
    if settings.virtual_nodes.is_on() {
        add_virtual_nodes(agent, settings, virtual_nodes, &tenure)?;
    }
    let controller = MembershipController { settings: settings.clone(), answers: answers.clone() };
    let controller = Fenced::new(controller, identity, &tenure).measured();
    agent.controller(controller, Options::default().recorder(FenceLog::default()));
    Ok(())
}

/// What controllers and tasks of virtual nodes share.
struct VirtualNodeParts {
    links: Arc<Links>,
    writes: Arc<StatusWrites>,
    refusals: Arc<Refusals>,
    selected: Arc<Selected>,
}

impl Default for VirtualNodeParts {
    fn default() -> Self {
        let clock = BootClock::system();
        Self {
            links: Arc::new(Links::new(clock.clone())),
            writes: Arc::new(StatusWrites::new(clock.clone())),
            refusals: Arc::new(Refusals::new(clock)),
            selected: Arc::default(),
        }
    }
}

/// Adds the controllers of Pods that run elsewhere, and of those of others.
fn add_virtual_nodes(
    agent: &mut Agent<MemberSnapshot>,
    settings: &Settings,
    parts: &VirtualNodeParts,
    tenure: &Arc<Tenure>,
) -> anyhow::Result<()> {
    let (identity, wanted) = (&settings.identity, &settings.virtual_nodes);
    let metrics = VirtualNodeMetrics::register(agent.registry())?;
    let (links, writes) = (&parts.links, &parts.writes);
    if wanted.origin {
        let controller = OriginController {
            settings: settings.clone(),
            links: Arc::clone(links),
            writes: Arc::clone(writes),
        };
        let recorder = metrics.recorder(Arc::clone(writes), |key| match key {
            origin::Key::Pod(uid) => Some(uid.to_string()),
            origin::Key::Node(_) => None,
        });
        let controller = Fenced::new(controller, identity, tenure);
        agent.controller(controller, Options::default().recorder(recorder));
    }
    if wanted.executor {
        let refusals = &parts.refusals;
        let controller = ExecutorController {
            settings: settings.clone(),
            links: Arc::clone(links),
            writes: Arc::clone(writes),
            refusals: Arc::clone(refusals),
        };
        let recorder = metrics.recorder(Arc::clone(writes), |key| match key {
            executor::Key::Pod(source) => Some(import_name(&source.namespace, &source.name)),
            executor::Key::Offer | executor::Key::Namespace(_) => None,
        });
        let recorder = recorder.refusals(Arc::clone(refusals));
        let controller = Fenced::new(controller, identity, tenure);
        agent.controller(controller, Options::default().recorder(recorder));
        let cut_off = CutOffController { links: Arc::clone(links) };
        let cut_off = Fenced::new(cut_off, identity, tenure).without_hub();
        let recorder = FromTheBeginning(Arc::clone(links));
        agent.controller(cut_off, Options::default().recorder(recorder));
    }
    Ok(())
}

/// The gauges of what directs traffic.
pub fn traffic_gauges(memory: TrafficMemory) -> impl Fn(&MemberSnapshot, Timestamp) -> Gauges {
    move |_, _| metrics::traffic(&memory.counts())
}

/// The gauges of an agent with these settings and this credential for the hub, from its snapshot.
pub fn gauges(
    settings: Settings,
    credential: Credential,
) -> impl Fn(&MemberSnapshot, Timestamp) -> Gauges {
    move |snapshot, now| {
        let identity = &settings.identity;
        let heartbeat = membership::last_heartbeat(identity, snapshot);
        let mut gauges = metrics::membership(Phase::of(identity, snapshot), heartbeat)?;
        gauges.extend(metrics::fence(&Fence::of(identity, snapshot))?);
        gauges.extend(metrics::credential(standing(&credential, &Clock::system()))?);
        if settings.networking {
            gauges.extend(metrics::kept_imports(kept_imports(identity, snapshot))?);
        }
        if settings.multicluster.is_watched() {
            let count = |state| export::count(snapshot, state);
            let exports = ExportState::ALL.map(|state| (state.as_str(), count(state)));
            let (accepted, published) = membership::standing(identity, snapshot);
            gauges.extend(metrics::multicluster(&exports, accepted, published)?);
            let import::Counts { states, held } = import::count(&settings, snapshot, now);
            let states = states.map(|(state, count)| (state.as_str(), count));
            let held = held.map(|(why, count)| (why.as_str(), count));
            gauges.extend(metrics::multicluster_imports(&states, &held)?);
        }
        if settings.virtual_nodes.origin {
            gauges.extend(metrics::virtual_nodes(&origin::count(identity, snapshot))?);
        }
        if settings.virtual_nodes.is_on() {
            let open = left_over::open_fuses(&settings.virtual_nodes, snapshot);
            gauges.extend(metrics::virtual_node_fuses(&open)?);
        }
        if settings.external_workloads {
            let linkerd = linkerd_is_active(snapshot);
            let count = snapshot.external_workloads.len();
            gauges.extend(metrics::external_workloads(count, linkerd)?);
        }
        Ok(gauges)
    }
}

#[cfg(test)]
mod tests;
