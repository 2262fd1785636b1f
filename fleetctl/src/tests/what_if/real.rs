//! Agents of a fleet in memory that work as processes do: one after the other in any order, each with a part of what it has
//! planned, once a second. Each plans all of its keys anew, so that nothing depends on what it knows to have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{Object, Tracked, View};
use fleet_api::names::MEMBER_LEASE;
use fleet_api::{ObjectName, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller, Plan, affected_keys};
use fleet_runtime::clock::BootClock;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic::TrafficController;
use hub_agent::traffic_decider::{Decider, Decisions};
use jiff::Timestamp;
use member_agent::Identity;
use member_agent::measurement::Measurement;
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;
use serde_json::json;

use super::super::world::{World, home};
use crate::controllers::{HubControllers, MemberControllers};
use crate::what_if::ObjectChange;
use crate::what_if::compare::of_servers;

/// Seconds without a write after which agents have nothing to do.
const CALM: usize = 3;

pub(super) struct Agents {
    pub(super) world: World,
    hub: HubControllers,
    members: BTreeMap<String, (MemberControllers, TrafficMemory)>,
    decider: Decider,
    decided: Option<Decisions>,
    clock: BootClock,
    pub(super) lost: BTreeSet<String>,
    random: u64,
    /// By agent, the state of everything in which it had nothing to do: it plans the same again.
    idle: BTreeMap<usize, (u64, Timestamp, u64)>,
    /// How often the hub agent has decided otherwise.
    decisions: u64,
    /// Whether the agent whose turn it is has anything to write or to remember.
    is_busy: bool,
    hub_seen: Option<(u64, HubSnapshot)>,
    members_seen: BTreeMap<String, ((u64, u64), MemberSnapshot)>,
}

impl Agents {
    pub(super) fn new(world: World, seed: u64) -> Self {
        let picture = world.picture();
        let directs = picture.hub.fleet_traffics.iter().next().is_some();
        let settings = hub_agent::Settings { traffic: directs, ..picture.settings.clone() };
        let clock = BootClock::by_hand();
        clock.advance(Duration::from_secs(100));
        let members = picture.members.iter().map(|(name, member)| {
            let mut settings = member.settings.clone();
            settings.traffic.enabled = directs;
            let memory = TrafficMemory::new(clock.clone());
            let mut controllers = MemberControllers::new(&settings);
            controllers.import.memory = memory.clone();
            controllers.standard_import.memory = memory.clone();
            (name.clone(), (controllers, memory))
        });
        let members = members.collect();
        let hub = HubControllers::new(&settings);
        Self {
            world,
            hub,
            members,
            decider: Decider::default(),
            decided: None,
            clock,
            lost: BTreeSet::new(),
            random: seed | 1,
            idle: BTreeMap::new(),
            decisions: 0,
            is_busy: false,
            hub_seen: None,
            members_seen: BTreeMap::new(),
        }
    }

