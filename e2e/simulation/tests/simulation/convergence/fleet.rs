//! A fleet in memory: model API servers, and the agents' plans run against them.

use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, Refusal, Write, execute, snapshot};
use fleet_oracle::requests::Author;
use fleet_plan::{Action, Controller, Plan, Step, affected_keys};
use hub_agent::member::MemberController;
use hub_agent::multicluster::MulticlusterController;
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::membership::MembershipController;
use member_agent::multicluster::export::StandardExportController;
use member_agent::multicluster::import::StandardImportController;
use member_agent::snapshot::MemberSnapshot;
use member_agent::{Identity, Settings};
use serde_json::{Value, json};

use crate::convergence::record::Record;
use crate::convergence::trace::Trace;
use crate::convergence::watched::Watched;

/// One member: its API server, and the controllers of its agent.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) identity: Identity,
    /// None of its own if it is the hub.
    pub(crate) server: Option<ModelServer>,
    export: ExportController,
    import: ImportController,
    membership: MembershipController,
    /// Those of the standard API, if it takes part.
    pub(crate) standard: Option<StandardOfMember>,
    /// How long its agent has watched the hub.
    pub(crate) watched: Watched,
}

/// The controllers of the standard API in a member.
#[derive(Clone)]
pub(crate) struct StandardOfMember {
    pub(crate) export: StandardExportController,
    pub(crate) import: StandardImportController,
}

/// The controllers of a hub agent that serves the standard API.
#[derive(Clone)]
pub(crate) struct StandardOfHub {
    pub(crate) members: MemberController,
    pub(crate) services: MulticlusterController,
}

/// An agent: of the hub, or of the member at this position.
pub(crate) type AgentOf = Option<usize>;

/// Hub and members.
#[derive(Clone)]
pub(crate) struct Fleet {
    pub(crate) hub: ModelServer,
    pub(crate) members: Vec<Member>,
    controller: ServiceController,
    pub(crate) standard: Option<StandardOfHub>,
    /// How long the hub agent has watched the hub.
    pub(crate) watched: Watched,
    /// The agent that wrote last.
    pub(crate) writer: AgentOf,
    random: Random,
    /// Whether "later" steps are due: time passes only when nothing else is left to do.
    patient: bool,
    /// What became of every object, where a test wants to know.
    trace: Option<Trace>,
    /// The same for the oracle.
    pub(crate) record: Option<Record>,
}

/// A write, and the cluster it went to ("hub" or the member's name).
pub(crate) type Counted = (String, Write);

impl Fleet {
    pub(crate) fn new(members: &[&str]) -> Self {
        Self::with_seed(members, 1)
    }

