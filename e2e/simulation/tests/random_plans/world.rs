//! A fleet, what its users want of it, and how acts are performed.

use std::time::Duration;

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

use crate::act::{Act, Part, PortSet, SERVICES};
use crate::base::{self, Base, TEAM, member_name};
use crate::effects::Effect;
use crate::env::Ambush;
use crate::fleet::{Fleet, HUB_PROCESSES};
use crate::questions::imports::Api;
use crate::questions::rest;
use crate::record::Start;
use crate::servers::HUB;
use crate::truth::{Drain, OfHub, Truth};

/// For how long nothing has to be written.
const QUIET: Duration = Duration::from_secs(75);
/// The longest time of a drain.
const LONGEST_DRAIN: Duration = Duration::from_mins(2);
/// What a drain may take beyond its time.
const REST_BEFORE: Duration = QUIET;
/// How long that may take.
const REST_WITHIN: Duration = Duration::from_hours(1);
/// How long the Lease of a leader lasts that was killed.
const LEASE: Duration = Duration::from_secs(15);

/// Kinds whose specs users write.
const TRAFFIC: [ResourceKind; 3] =
    [kinds::MEMBER_TRAFFIC, kinds::SERVICE_TRAFFIC, kinds::FLEET_TRAFFIC];

pub(crate) struct World {
    pub(crate) fleet: Fleet,
    pub(crate) truth: Truth,
    backup: Option<(ModelServer, OfHub)>,
    /// How many stores the hub has had.
    stores: u16,
    leaderless_since: Option<Duration>,
    /// What there was when the hub got another store.
    pub(crate) replaced: Option<Start>,
    /// Whether the store of the hub was replaced since everything was in its place.
    is_replaced: bool,
    /// Acts, and writes of agents, since then.
    since_rest: (usize, usize),
    /// The most that was written between two rests, in percent of what it may cost.
    pub(crate) dearest: usize,
    /// Numbers of changes at which everything was in its place, for the oracle.
    pub(crate) rests: Vec<u64>,
}

impl World {
    pub(crate) fn new(base: &Base, seed: u64) -> Self {
        Self {
            fleet: Fleet::start(base, seed),
            truth: Truth::new(base.members()),
            backup: None,
            stores: 1,
            leaderless_since: None,
            replaced: None,
            is_replaced: false,
            since_rest: (0, 0),
            dearest: 0,
            rests: Vec::new(),
        }
    }

    pub(crate) fn is_fine(&self) -> bool {
        self.fleet.env.findings.is_empty()
    }