    /// A number below `below`.
    pub(super) fn any(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 33).unwrap() % below
    }

    /// Lets time pass, with everything that agents do meanwhile.
    pub(super) fn pass(&mut self, seconds: u64) {
        let mut quiet = 0;
        for second in 0..seconds {
            if second % 10 == 0 {
                self.renew();
            }
            // Agents that have nothing to do look now and then.
            if !self.decide() && quiet > CALM && second % 5 > 0 {
                self.tick();
                continue;
            }
            let before = self.version();
            // In any order: each of them has a turn or two.
            for _ in 0..2 * (self.members.len() + 1) {
                let who = self.any(self.members.len() + 1);
                self.turn(who);
            }
            for who in 0..=self.members.len() {
                self.turn(who);
            }
            let is_quiet = self.version() == before;
            quiet = if is_quiet { quiet + 1 } else { 0 };
            self.tick();
        }
        assert!(quiet > 0 || seconds < 5, "the agents come to rest");
    }

    fn tick(&mut self) {
        self.clock.advance(Duration::from_secs(1));
        self.world.hub.advance(1);
        self.world.members.values_mut().for_each(|server| server.advance(1));
    }

    fn version(&self) -> u64 {
        let members = self.world.members.values().map(ModelServer::version);
        members.sum::<u64>() + self.world.hub.version()
    }

    /// Members renew their Leases.
    fn renew(&mut self) {
        let now = self.world.now().to_string();
        for name in self.members.keys().filter(|name| !self.lost.contains(*name)) {
            let lease = ObjectName::new(home(name), MEMBER_LEASE);
            let renewed = self.world.hub.edit(kinds::LEASE, &lease, |lease| {
                lease["spec"]["renewTime"] = json!(now);
            });
            assert!(renewed.is_ok() || self.decided.is_none());
        }
    }

    /// Returns whether another decision is taken than before.
    fn decide(&mut self) -> bool {
        let hub = self.hub_snapshot();
        let before = self.decided.take();
        self.decided = self.decider.look(&hub, true, self.clock.now());
        let is_other = self.decided != before;
        self.decisions += u64::from(is_other);
        is_other
    }

    /// Read anew when something has changed.
    fn hub_snapshot(&mut self) -> HubSnapshot {
        let version = self.world.hub.version();
        if let Some((known, hub)) = &self.hub_seen
            && *known == version
        {
            return hub.clone();
        }
        let schema = HubSchema::view(Some(HubSchema::OURS));
        let hub = HubSnapshot { schema, ..snapshot(&[&self.world.hub], None) };
        self.hub_seen = Some((version, hub.clone()));
        hub
    }

    /// The same for a member.
    fn member_snapshot(&mut self, name: &str) -> MemberSnapshot {
        let namespace = Identity::new(name).hub_namespace;
        let own = &self.world.members[name];
        let versions = (own.version(), self.world.hub.version());
        if let Some((known, seen)) = self.members_seen.get(name)
            && *known == versions
        {
            return seen.clone();
        }
        let seen: MemberSnapshot = snapshot(&[own, &self.world.hub], Some(&namespace));
        let schema = HubSchema::view(Some(HubSchema::OURS));
        let seen = MemberSnapshot { schema, ..seen };
        self.members_seen.insert(name.to_owned(), (versions, seen.clone()));
        seen
    }

    fn turn(&mut self, who: usize) {
        let now = self.world.now();
        let state = (self.version(), now, self.decisions);
        if self.idle.get(&who) == Some(&state) {
            return;
        }
        self.is_busy = false;
        self.work(who, now);
        if !self.is_busy {
            self.idle.insert(who, state);
        }
    }

    fn work(&mut self, who: usize, now: Timestamp) {
        if let Some(name) = self.members.keys().nth(who).cloned() {
            if !self.lost.contains(&name) {
                self.member(&name, now);
            }
            return;
        }
        let mut plans = Vec::new();
        let hub = self.hub_snapshot();
        plans.extend(all(&self.hub.service, &hub, now));
        plans.extend(all(&self.hub.member, &hub, now));
        if let Some(decided) = &self.decided {
            let members = decided.members.iter().map(|(name, one)| provided(name, one.clone()));
            let hub = HubSnapshot {
                member_decisions: View::of(members.collect::<Vec<_>>()),
                fleet_decisions: View::of([provided("fleet", decided.fleet.clone())]),
                ..hub
            };
            plans.extend(all(&TrafficController, &hub, now));
        }
        for plan in plans {
            let plan = self.part(plan);
            execute(&plan, &mut [&mut self.world.hub]);
        }
    }

    fn member(&mut self, name: &str, now: Timestamp) {
        let seen = self.member_snapshot(name);
        let (controllers, memory) = &self.members[name];
        let memory = memory.clone();
        let mut plans = all(&controllers.export, &seen, now);
        plans.extend(all(&controllers.import, &seen, now));
        for plan in plans {
            let plan = self.part(plan);
            let own = self.world.members.get_mut(name).unwrap();
            execute(&plan, &mut [own, &mut self.world.hub]);
            let remembered = plan.measurements.iter().map(|measured| &measured.what);
            remembered.for_each(|what: &Measurement| {
                assert!(memory.take(what) || !matches!(what, Measurement::Traffic(_)));
            });
        }
    }

    /// What an agent gets done before it looks again: one step at least, and now and then not more.
    fn part<M>(&mut self, mut plan: Plan<M>) -> Plan<M> {
        self.is_busy |= !plan.is_empty() || !plan.measurements.is_empty();
        let debounced = std::mem::take(&mut plan.debounced);
        plan.steps.extend(debounced.into_iter().map(|later| later.step));
        if self.any(3) == 0 && plan.steps.len() > 1 {
            plan.steps.truncate(1);
        }
        plan
    }

    /// What differs from another state of the fleet.
    pub(super) fn differs_from(
        &self,
        hub: &ModelServer,
        members: &BTreeMap<String, ModelServer>,
    ) -> Vec<ObjectChange> {
        let mut found = of_servers("hub", hub, &self.world.hub);
        for (name, server) in members {
            found.extend(of_servers(name, server, &self.world.members[name]));
        }
        found
    }
}

fn all<C: Controller>(
    controller: &C,
    snapshot: &C::Snapshot,
    now: Timestamp,
) -> Vec<Plan<C::Measurement>> {
    let keys = affected_keys(controller, &C::Snapshot::default(), snapshot);
    keys.iter().map(|key| controller.plan(key, snapshot, now)).collect()
}

fn provided<T: Tracked>(name: &str, what: T) -> Object<T> {
    Object::new(ObjectName::cluster(name), name.into(), "1".into(), what)
}
