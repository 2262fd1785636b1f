//! Servers in memory with the objects of all clusters, and the agents that work on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{ClusterId, Snapshot as _, SourceInfo, View};
use fleet_api::ObjectName;
use fleet_api::traffic::FleetTrafficSpec;
use fleet_model::objects::traffic::{FleetTraffic, ServiceTraffic};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::{Plan, Step};
use fleet_runtime::clock::BootClock;
use hub_agent::snapshot::HubSnapshot;
use jiff::{SignedDuration, Timestamp};
use member_agent::Settings;
use member_agent::snapshot::MemberSnapshot;

use super::agents::{HubWorkers, MemberWorkers};
use super::decisions::Deciding;
use super::seen::Seen;
use crate::left_out::is_left_out;
use crate::picture::{Own, Picture};
use crate::reach::snapshot::ReachSnapshot;
use crate::recorded::{ClusterObjects, FleetObjects, MemberObjects};

/// Time between two looks of the hub agent's decider: it takes a longer pause for a standstill of its process.
const LOOK: Duration = Duration::from_secs(4);
/// How often agents may plan without any time passing. A plan that is never done with stays as it is.
const ROUNDS: usize = 60;

/// A fleet in memory that agents work on.
pub struct Rehearsal {
    began: Timestamp,
    clock: BootClock,
    hub_context: Option<String>,
    pub(super) hub: ModelServer,
    hub_seen: Seen,
    hub_settings: hub_agent::Settings,
    hub_workers: HubWorkers,
    pub(super) members: BTreeMap<String, MemberCluster>,
    deciding: Deciding,
    lost: BTreeSet<String>,
    /// The state in which no agent had anything to write.
    rested: Option<u64>,
}

/// A member's own cluster.
pub(super) struct MemberCluster {
    pub(super) server: ModelServer,
    seen: Seen,
    settings: Settings,
    workers: MemberWorkers,
    about: MemberObjects,
}

impl Rehearsal {
    /// The fleet as it was read. Settings that no object shows are taken for the defaults.
    pub fn new(fleet: &FleetObjects) -> Self {
        let picture = fleet.picture();
        let clock = BootClock::by_hand();
        let (hub_settings, settings) = settings(&picture);
        let members = fleet.members.iter().filter_map(|(name, member)| {
            let cluster = MemberCluster::new(&picture, name, member, &settings, fleet.at, &clock)?;
            Some((name.clone(), cluster))
        });
        let members = members.collect();
        let hub = server(ClusterId::Hub, &fleet.hub, fleet.at);
        let hub_seen = Seen::new(fleet.hub.states());
        let hub_workers = HubWorkers::new(&hub_settings);
        let deciding = Deciding::new(&picture.hub);
        Self {
            began: fleet.at,
            clock,
            hub_context: fleet.hub_context.clone(),
            hub,
            hub_seen,
            hub_settings,
            hub_workers,
            members,
            deciding,
            lost: BTreeSet::new(),
            rested: None,
        }
    }

    /// Whether the cluster of the member was read.
    pub fn has_seen(&self, member: &str) -> bool {
        self.members.get(member).is_some_and(|member| member.about.unseen.is_none())
    }

    /// Ends the agent of a member.
    pub(super) fn lose(&mut self, member: &str) {
        self.rested = None;
        self.lost.insert(member.to_owned());
        self.deciding.lose(member);
    }

    /// The members whose clusters are lost.
    pub fn lost(&self) -> &BTreeSet<String> {
        &self.lost
    }

    /// Lets the agents work for some time: until nothing is left to write, and again when time has brought something.
    pub fn run(&mut self, time: Duration) {
        let end = self.clock.now() + time;
        loop {
            // Without another state, decision or deadline no agent plans anything.
            let is_due = self.next_due().is_some_and(|due| due <= self.clock.now());
            if self.decide() || is_due || self.rested != Some(self.version()) {
                self.rest();
            }
            let now = self.clock.now();
            if now >= end {
                return;
            }
            // Endpoints change their places within seconds.
            let due = self.next_due().filter(|due| *due > now).unwrap_or(end);
            let next = due.min(now + LOOK).min(end);
            self.advance(next.saturating_sub(now));
        }
    }