    pub(crate) fn perform(&mut self, act: &Act) {
        self.fleet.env.note(|| format!("--- {act:?}"));
        self.since_rest.0 += 1;
        match act {
            Act::Rest => return self.rest(),
            Act::Pass { millis } => return self.pass(Duration::from_millis(*millis)),
            Act::Export { service, member, endpoints, ports } => {
                self.export(*service, *member, *endpoints, *ports);
            }
            Act::Recreate { service, member, part } => self.recreate(*service, *member, *part),
            Act::Unexport { service, member } => self.unexport(*service, *member),
            Act::Endpoints { service, member, endpoints } => {
                self.change_endpoints(*service, *member, *endpoints);
            }
            Act::Import { service, member } => self.import(*service, *member),
            Act::Unimport { service, member } => self.unimport(*service, *member),
            Act::Namespace { member } => self.make_namespace(*member),
            Act::Drain { member, service, percent, over, force } => {
                let name = service.map_or("*".to_owned(), full_name);
                let drain = json!({
                    "service": name, "percent": percent, "overSeconds": over, "force": force,
                });
                self.drain(*member, vec![drain]);
                let takes = Duration::from_secs(over.unsigned_abs()) + REST_BEFORE;
                let done = self.fleet.env.now + takes;
                let drain = Drain { service: *service, percent: *percent, done };
                self.truth.end_drain(*member);
                self.truth.drained.insert(*member, drain);
            }
            Act::Undrain { member } => self.undrain(*member),
            Act::Prefer { service, member } => self.prefer(*service, *member),
            Act::NoPreference { service, member } => self.no_preference(*service, *member),
            Act::Ambush { process, writes, moment } => {
                self.shake(*process);
                let name = self.fleet.name(*process);
                let ambush = Ambush { writes: *writes, moment: *moment };
                self.fleet.env.ambushes.insert(name, ambush);
            }
            Act::Kill { process } => {
                self.shake(*process);
                self.fleet.kill(*process);
            }
            Act::Restart { process } => {
                self.fleet.kill(*process);
                self.fleet.restart(*process);
            }
            Act::Storm { one_in } => {
                self.fleet.env.storm = *one_in;
                self.shake_all();
            }
            Act::Fatal { write, moment } => self.fleet.env.fatal = Some((*write, *moment)),
            Act::HandOver => self.fleet.hand_over(),
            Act::Term { member } => {
                self.shake(HUB_PROCESSES + member);
                self.fleet.new_term(*member);
            }
            Act::Cut { member } => {
                self.shake(HUB_PROCESSES + member);
                self.fleet.env.cut.insert(member_name(*member));
            }
            Act::Mend { member } => {
                self.fleet.env.cut.remove(&member_name(*member));
            }
            Act::Watch { process, watch, how } => {
                self.shake(*process);
                self.fleet.disturb(*process, *watch, how);
            }
            Act::Clock { process, seconds } => self.fleet.step_clock(*process, *seconds),
            Act::ServerClock { server, seconds } => {
                self.fleet.env.servers.0[*server].skew = *seconds;
            }
            Act::Lossy { one_in } => {
                self.fleet.env.lossy = *one_in;
                self.shake_all();
            }
            Act::Backup => {
                let hub = self.fleet.env.servers.hub().clone();
                self.backup = Some((hub, self.truth.of_hub()));
            }
            Act::Restore => {
                if let Some((backup, truth)) = self.backup.clone() {
                    self.fleet.env.effects.count(Effect::Restored);
                    self.replace(backup, truth);
                }
            }
            Act::Wipe => {
                let hub = base::hub(self.stores, self.fleet.members.len());
                self.fleet.env.effects.count(Effect::Wiped);
                self.replace(hub, OfHub::default());
            }
        }
        self.fleet.env.sign_others();
        self.fleet.stir();
    }

    // What users do.

    fn create(
        &mut self,
        server: usize,
        kind: ResourceKind,
        name: &ObjectName,
        object: Value,
    ) -> bool {
        self.fleet.env.servers.0[server].model.create(kind, name, object).is_ok()
    }

    fn export(&mut self, service: usize, member: usize, endpoints: usize, ports: PortSet) {
        let (api, _) = SERVICES[service];
        if api == Api::Standard {
            self.make_namespace(member);
        }
        self.deploy(service, member, endpoints, ports);
        let kind = export_kind(api);
        if self.create(member + 1, kind, &object_name(service), json!({ "spec": {} })) {
            self.truth.exports.insert((service, member));
        }
        if self.truth.is_contested(service) {
            self.fleet.env.questions.forget(api, &full_name(service));
        }
    }

    fn deploy(&mut self, service: usize, member: usize, endpoints: usize, ports: PortSet) {
        let key = (service, member);
        if self.truth.deployed.contains_key(&key) {
            return;
        }
        let addresses: Vec<_> = (0..endpoints).map(|_| self.truth.address(member)).collect();
        self.truth.deployed.insert(key, addresses);
        self.truth.ports.insert(key, ports);
        if self.truth.made.is_multiple_of(3) {
            let unready = self.truth.address(member);
            self.truth.unready.insert(key, unready);
        }
        self.make_service(service, member);
        self.make_slice(service, member);
    }

    fn make_service(&mut self, service: usize, member: usize) {
        let port = |(name, port): (&str, i64)| json!({ "name": name, "protocol": "TCP", "port": port, "targetPort": 8000 + port });
        let ports = self.truth.ports[&(service, member)].ports().map(port);
        let spec = json!({
            "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": ports,
        });
        let name = object_name(service);
        self.create(member + 1, kinds::SERVICE, &name, json!({ "spec": spec }));
    }

