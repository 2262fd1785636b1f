//! A fleet in memory: a hub, members that export, members that import, and what users do there.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::{ClusterId, Snapshot, SnapshotChange, SourceSet, Tracked as _};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::hub_schema::{GROUP_VERSION, HubSchema};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::{Controller, Plan, affected_keys};
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use jiff::Timestamp;
use member_agent::Settings;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::snapshot::MemberSnapshot;
use serde_json::{Value, json};

use crate::agent::{Agent, Sent};
use crate::server::{News, Server};

/// How much of what a fleet has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) services: usize,
    /// Members that export each Service.
    pub(crate) exporters: usize,
    /// Members that import each Service.
    pub(crate) importers: usize,
    /// Endpoints of a Service in each member that exports it.
    pub(crate) endpoints: usize,
    /// Ports of each Service.
    pub(crate) ports: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { services: 1, exporters: 1, importers: 1, endpoints: 10, ports: 1 }
    }
}

/// Who may be looked at; of several the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Exporter,
    Hub,
    Importer,
}

/// Does some work, and takes its measure.
pub(crate) type Meter = fn(&mut dyn FnMut());

/// Plans by key.
type Planned<R> = Vec<(<R as Controller>::Key, Plan<<R as Controller>::Measurement>)>;

/// A controller, and the keys that it has to plan again because a server refused a step.
pub(crate) struct Desk<R: Controller> {
    pub(crate) controller: R,
    again: BTreeSet<R::Key>,
}

impl<R: Controller> Desk<R> {
    fn new(controller: R) -> Self {
        Self { controller, again: BTreeSet::new() }
    }

    /// Plans for what the step marks.
    fn plans(&mut self, step: &SnapshotChange<R::Snapshot>, now: Timestamp) -> Planned<R> {
        let mut keys = std::mem::take(&mut self.again);
        keys.append(&mut affected_keys(&self.controller, &step.old, &step.new));
        keys.into_iter()
            .map(|key| {
                let plan = self.controller.plan(&key, &step.new, now);
                (key, plan)
            })
            .collect()
    }

    fn execute(&mut self, plans: Planned<R>, servers: &mut [&mut ModelServer]) {
        for (key, plan) in plans {
            if !execute(&plan, servers).is_empty() {
                self.again.insert(key);
            }
        }
    }
}

/// The agent of a member.
pub(crate) struct Member {
    agent: Agent<MemberSnapshot>,
    namespace: String,
    pub(crate) export: Desk<ExportController>,
    pub(crate) import: Desk<ImportController>,
}

impl Member {
    fn new(name: &str) -> Self {
        let derived_service_grace = Duration::ZERO;
        let settings = Settings { derived_service_grace, ..Settings::new(name) };
        let namespace = settings.identity.hub_namespace.clone();
        let export = ExportController { settings: settings.clone() };
        let import = ImportController::new(settings);
        let agent = Agent::new(export.reads().union(import.reads()));
        Self { agent, namespace, export: Desk::new(export), import: Desk::new(import) }
    }

    /// What the controllers of the agent read.
    pub(crate) fn reads(&self) -> SourceSet {
        self.export.controller.reads().union(self.import.controller.reads())
    }
}

/// Servers and agents.
pub(crate) struct Fleet {
    pub(crate) hub: Server,
    /// Those that export come first.
    pub(crate) members: Vec<Server>,
    hub_agent: Agent<HubSnapshot>,
    pub(crate) hub_desk: Desk<ServiceController>,
    pub(crate) agents: Vec<Member>,
    shape: Shape,
    /// Whose work is measured: everything between the text of events and plans.
    counts: Option<(Who, Meter)>,
}