    fn advance(&mut self, time: Duration) {
        self.clock.advance(time);
        let now = self.now();
        self.hub.set_now(now);
        for member in self.members.values_mut() {
            member.server.set_now(now);
        }
    }

    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.clock.now()).unwrap_or_default();
        self.began.saturating_add(passed).unwrap_or(self.began)
    }

    fn next_due(&self) -> Option<Duration> {
        let members = self.members.values().map(|member| member.workers.next_due());
        members.chain([self.hub_workers.next_due()]).flatten().min()
    }

    fn decide(&mut self) -> bool {
        let hub = self.hub_snapshot();
        self.deciding.look(&hub, self.now(), self.clock.now())
    }

    /// What administrators have set for the whole fleet; the defaults where nothing is.
    pub(super) fn limits(&self) -> FleetTrafficSpec {
        let hub = self.hub_snapshot();
        FleetTraffic::of(&hub.fleet_traffics).map(|fleet| fleet.spec.clone()).unwrap_or_default()
    }

    /// What the hub agent sees of its own cluster.
    pub(super) fn hub_snapshot(&self) -> HubSnapshot {
        self.hub_seen.snapshot(&self.hub, ClusterId::Hub)
    }

    /// Lets the agents work until none of them writes anything.
    fn rest(&mut self) {
        self.rested = None;
        for _ in 0..ROUNDS {
            if !self.round() {
                self.rested = Some(self.version());
                return;
            }
        }
    }

    /// Each agent plans from the same state of all clusters. Steps that wait are carried out when nothing else is left.
    fn round(&mut self) -> bool {
        let mut picture = self.picture();
        self.place(&mut picture);
        let (now, at) = (self.now(), self.clock.now());
        let hub = self.deciding.with(picture.hub.clone());
        let of_hub = self.hub_workers.plans(&hub, now, at);
        let mut of_members = Vec::new();
        for (name, member) in &picture.members {
            let Some(own) = self.members.get_mut(name).filter(|it| it.about.unseen.is_none())
            else {
                continue;
            };
            if self.lost.contains(name) {
                continue;
            }
            for plan in own.workers.plans(&member.snapshot, now, at) {
                of_members.push((name.clone(), plan));
            }
        }
        let before = self.version();
        for plan in &of_hub {
            execute(plan, &mut [&mut self.hub]);
        }
        for (name, plan) in &of_members {
            let Some(own) = self.members.get_mut(name) else { continue };
            execute(plan, &mut [&mut own.server, &mut self.hub]);
            own.workers.remember(plan);
        }
        if self.version() != before {
            return true;
        }
        for step in of_hub.iter().flat_map(later) {
            self.execute(None, step);
        }
        for (name, plan) in &of_members {
            later(plan).for_each(|step| self.execute(Some(name), step));
        }
        self.version() != before
    }

    /// Lets members see their nodes. Pictures have none, since endpoints belong where an agent remembers to have put them, and a
    /// picture remembers nothing; agents that run here do.
    fn place(&self, picture: &mut Picture) {
        let id = MemberSnapshot::nodes();
        let Some(source) = MemberSnapshot::sources().iter().find(|it| it.id == id) else { return };
        for (name, own) in self.members.iter().filter(|(_, own)| own.about.unseen.is_none()) {
            if let Some(member) = picture.members.get_mut(name) {
                member.snapshot.nodes = own.seen.view(&own.server, source);
            }
        }
    }

    /// A step that does not fit any more is planned again.
    fn execute(&mut self, member: Option<&str>, step: &Step) {
        let own = member.and_then(|name| self.members.get_mut(name)).map(|it| &mut it.server);
        let server = match (step.cluster, own) {
            (ClusterId::Local, Some(own)) => own,
            (ClusterId::Local, None) => return,
            (ClusterId::Hub, _) => &mut self.hub,
        };
        let _ = server.execute(step);
    }

    fn version(&self) -> u64 {
        self.members.values().map(|member| member.server.version()).sum::<u64>()
            + self.hub.version()
    }

    /// What all commands that only read make of it now.
    pub fn picture(&self) -> Picture {
        let hub = self.hub_snapshot();
        let policies = self.hub_policies();
        let own = self.members.iter().map(|(name, member)| {
            let MemberObjects { context, unseen, names_served, .. } = &member.about;
            let seen = match unseen {
                None => {
                    Ok(member.seen.snapshot::<MemberSnapshot>(&member.server, ClusterId::Local))
                }
                Some(reason) => Err(reason.clone()),
            };
            (name.clone(), Own { context: context.clone(), seen, names_served: *names_served })
        });
        let mut picture = Picture::new(self.now(), hub, own.collect());
        picture.hub_context.clone_from(&self.hub_context);
        let reach: ReachSnapshot = self.hub_seen.snapshot(&self.hub, ClusterId::Hub);
        picture.reach = reach.reach_reports;
        picture.settings = self.hub_settings.clone();
        for (name, member) in &mut picture.members {
            if let Some(own) = self.members.get(name) {
                member.settings = own.settings.clone();
            }
            member.snapshot.hub_service_traffics = policies.clone();
            member.snapshot.member_traffics = picture.hub.member_traffics.clone();
            member.snapshot.fleet_traffics = picture.hub.fleet_traffics.clone();
        }
        picture
    }

    /// Its objects as they are now.
    pub fn objects(&self) -> FleetObjects {
        let mut fleet = FleetObjects::new(self.now());
        fleet.hub_context.clone_from(&self.hub_context);
        fleet.hub = objects(&self.hub, &self.hub_seen);
        fleet.members = self
            .members
            .iter()
            .map(|(name, member)| {
                let objects = objects(&member.server, &member.seen);
                (name.clone(), MemberObjects { objects, ..member.about.clone() })
            })
            .collect();
        fleet
    }

    fn hub_policies(&self) -> View<ServiceTraffic> {
        let id = MemberSnapshot::hub_service_traffics();
        let source: Option<&SourceInfo> =
            MemberSnapshot::sources().iter().find(|source| source.id == id);
        source.map(|source| self.hub_seen.view(&self.hub, source)).unwrap_or_default()
    }
}