    /// The seed decides in which order the agents' keys are planned.
    pub(crate) fn with_seed(members: &[&str], seed: u64) -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        let mut namespaces = vec!["team".to_owned()];
        namespaces.extend(members.iter().map(|member| format!("fleet-member-{member}")));
        for namespace in namespaces {
            let name = ObjectName::cluster(namespace);
            hub.create(kinds::NAMESPACE, &name, json!({})).unwrap();
        }
        let members = members.iter().map(|name| Member::new(name)).collect();
        Self {
            hub,
            members,
            controller: ServiceController::default(),
            standard: None,
            watched: Watched::default(),
            writer: None,
            random: Random::new(seed),
            patient: false,
            trace: None,
            record: None,
        }
    }

    /// From now on the contents of all objects are noted.
    pub(crate) fn begin_trace(&mut self) {
        self.trace.get_or_insert_default().clear();
        self.look();
    }

    /// Notes what was written since, by this author.
    pub(crate) fn note(&mut self, author: &Author) {
        let Some(record) = &mut self.record else { return };
        record.look("hub", &self.hub, author);
        for member in &self.members {
            if let Some(server) = &member.server {
                record.look(&member.identity.cluster, server, author);
            }
        }
    }

    /// Notes them as they are.
    pub(crate) fn look(&mut self) {
        let Some(trace) = &mut self.trace else { return };
        trace.look("hub", &self.hub);
        for member in &self.members {
            if let Some(server) = &member.server {
                trace.look(&member.identity.cluster, server);
            }
        }
    }

    /// An object that came back to what it was before.
    pub(crate) fn oscillation(&self) -> Option<String> {
        self.trace.as_ref()?.oscillation()
    }

    /// Makes a member of the hub's own cluster; it has no API server beside the hub's.
    pub(crate) fn join_hub(&mut self, name: &str) {
        self.hub.also(ClusterId::Local);
        for namespace in ["fleet-system".to_owned(), format!("fleet-member-{name}")] {
            let namespace = ObjectName::cluster(namespace);
            self.hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        }
        self.members.push(Member { server: None, ..Member::new(name) });
    }

    /// Sets a member's state: join or leave.
    pub(crate) fn tell(&mut self, at: usize, state: &str) {
        let identity = &self.members[at].identity;
        let name = ObjectName::new(identity.hub_namespace.as_str(), identity.cluster.as_str());
        let kind = kinds::INTERNAL_MEMBER_CLUSTER;
        let told = |object: &mut Value| object["spec"]["state"] = json!(state);
        if self.hub.edit(kind, &name, told).is_err() {
            self.hub.create(kind, &name, json!({ "spec": { "state": state } })).unwrap();
        }
    }

    /// The status of `Joined` in both entries of a member's report.
    pub(crate) fn reported(&self, at: usize) -> Option<&str> {
        let identity = &self.members[at].identity;
        let name = ObjectName::new(identity.hub_namespace.as_str(), identity.cluster.as_str());
        let object = self.hub.get(kinds::INTERNAL_MEMBER_CLUSTER, &name)?;
        let reports = object["status"]["agentStatus"].as_array()?;
        let mut said = reports.iter().map(|report| {
            assert_eq!(report["conditions"][0]["type"], "Joined");
            report["conditions"][0]["status"].as_str()
        });
        let first = said.next()??;
        assert_eq!((said.next()??, reports.len()), (first, 2));
        Some(first)
    }

    pub(crate) fn member(&mut self, at: usize) -> &mut ModelServer {
        self.members[at].server.as_mut().unwrap_or(&mut self.hub)
    }

    /// Runs all agents until none has anything left to write, and returns what was written.
    pub(crate) fn settle(&mut self) -> Vec<Counted> {
        for _ in 0..200 {
            if !self.round(None) {
                return self.take_writes();
            }
        }
        panic!("no rest after 200 rounds; last writes: {:#?}", self.take_writes());
    }

    /// Runs until at most `writes` steps were sent; whatever a plan had left is lost, as in a crash.
    /// Returns whether that many were sent.
    pub(crate) fn run_until_crash(&mut self, writes: usize) -> bool {
        let mut left = writes;
        for _ in 0..200 {
            if !self.round(Some(&mut left)) {
                return false;
            }
            if left == 0 {
                return true;
            }
        }
        panic!("no rest after 200 rounds");
    }

    pub(crate) fn take_writes(&mut self) -> Vec<Counted> {
        let mut all = Vec::new();
        all.extend(self.hub.take_writes().into_iter().map(|write| ("hub".to_owned(), write)));
        for member in &mut self.members {
            let name = member.identity.cluster.clone();
            let Some(server) = &mut member.server else { continue };
            all.extend(server.take_writes().into_iter().map(|write| (name.clone(), write)));
        }
        all
    }

    /// Every key of every agent is planned once, in random order; once more with patience if
    /// nothing came of it. Returns whether any step was sent.
    fn round(&mut self, mut budget: Option<&mut usize>) -> bool {
        self.patient = false;
        self.note(&Author::Other);
        if self.pass(&mut budget) {
            return true;
        }
        self.patient = true;
        self.pass(&mut budget)
    }

    fn pass(&mut self, budget: &mut Option<&mut usize>) -> bool {
        let mut acted = false;
        let mut agents: Vec<Option<usize>> = (0..self.members.len()).map(Some).collect();
        agents.push(None);
        self.random.shuffle(&mut agents);
        for agent in agents {
            let has_acted = match agent {
                None => self.run_hub(budget),
                Some(at) => self.run_member(at, budget),
            };
            if has_acted {
                self.writer = agent;
            }
            acted |= has_acted;
        }
        acted
    }

    fn run_hub(&mut self, budget: &mut Option<&mut usize>) -> bool {
        if matches!(self.watched, Watched::Off | Watched::Never) {
            return false;
        }
        let controller = self.controller.clone();
        let mut acted = self.run_on_hub(&controller, budget);
        if let Some(StandardOfHub { members, services }) = self.standard.clone() {
            acted |= self.run_on_hub(&members, budget);
            acted |= self.run_on_hub(&services, budget);
        }
        acted
    }

    fn run_on_hub<R: Controller<Snapshot = HubSnapshot>>(
        &mut self,
        controller: &R,
        budget: &mut Option<&mut usize>,
    ) -> bool {
        let mut seen = self.hub_snapshot();
        let mut keys = keys(controller, &seen);
        self.random.shuffle(&mut keys);
        let mut acted = false;
        for key in keys {
            let plan = controller.plan(&key, &seen, self.hub.now());
            if send(plan, self.patient, &mut [&mut self.hub], budget) {
                acted = true;
                self.note(&Author::Hub);
                self.look();
                seen = self.hub_snapshot();
            }
        }
        acted
    }

    fn run_member(&mut self, at: usize, budget: &mut Option<&mut usize>) -> bool {
        let member = &self.members[at];
        let (watched, standard) = (member.watched, member.standard.clone());
        if watched == Watched::Off {
            return false;
        }
        let mut acted = false;
        if let Some(StandardOfMember { export, import }) = standard {
            acted |= self.run_in_member(at, &export, budget);
            acted |= self.run_in_member(at, &import, budget);
        }
        // All others need what the hub has.
        if watched != Watched::Never {
            let member = &self.members[at];
            let (export, import) = (member.export.clone(), member.import.clone());
            let membership = member.membership.clone();
            acted |= self.run_in_member(at, &export, budget);
            acted |= self.run_in_member(at, &import, budget);
            acted |= self.run_in_member(at, &membership, budget);
        }
        acted
    }

    fn run_in_member<R: Controller<Snapshot = MemberSnapshot>>(
        &mut self,
        at: usize,
        controller: &R,
        budget: &mut Option<&mut usize>,
    ) -> bool {
        let mut seen = self.member_snapshot(at);
        let mut keys = keys(controller, &seen);
        self.random.shuffle(&mut keys);
        let author = Author::Member(self.members[at].identity.cluster.clone());
        let mut acted = false;
        for key in keys {
            let plan = controller.plan(&key, &seen, self.hub.now());
            let servers: &mut [&mut ModelServer] = match &mut self.members[at].server {
                Some(server) => &mut [server, &mut self.hub],
                None => &mut [&mut self.hub],
            };
            if send(plan, self.patient, servers, budget) {
                acted = true;
                self.note(&author);
                self.look();
                seen = self.member_snapshot(at);
            }
        }
        acted
    }

    fn hub_snapshot(&self) -> HubSnapshot {
        let schema = HubSchema::view(Some(HubSchema::OURS));
        self.watched.on_hub(HubSnapshot { schema, ..snapshot(&[&self.hub], None) })
    }

    fn member_snapshot(&self, at: usize) -> MemberSnapshot {
        let member = &self.members[at];
        let own = member.server.as_ref().unwrap_or(&self.hub);
        let schema = HubSchema::view(Some(HubSchema::OURS));
        let namespace = Some(member.identity.hub_namespace.as_str());
        let seen = MemberSnapshot { schema, ..snapshot(&[own, &self.hub], namespace) };
        member.watched.in_member(seen)
    }
}