impl Fleet {
    /// A fleet at rest in which the Services of a shape are exchanged.
    pub(crate) fn exchanged(shape: Shape) -> Self {
        let names: Vec<String> = (0..shape.exporters + shape.importers).map(member_name).collect();
        let mut namespaces = vec!["team".to_owned()];
        namespaces.extend(names.iter().map(|name| format!("fleet-member-{name}")));
        let namespaces: Vec<&str> = namespaces.iter().map(String::as_str).collect();
        let mut hub = Server::new(ClusterId::Hub, &namespaces);
        let schema = ObjectName::cluster(GROUP_VERSION);
        hub.model.create(HubSchema::KIND, &schema, HubSchema::OURS.object()).unwrap();
        let member = |_| Server::new(ClusterId::Local, &["team", "fleet-system"]);
        let controller = ServiceController::default();
        let mut fleet = Self {
            hub,
            members: names.iter().map(member).collect(),
            hub_agent: Agent::new(controller.reads()),
            hub_desk: Desk::new(controller),
            agents: names.iter().map(|name| Member::new(name)).collect(),
            shape,
            counts: None,
        };
        empty(&fleet.hub_agent, fleet.hub_desk.controller.reads());
        for member in &fleet.agents {
            empty(&member.agent, member.reads());
        }
        for number in 0..shape.services {
            fleet.exchange(&service(number), number);
        }
        fleet.settle();
        fleet
    }

    /// From now on this one's work is measured.
    pub(crate) fn count(&mut self, who: Who, meter: Meter) {
        self.counts = Some((who, meter));
    }

    fn meter(&self, who: Who) -> Option<Meter> {
        self.counts.and_then(|(whose, meter)| (whose == who).then_some(meter))
    }

    /// Writes by agents since it was asked for last.
    pub(crate) fn take_writes(&mut self) -> usize {
        let servers = std::iter::once(&mut self.hub).chain(&mut self.members);
        servers.map(|server| server.model.take_writes().len()).sum()
    }

    /// A Pod of a Service is replaced by another, in the first member that exports it.
    pub(crate) fn change(&mut self, number: usize, turn: usize) {
        let name = service(number);
        let endpoints = self.shape.endpoints;
        let address = format!("10.2.{}.{}", turn / 250 % 250, turn % 250);
        let edit = |slice: &mut Value| {
            slice["endpoints"][turn % endpoints] = endpoint(&address);
        };
        self.members[0].model.edit(kinds::ENDPOINT_SLICE, &name, edit).unwrap();
    }

    fn exchange(&mut self, name: &ObjectName, number: usize) {
        let (exporters, importers) = self.members.split_at_mut(self.shape.exporters);
        for (at, exporter) in exporters.iter_mut().enumerate() {
            export(exporter, name, self.shape, [subnet(at), number % 250]);
        }
        for importer in importers {
            let wish = json!({ "spec": { "serviceImport": { "name": name.name } } });
            importer.model.create(kinds::MULTI_CLUSTER_SERVICE, name, wish).unwrap();
        }
    }

    /// Runs all agents until none has anything left to do.
    pub(crate) fn settle(&mut self) {
        while self.tell() {
            self.work_on_hub();
            (0..self.members.len()).for_each(|at| self.work_in_member(at));
        }
    }

    /// Sends what changed to its watches. False if nothing did.
    fn tell(&mut self) -> bool {
        let of_hub = self.hub.news(&kinds_of::<HubSnapshot>());
        send(&self.hub_agent, ClusterId::Hub, &of_hub, None);
        let mut some = !of_hub.is_empty();
        for (member, own) in self.agents.iter().zip(&mut self.members) {
            let of_own = own.news(&kinds_of::<MemberSnapshot>());
            send(&member.agent, ClusterId::Local, &of_own, None);
            send(&member.agent, ClusterId::Hub, &of_hub, Some(&member.namespace));
            some |= !of_own.is_empty();
        }
        some
    }

    fn work_on_hub(&mut self) {
        let meter = self.meter(Who::Hub);
        let (agent, desk) = (&mut self.hub_agent, &mut self.hub_desk);
        let (now, mut plans) = (self.hub.model.now(), Vec::new());
        run(meter, &mut || {
            let Some(step) = agent.turn() else { return };
            plans = desk.plans(&step, now);
            agent.commit(step);
        });
        desk.execute(plans, &mut [&mut self.hub.model]);
    }