fn later<M>(plan: &Plan<M>) -> impl Iterator<Item = &Step> {
    plan.debounced.iter().map(|debounced| &debounced.step)
}

impl MemberCluster {
    fn new(
        picture: &Picture,
        name: &str,
        member: &MemberObjects,
        settings: &BTreeMap<String, Settings>,
        at: Timestamp,
        clock: &BootClock,
    ) -> Option<Self> {
        let settings = settings.get(name)?.clone();
        let seen = picture.members.get(name)?;
        let resolved = picture.hub.resolved_services.iter().map(|resolved| &resolved.service);
        let left_out = resolved.filter(|service| is_left_out(picture, seen, service));
        let left_out = left_out.map(ObjectName::to_string).collect();
        let workers = MemberWorkers::new(&settings, left_out, clock.clone());
        let about = MemberObjects { objects: ClusterObjects::default(), ..member.clone() };
        Some(Self {
            server: server(ClusterId::Local, &member.objects, at),
            seen: Seen::new(member.objects.states()),
            settings,
            workers,
            about,
        })
    }
}

/// The settings of all agents, as the picture has them.
fn settings(picture: &Picture) -> (hub_agent::Settings, BTreeMap<String, Settings>) {
    let traffic = FleetTraffic::of(&picture.hub.fleet_traffics).is_some();
    let hub = hub_agent::Settings { traffic, ..picture.settings.clone() };
    let members = picture.members.iter();
    (hub, members.map(|(name, member)| (name.clone(), member.settings.clone())).collect())
}

fn objects(server: &ModelServer, seen: &Seen) -> ClusterObjects {
    let mut objects = ClusterObjects::default();
    for (kind, state) in &seen.states {
        objects.kinds.entry(*kind).or_default().state = state.clone();
    }
    for (kind, name, object) in server.all_objects() {
        objects.insert(kind, name.clone(), object.to_string().into());
    }
    objects
}

fn server(cluster: ClusterId, objects: &ClusterObjects, at: Timestamp) -> ModelServer {
    let mut server = ModelServer::new(cluster);
    server.set_now(at);
    for (kind, name, text) in objects.iter() {
        if let Ok(object) = serde_json::from_str(text) {
            server.adopt(kind, name.clone(), object);
        }
    }
    if cluster == ClusterId::Local {
        super::addresses::give(&mut server);
    }
    server
}