impl Member {
    fn new(name: &str) -> Self {
        let settings = Settings { derived_service_grace: Duration::ZERO, ..Settings::new(name) };
        let mut server = ModelServer::new(ClusterId::Local);
        let system = ObjectName::cluster(settings.identity.system_namespace.as_str());
        server.create(kinds::NAMESPACE, &system, json!({})).unwrap();
        Self {
            server: Some(server),
            membership: MembershipController::new(settings.clone()),
            export: ExportController { settings: settings.clone() },
            import: ImportController::new(settings.clone()),
            standard: None,
            watched: Watched::default(),
            identity: settings.identity,
        }
    }

    /// Lets its agent serve the standard API, with these settings.
    pub(crate) fn serve_standard(&mut self, settings: &Settings) {
        let settings = || settings.clone();
        self.export = ExportController { settings: settings() };
        self.import = ImportController::new(settings());
        self.membership = MembershipController::new(settings());
        let export = StandardExportController { settings: settings() };
        let import = StandardImportController::new(settings());
        self.standard = Some(StandardOfMember { export, import });
    }

    /// Its settings.
    pub(crate) fn settings(&self) -> Settings {
        self.export.settings.clone()
    }
}

/// All keys that a snapshot touches.
fn keys<R: Controller>(controller: &R, snapshot: &R::Snapshot) -> Vec<R::Key> {
    affected_keys(controller, &R::Snapshot::default(), snapshot).into_iter().collect()
}