    fn work_in_member(&mut self, at: usize) {
        let meter = match at {
            0 => self.meter(Who::Exporter),
            at if at == self.shape.exporters => self.meter(Who::Importer),
            _ => None,
        };
        let Member { agent, export, import, .. } = &mut self.agents[at];
        let (now, mut exports, mut imports) = (self.hub.model.now(), Vec::new(), Vec::new());
        run(meter, &mut || {
            let Some(step) = agent.turn() else { return };
            exports = export.plans(&step, now);
            imports = import.plans(&step, now);
            agent.commit(step);
        });
        let servers = &mut [&mut self.members[at].model, &mut self.hub.model];
        export.execute(exports, servers);
        import.execute(imports, servers);
    }
}

fn run(meter: Option<Meter>, work: &mut dyn FnMut()) {
    match meter {
        Some(meter) => meter(work),
        None => work(),
    }
}

fn member_name(at: usize) -> String {
    match at {
        0 => "a".to_owned(),
        1 => "b".to_owned(),
        at => format!("m{at}"),
    }
}

/// The second byte of a member's addresses; 2 is that of replaced Pods.
fn subnet(member: usize) -> usize {
    if member == 0 { 1 } else { 100 + member }
}

fn ports(count: usize) -> Vec<Value> {
    let name = |at| if at == 0 { "web".to_owned() } else { format!("web-{at}") };
    let port = |at| json!({ "name": name(at), "protocol": "TCP", "port": 80 + at });
    (0..count).map(port).collect()
}

/// A Service with its slice, exported.
fn export(exporter: &mut Server, name: &ObjectName, shape: Shape, [high, low]: [usize; 2]) {
    let ports = ports(shape.ports);
    let endpoints: Vec<Value> =
        (0..shape.endpoints).map(|at| endpoint(&format!("10.{high}.{low}.{at}"))).collect();
    let objects = [
        (
            kinds::SERVICE,
            json!({ "spec": {
                "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": ports,
            }}),
        ),
        (
            kinds::ENDPOINT_SLICE,
            json!({
                "metadata": { "labels": { "kubernetes.io/service-name": name.name } },
                "addressType": "IPv4",
                "endpoints": endpoints,
                "ports": ports,
            }),
        ),
        (kinds::SERVICE_EXPORT, json!({})),
    ];
    for (kind, object) in objects {
        exporter.model.create(kind, name, object).unwrap();
    }
}

/// Lists that find nothing: what is there comes as events.
fn empty<S: Snapshot>(agent: &Agent<S>, sources: SourceSet) {
    for source in S::sources().iter().filter(|source| sources.contains(source.id)) {
        agent.send(source.id, Sent::List(Vec::new()));
    }
}

fn kinds_of<S: Snapshot>() -> Vec<ResourceKind> {
    let kinds: BTreeSet<ResourceKind> = S::sources().iter().map(|source| source.kind).collect();
    kinds.into_iter().collect()
}

/// Members see of the hub their own namespace and what is in none.
fn send<S: Snapshot>(agent: &Agent<S>, cluster: ClusterId, news: &[News], only: Option<&str>) {
    for one in news
        .iter()
        .filter(|one| only.is_none_or(|only| one.namespace.is_empty() || one.namespace == only))
    {
        let watching = |source: &&fleet_accumulator::SourceInfo| {
            source.cluster == cluster && source.kind == one.kind && agent.watches(source.id)
        };
        for source in S::sources().iter().filter(watching) {
            agent.send(source.id, Sent::Event(one.text.clone()));
        }
    }
}

fn endpoint(address: &str) -> Value {
    json!({ "addresses": [address], "conditions": { "ready": true }, "nodeName": "node-1" })
}

/// The Service of this number; the same in both members.
pub(crate) fn service(number: usize) -> ObjectName {
    ObjectName::new("team", format!("shop-{number:06}"))
}
