//! A fleet in memory: a hub, a member that exports and one that imports, and what users do there.

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

/// Endpoints of each Service.
const ENDPOINTS: usize = 10;

/// Who may be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Exporter,
    Hub,
    Importer,
}

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
        let import = ImportController { settings };
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
    pub(crate) members: [Server; 2],
    hub_agent: Agent<HubSnapshot>,
    pub(crate) hub_desk: Desk<ServiceController>,
    pub(crate) agents: [Member; 2],
    /// Whose work goes through [`counted`].
    counts: Option<Who>,
}

/// What is counted, under a name that tools find. Everything between the text of events and plans.
#[inline(never)]
pub(crate) fn counted(work: &mut dyn FnMut()) {
    work();
}

impl Fleet {
    /// A fleet at rest in which so many Services are exchanged.
    pub(crate) fn exchanged(services: usize) -> Self {
        let mut hub = Server::new(ClusterId::Hub, &["team", "fleet-member-a", "fleet-member-b"]);
        let schema = ObjectName::cluster(GROUP_VERSION);
        hub.model.create(HubSchema::KIND, &schema, HubSchema::OURS.object()).unwrap();
        let member = || Server::new(ClusterId::Local, &["team", "fleet-system"]);
        let controller = ServiceController::default();
        let mut fleet = Self {
            hub,
            members: [member(), member()],
            hub_agent: Agent::new(controller.reads()),
            hub_desk: Desk::new(controller),
            agents: ["a", "b"].map(Member::new),
            counts: None,
        };
        empty(&fleet.hub_agent, fleet.hub_desk.controller.reads());
        for member in &fleet.agents {
            empty(&member.agent, member.reads());
        }
        for number in 0..services {
            fleet.exchange(&service(number), number);
        }
        fleet.settle();
        fleet
    }

    /// From now on this one's work is what [`counted`] does.
    pub(crate) fn count(&mut self, who: Who) {
        self.counts = Some(who);
    }

    /// Writes by agents since it was asked for last.
    pub(crate) fn take_writes(&mut self) -> usize {
        let [a, b] = &mut self.members;
        [&mut self.hub, a, b].into_iter().map(|server| server.model.take_writes().len()).sum()
    }

    /// A Pod of a Service is replaced by another.
    pub(crate) fn change(&mut self, number: usize, turn: usize) {
        let name = service(number);
        let address = format!("10.2.{}.{}", turn / 250 % 250, turn % 250);
        let edit = |slice: &mut Value| {
            slice["endpoints"][turn % ENDPOINTS] = endpoint(&address);
        };
        self.members[0].model.edit(kinds::ENDPOINT_SLICE, &name, edit).unwrap();
    }

    fn exchange(&mut self, name: &ObjectName, number: usize) {
        let [exporter, importer] = &mut self.members;
        let port = json!({ "name": "web", "protocol": "TCP", "port": 80 });
        let endpoints: Vec<Value> =
            (0..ENDPOINTS).map(|at| endpoint(&format!("10.1.{}.{}", number % 250, at))).collect();
        let objects = [
            (
                kinds::SERVICE,
                json!({ "spec": {
                    "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [port],
                }}),
            ),
            (
                kinds::ENDPOINT_SLICE,
                json!({
                    "metadata": { "labels": { "kubernetes.io/service-name": name.name } },
                    "addressType": "IPv4",
                    "endpoints": endpoints,
                    "ports": [port],
                }),
            ),
            (kinds::SERVICE_EXPORT, json!({})),
        ];
        for (kind, object) in objects {
            exporter.model.create(kind, name, object).unwrap();
        }
        let wish = json!({ "spec": { "serviceImport": { "name": name.name } } });
        importer.model.create(kinds::MULTI_CLUSTER_SERVICE, name, wish).unwrap();
    }

    /// Runs all agents until none has anything left to do.
    pub(crate) fn settle(&mut self) {
        while self.tell() {
            self.work_on_hub();
            self.work_in_member(0);
            self.work_in_member(1);
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
        let (agent, desk) = (&mut self.hub_agent, &mut self.hub_desk);
        let (now, mut plans) = (self.hub.model.now(), Vec::new());
        run(self.counts == Some(Who::Hub), &mut || {
            let Some(step) = agent.turn() else { return };
            plans = desk.plans(&step, now);
            agent.commit(step);
        });
        desk.execute(plans, &mut [&mut self.hub.model]);
    }

    fn work_in_member(&mut self, at: usize) {
        let Member { agent, export, import, .. } = &mut self.agents[at];
        let who = [Who::Exporter, Who::Importer][at];
        let (now, mut exports, mut imports) = (self.hub.model.now(), Vec::new(), Vec::new());
        run(self.counts == Some(who), &mut || {
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

fn run(counts: bool, work: &mut dyn FnMut()) {
    if counts { counted(work) } else { work() }
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