    fn make_slice(&mut self, service: usize, member: usize) {
        let port = |(name, port): (&str, i64)| json!({ "name": name, "protocol": "TCP", "port": 8000 + port });
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": &*object_name(service).name } },
            "addressType": "IPv4",
            "endpoints": self.endpoints(service, member),
            "ports": self.truth.ports[&(service, member)].ports().map(port),
        });
        self.create(member + 1, kinds::ENDPOINT_SLICE, &slice_name(service), slice);
    }

    /// What the slice of a Service has.
    fn endpoints(&self, service: usize, member: usize) -> Value {
        let one = |address: &String, ready: bool| json!({ "addresses": [address], "conditions": { "ready": ready } });
        let key = &(service, member);
        let ready = self.truth.deployed[key].iter().map(|address| one(address, true));
        let unready = self.truth.unready.get(key).map(|address| one(address, false));
        ready.chain(unready).collect()
    }

    /// Its endpoints may be gone meanwhile.
    fn recreate(&mut self, service: usize, member: usize, part: Part) {
        if !self.truth.deployed.contains_key(&(service, member)) {
            return;
        }
        self.release(service, member, &[]);
        let server = self.fleet.env.servers.member(member);
        match part {
            Part::Service => {
                server.delete(kinds::SERVICE, &object_name(service)).unwrap();
                self.make_service(service, member);
            }
            Part::Slice => {
                server.delete(kinds::ENDPOINT_SLICE, &slice_name(service)).unwrap();
                self.make_slice(service, member);
            }
        }
    }

    fn unexport(&mut self, service: usize, member: usize) {
        if self.truth.exports.remove(&(service, member)) {
            let (api, _) = SERVICES[service];
            let server = self.fleet.env.servers.member(member);
            server.delete(export_kind(api), &object_name(service)).unwrap();
            self.release(service, member, &[]);
        }
    }

    fn release(&mut self, service: usize, member: usize, stays: &[String]) {
        let cluster = member_name(member);
        let questions = &mut self.fleet.env.questions;
        questions.release(SERVICES[service].0, &full_name(service), &cluster, stays);
    }

    /// The first endpoint stays.
    fn change_endpoints(&mut self, service: usize, member: usize, endpoints: usize) {
        let Some(before) = self.truth.deployed.get(&(service, member)) else { return };
        let mut addresses = vec![before[0].clone()];
        addresses.extend((1..endpoints).map(|_| self.truth.address(member)));
        self.release(service, member, &addresses[..1]);
        self.truth.deployed.insert((service, member), addresses);
        let endpoints = self.endpoints(service, member);
        let server = self.fleet.env.servers.member(member);
        let change = |slice: &mut Value| slice["endpoints"] = endpoints;
        server.edit(kinds::ENDPOINT_SLICE, &slice_name(service), change).unwrap();
    }

    fn import(&mut self, service: usize, member: usize) {
        let name = object_name(service);
        let object = json!({ "spec": { "serviceImport": { "name": &*name.name } } });
        if self.create(member + 1, kinds::MULTI_CLUSTER_SERVICE, &name, object) {
            self.truth.imports.insert((service, member));
        }
    }

    fn unimport(&mut self, service: usize, member: usize) {
        if self.truth.imports.remove(&(service, member)) {
            let server = self.fleet.env.servers.member(member);
            server.delete(kinds::MULTI_CLUSTER_SERVICE, &object_name(service)).unwrap();
            let questions = &mut self.fleet.env.questions;
            questions.release_import(member, Api::Fleet, &full_name(service));
        }
    }

    fn make_namespace(&mut self, member: usize) {
        self.create(member + 1, kinds::NAMESPACE, &ObjectName::cluster(TEAM), json!({}));
        self.truth.team.insert(member);
    }

    // What administrators do.

    fn drain(&mut self, member: usize, drains: Vec<Value>) {
        let name = ObjectName::cluster(member_name(member));
        let hub = self.fleet.env.servers.hub();
        if hub.get(kinds::MEMBER_TRAFFIC, &name).is_none() {
            hub.create(kinds::MEMBER_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
        }
        let set = |object: &mut Value| object["spec"]["drains"] = drains.into();
        hub.edit(kinds::MEMBER_TRAFFIC, &name, set).unwrap();
        self.note_traffic(HUB, kinds::MEMBER_TRAFFIC, name);
    }

    /// What is written there is what users want.
    fn note_traffic(&mut self, server: usize, kind: ResourceKind, name: ObjectName) {
        let object = self.fleet.env.servers.0[server].model.get(kind, &name);
        let spec = object.map(|object| object["spec"].clone());
        let key = (server, kind, name);
        match spec {
            Some(spec) => self.truth.traffic.insert(key, spec),
            None => self.truth.traffic.remove(&key),
        };
    }

    fn undrain(&mut self, member: usize) {
        if self.truth.end_drain(member) {
            self.drain(member, Vec::new());
        }
    }

    fn prefer(&mut self, service: usize, member: Option<usize>) {
        let server = member.map_or(HUB, |member| member + 1);
        let spec = json!({ "spec": { "preference": "LocalFirst" } });
        if SERVICES[service].0 == Api::Standard
            && member.is_some_and(|at| !self.truth.team.contains(&at))
        {
            return;
        }
        if self.create(server, kinds::SERVICE_TRAFFIC, &object_name(service), spec) {
            self.truth.preferred.insert((service, member));
            self.note_traffic(server, kinds::SERVICE_TRAFFIC, object_name(service));
        }
    }

    fn no_preference(&mut self, service: usize, member: Option<usize>) {
        let server = member.map_or(HUB, |member| member + 1);
        let model = &mut self.fleet.env.servers.0[server].model;
        model.delete(kinds::SERVICE_TRAFFIC, &object_name(service)).ok();
        self.truth.end_preference(service, member);
        self.note_traffic(server, kinds::SERVICE_TRAFFIC, object_name(service));
    }

    fn replace(&mut self, store: ModelServer, restored: OfHub) {
        self.fleet.env.servers.0[HUB].replace(store, 2000 + self.stores);
        self.stores += 1;
        let now = self.fleet.env.now;
        self.fleet.env.servers.set_time(now);
        self.truth.replace_hub(restored);
        for drain in self.truth.drained.values_mut() {
            drain.done = now + LONGEST_DRAIN + REST_BEFORE;
        }
        self.truth.traffic.retain(|(server, ..), _| *server != HUB);
        for kind in TRAFFIC {
            for name in self.fleet.env.servers.hub().names(kind) {
                self.note_traffic(HUB, kind, name);
            }
        }
        self.is_replaced = true;
        self.replaced = Some(Start::of(&self.fleet.env.servers));
        let down: Vec<_> = (0..self.fleet.processes()).filter(|at| !self.is_sound(*at)).collect();
        if self.fleet.env.lossy > 0 || self.fleet.env.storm > 0 {
            self.shake_all();
        }
        for process in down {
            self.shake(process);
        }
    }

    // What is broken.

    fn is_sound(&self, process: usize) -> bool {
        let (name, env) = (self.fleet.name(process), &self.fleet.env);
        self.fleet.is_up(process) && !env.cut.contains(&name) && !env.ambushes.contains_key(&name)
    }

    /// What a member has exported since a backup was made may be lost while its agent does not write it again in time: this is
    /// what docs/design/failures.md has about the standard API.
    fn shake(&mut self, process: usize) {
        if !self.is_replaced {
            return;
        }
        let Some(member) = process.checked_sub(HUB_PROCESSES) else { return self.shake_all() };
        for (service, (api, _)) in SERVICES.iter().enumerate() {
            if *api == Api::Standard {
                self.release(service, member, &[]);
            }
        }
    }

    fn shake_all(&mut self) {
        if self.is_replaced {
            (0..self.fleet.members.len()).for_each(|member| self.shake(HUB_PROCESSES + member));
        }
    }

    // Time.

    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.fleet.env.now + time;
        while self.fleet.env.now < until && self.is_fine() {
            let slice = until.min(self.fleet.env.now + Duration::from_secs(5));
            self.fleet.run(slice, |_| false);
            self.fleet.revive();
            self.elect();
        }
    }

    /// The other process leads, once the Lease of one that was killed has ended.
    fn elect(&mut self) {
        if self.fleet.hubs.iter().any(|hub| hub.leads) {
            self.leaderless_since = None;
            return;
        }
        let now = self.fleet.env.now;
        let since = *self.leaderless_since.get_or_insert(now);
        if let Some(next) = self.fleet.hubs.iter().position(|hub| hub.is_up)
            && now >= since + LEASE
        {
            self.fleet.hubs[next].lead(&mut self.fleet.env);
            self.fleet.stir();
        }
    }

    fn mend(&mut self) {
        let env = &mut self.fleet.env;
        env.lossy = 0;
        env.storm = 0;
        env.cut.clear();
        env.ambushes.clear();
        for process in 0..self.fleet.processes() {
            if !self.fleet.is_up(process) {
                self.fleet.restart(process);
            }
        }
        self.fleet.hear();
        self.fleet.stir();
    }

    /// Everything is mended, and has to come to rest.
    fn rest(&mut self) {
        self.mend();
        let begun = self.fleet.env.now;
        let mut quiet_since = begun;
        let mut writes = self.fleet.env.requests;
        while self.is_fine() && self.fleet.env.now < quiet_since + QUIET {
            self.pass(Duration::from_secs(5));
            let now = self.fleet.env.requests;
            if now != writes || !rest::is_complete(self) {
                (writes, quiet_since) = (now, self.fleet.env.now);
            }
            if self.fleet.env.now > begun + REST_WITHIN {
                let last = self.fleet.env.last_requests();
                self.fleet.env.findings.push(format!("L1: no rest after an hour: {last:#?}"));
            }
        }
        if self.is_fine() {
            self.ask();
        }
    }

    /// Asks what has to be so at rest.
    fn ask(&mut self) {
        let mut found = rest::ask(self);
        found.extend(rest::is_as_written(self));
        self.fleet.env.findings.extend(found);
        let (acts, before) = self.since_rest;
        let all = self.fleet.relevant_writes();
        let writes = all - before;
        let most = rest::most_writes(acts, self.fleet.members.len(), self.is_replaced);
        self.dearest = self.dearest.max(100 * writes / most);
        if writes > most {
            let line = format!("L3: {writes} writes for {acts} acts, {most} at most");
            self.fleet.env.findings.push(line);
        }
        self.since_rest = (0, all);
        self.is_replaced = false;
        self.truth.is_at_rest();
        if self.truth.is_plain() {
            self.rests.push(self.fleet.env.servers.number());
        }
    }

    /// Everything is withdrawn: nothing may be left over.
    pub(crate) fn withdraw(&mut self) {
        self.fleet.env.note(|| "--- everything is withdrawn".to_owned());
        for (service, member) in self.truth.exports.clone() {
            self.unexport(service, member);
        }
        for (service, member) in self.truth.imports.clone() {
            self.unimport(service, member);
        }
        for member in 0..self.fleet.members.len() {
            self.drain(member, Vec::new());
        }
        for (service, member) in self.truth.preferred.clone() {
            self.no_preference(service, member);
        }
        self.truth.drained.clear();
        self.fleet.env.sign_others();
        self.since_rest.0 += 20;
        self.perform(&Act::Rest);
        if self.is_fine() {
            let left = rest::left_over(self);
            self.fleet.env.findings.extend(left);
        }
    }
}

fn export_kind(api: Api) -> ResourceKind {
    match api {
        Api::Fleet => kinds::SERVICE_EXPORT,
        Api::Standard => kinds::MCS_SERVICE_EXPORT,
    }
}

/// Namespace and name of a Service.
pub(crate) fn object_name(service: usize) -> ObjectName {
    let (api, name) = SERVICES[service];
    ObjectName::new(api.namespace(), name)
}

/// The same as text.
pub(crate) fn full_name(service: usize) -> String {
    object_name(service).to_string()
}

fn slice_name(service: usize) -> ObjectName {
    let name = object_name(service);
    ObjectName::new(name.namespace.clone(), format!("{}-x1", name.name))
}
