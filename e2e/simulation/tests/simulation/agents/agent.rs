//! Agents whose clusters are in memory: everything of them runs but connections and elections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{
    Accumulator, ClusterId, Config, Feed, Feeds, Snapshot, SourceInfo, Tracked,
};
use fleet_model_server::{ApiServer, ModelServer};
use fleet_plan::Controller;
use fleet_runtime::clients::Credential;
use fleet_runtime::clock::Clock;
use fleet_runtime::engine::{Options, Wiring, run_controller};
use fleet_runtime::events::EventSink;
use fleet_runtime::metrics::{Metrics, SnapshotMetrics};
use fleet_runtime::term_waits::TermWaits;
use fleet_runtime::writer::{WriteGate, Writer, WriterSettings};
use hub_agent::member::MemberController;
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use member_agent::Settings;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::membership::MembershipController;
use member_agent::metrics::{ExportMetrics, ImportMetrics};
use member_agent::snapshot::MemberSnapshot;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::feed::{ModelFeed, Valve};

/// The valves of an agent's watches, by the fields of its snapshot.
pub(crate) type Valves = BTreeMap<&'static str, watch::Sender<Valve>>;

/// A running agent.
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) valves: Valves,
    metrics: Metrics,
    controllers: TaskTracker,
    cancel: CancellationToken,
}

/// Watches that behave.
pub(crate) fn valves<S: Snapshot>() -> Valves {
    S::sources().iter().map(|source| (source.field, watch::Sender::default())).collect()
}

/// What an agent is made of before it starts.
struct Parts<S> {
    wiring: Wiring<S>,
    metrics: Metrics,
    controllers: TaskTracker,
}

impl<S: Snapshot> Parts<S> {
    /// Connects an agent to its servers; `namespace` is where it watches the hub.
    fn new(
        name: &str,
        own: &ApiServer,
        hub: &ApiServer,
        namespace: Option<&str>,
        valves: &Valves,
    ) -> Self {
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        let watches = Watches { own, hub, namespace, valves };
        let accumulator =
            Accumulator::start(&Config::default(), S::all(), &watches, &cancel, &tasks);
        let metrics = Metrics::new(name, "0").unwrap();
        accumulator.register_metrics(metrics.registry()).unwrap();
        let clients = [ClusterId::Local, ClusterId::Hub]
            .map(|cluster| (cluster, server(own, hub, cluster).client(name)));
        let settings = WriterSettings::new(name);
        let writer = Writer::new(clients, settings, WriteGate::open(), metrics.writer());
        let wiring = Wiring {
            tracer: None,
            accumulator,
            writer,
            events: EventSink::disabled(),
            clock: Clock::fixed(hub.read(ModelServer::now)),
            metrics: metrics.controller("none"),
            work_queue: None,
            waits: TermWaits::default(),
            cancel,
        };
        Self { wiring, metrics, controllers: TaskTracker::new() }
    }

    fn controller<R: Controller<Snapshot = S>>(&self, controller: R, options: Options<R>) {
        let metrics = self.metrics.controller(controller.name());
        let wiring = Wiring { metrics, ..self.wiring.clone() };
        self.controllers.spawn(run_controller(Arc::new(controller), wiring, options));
    }

    fn run(self, name: &str, valves: Valves) -> Agent {
        let Self { wiring, metrics, controllers } = self;
        controllers.close();
        Agent { name: name.to_owned(), valves, metrics, controllers, cancel: wiring.cancel }
    }
}

impl Agent {
    /// The hub agent.
    pub(crate) fn hub(hub: &ApiServer, valves: Valves) -> Self {
        let parts = Parts::<HubSnapshot>::new("hub", hub, hub, None, &valves);
        let controller = ServiceController::default();
        let members = MemberController { settings: controller.settings.clone() };
        parts.controller(members, Options::default());
        parts.controller(controller, Options::default());
        parts.run("hub", valves)
    }

    /// The agent of a member.
    pub(crate) fn member(name: &str, own: &ApiServer, hub: &ApiServer, valves: Valves) -> Self {
        let settings = Settings { derived_service_grace: Duration::ZERO, ..Settings::new(name) };
        let namespace = settings.identity.hub_namespace.clone();
        let parts = Parts::<MemberSnapshot>::new(name, own, hub, Some(&namespace), &valves);
        let registry = parts.metrics.registry();
        let export = ExportMetrics::register(registry).unwrap();
        let import = ImportMetrics::register(registry, name).unwrap();
        let accumulator = parts.wiring.accumulator.clone();
        let gauges = member_agent::app::gauges(settings.clone(), Credential::default());
        let gauges = SnapshotMetrics::new(accumulator, Clock::system(), gauges).unwrap();
        registry.register(Box::new(gauges)).unwrap();
        let controller = ExportController { settings: settings.clone() };
        parts.controller(controller, Options::default().recorder(export));
        let controller = ImportController::new(settings.clone());
        parts.controller(controller, Options::default().recorder(import));
        parts.controller(MembershipController::new(settings), Options::default());
        parts.run(name, valves)
    }

    /// Changes how one of its watches behaves.
    pub(crate) fn set(&self, field: &str, change: impl FnOnce(&mut Valve)) {
        self.valves[field].send_modify(change);
    }

    /// How many objects a watch does not show any more and that wait for a second list.
    pub(crate) fn held(&self, field: &str) -> usize {
        self.metric("fleet_accumulator_withheld_deletions{", &format!("source=\"{field}\""))
    }

    /// How many imported slices it keeps although the hub does not show their copies.
    pub(crate) fn kept(&self) -> usize {
        self.metric("fleet_networking_imported_slices_kept ", "")
    }

    /// The value of the first series that starts and continues like this.
    fn metric(&self, name: &str, label: &str) -> usize {
        let families = self.metrics.registry().gather();
        let text = prometheus::TextEncoder::new().encode_to_string(&families).unwrap();
        let mut series = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
        series.next().unwrap().rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Ends it, after the requests on their way.
    pub(crate) async fn stop(self) {
        self.cancel.cancel();
        self.controllers.wait().await;
    }
}

/// Makes the watches of an agent.
struct Watches<'a> {
    own: &'a ApiServer,
    hub: &'a ApiServer,
    /// Where the agent watches the hub.
    namespace: Option<&'a str>,
    valves: &'a Valves,
}

impl Feeds for Watches<'_> {
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>> {
        let narrow = source.cluster == ClusterId::Hub && source.kind.namespaced;
        Box::new(ModelFeed {
            kind: T::KIND,
            api: server(self.own, self.hub, source.cluster).clone(),
            namespace: self.namespace.filter(|_| narrow).map(str::to_owned),
            valve: self.valves[source.field].subscribe(),
        })
    }
}

/// Which server of two an agent means.
fn server<'a>(own: &'a ApiServer, hub: &'a ApiServer, cluster: ClusterId) -> &'a ApiServer {
    match cluster {
        ClusterId::Local => own,
        ClusterId::Hub => hub,
    }
}