fn send<M>(
    mut plan: Plan<M>,
    patient: bool,
    servers: &mut [&mut ModelServer],
    budget: &mut Option<&mut usize>,
) -> bool {
    if patient {
        plan.steps.extend(plan.debounced.drain(..).map(|later| later.step));
    }
    if let Some(budget) = budget {
        let mut writes = 0;
        plan.steps.retain(|step| {
            writes += usize::from(is_write(step));
            writes <= **budget
        });
        **budget -= writes.min(**budget);
    }
    let acted = !plan.steps.is_empty();
    for (step, refusal) in execute(&plan, servers) {
        assert!(!matches!(refusal, Refusal::Invalid | Refusal::Misfit), "{step:?}");
    }
    acted
}

fn is_write(step: &Step) -> bool {
    step.action != Action::ConfirmAbsent
}

/// A small generator, so that a failing run can be repeated from its seed (xorshift64*).
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `end`, without `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next() >> 33) % end as u64).unwrap()
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            let other = usize::try_from(self.next() % (at as u64 + 1)).unwrap();
            list.swap(at, other);
        }
    }
}

// What users do.

pub(crate) fn service(name: &ObjectName, server: &mut ModelServer, port: i32) {
    let object = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1",
        "ports": [{ "name": "web", "protocol": "TCP", "port": port, "targetPort": port }],
    }});
    server.create(kinds::SERVICE, name, object).unwrap();
}

pub(crate) fn slice(
    service: &ObjectName,
    suffix: &str,
    server: &mut ModelServer,
    addresses: &[&str],
) {
    let name = ObjectName::new(service.namespace.clone(), format!("{}-{suffix}", service.name));
    let object = json!({
        "metadata": { "labels": { "kubernetes.io/service-name": service.name } },
        "addressType": "IPv4",
        "endpoints": endpoints(addresses),
        "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
    });
    server.create(kinds::ENDPOINT_SLICE, &name, object).unwrap();
}

pub(crate) fn endpoints(addresses: &[&str]) -> Value {
    let ready = |address: &&str| json!({ "addresses": [address], "conditions": { "ready": true } });
    addresses.iter().map(ready).collect()
}

pub(crate) fn export(service: &ObjectName, server: &mut ModelServer) {
    server.create(kinds::SERVICE_EXPORT, service, json!({})).unwrap();
}

pub(crate) fn import(mcs: &ObjectName, service: &str, server: &mut ModelServer) {
    let object = json!({ "spec": { "serviceImport": { "name": service } } });
    server.create(kinds::MULTI_CLUSTER_SERVICE, mcs, object).unwrap();
}

/// Addresses behind each derived Service of a member, by the binding label.
pub(crate) fn bound(server: &ModelServer, derived: &str) -> Vec<String> {
    let system = |name: &ObjectName| *name.namespace == *"fleet-system";
    let mut addresses = Vec::new();
    for name in server.names(kinds::ENDPOINT_SLICE).iter().filter(|name| system(name)) {
        let slice = server.get(kinds::ENDPOINT_SLICE, name).unwrap();
        if slice["metadata"]["labels"]["kubernetes.io/service-name"] != json!(derived) {
            continue;
        }
        for endpoint in slice["endpoints"].as_array().unwrap() {
            let list = endpoint["addresses"].as_array().unwrap().iter();
            addresses.extend(list.map(|address| address.as_str().unwrap().to_owned()));
        }
    }
    addresses.sort();
    addresses
}

/// What should be gone after a withdrawal: every object of ours but those in `kept`.
pub(crate) fn leftovers(fleet: &Fleet, kept: &[ResourceKind]) -> Vec<String> {
    let ours = [
        kinds::INTERNAL_SERVICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT,
        kinds::ENDPOINT_SLICE_EXPORT,
        kinds::ENDPOINT_SLICE_IMPORT,
        kinds::SERVICE_IMPORT,
    ];
    let mut left = Vec::new();
    let mut add = |cluster: &str, server: &ModelServer, kind: ResourceKind| {
        let names = server.names(kind).into_iter();
        left.extend(names.map(|name| format!("{cluster}: {} {name}", kind.kind)));
    };
    for kind in ours.iter().filter(|kind| !kept.contains(kind)) {
        add("hub", &fleet.hub, *kind);
        for member in &fleet.members {
            let Some(server) = &member.server else { continue };
            add(&member.identity.cluster, server, *kind);
        }
    }
    for member in &fleet.members {
        for kind in [kinds::SERVICE, kinds::ENDPOINT_SLICE] {
            let system = member.server.as_ref().unwrap_or(&fleet.hub).names(kind).into_iter();
            let system = system.filter(|name| *name.namespace == *"fleet-system");
            let cluster = &member.identity.cluster;
            left.extend(system.map(|name| format!("{cluster}: {} {name}", kind.kind)));
        }
    }
    left
}
