//! A process of a member agent.

use std::any::Any;
use std::time::Duration;

use fleet_accumulator::{ClusterId, SourceInfo, SourceSet, View};
use fleet_api::names::{MEMBER_LEASE, SYSTEM_NAMESPACE};
use fleet_api::{ObjectName, kinds, labels};
use fleet_model::hub_schema::HubSchema;
use fleet_oracle::requests::Author;
use fleet_plan::Controller;
use fleet_runtime::clock::BootClock;
use member_agent::Settings;
use member_agent::app::embedded;
use member_agent::measurement::Measurement;
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;
use serde_json::{Value, json};

use crate::desk::{Desk, Planning};
use crate::env::Env;
use crate::process::{Provided, Role};
use crate::servers::HUB;
use crate::watch::Narrow;

pub(crate) struct MemberRole {
    /// Position among the members.
    at: usize,
    settings: Settings,
    memory: TrafficMemory,
    next_look: Duration,
    next_renewal: Duration,
    schema: View<HubSchema>,
}

impl MemberRole {
    pub(crate) fn new(at: usize, settings: Settings, clock: BootClock) -> Self {
        let memory = TrafficMemory::new(clock);
        let schema = HubSchema::view(Some(HubSchema::OURS));
        let (next_look, next_renewal) = (Duration::ZERO, Duration::ZERO);
        Self { at, settings, memory, next_look, next_renewal, schema }
    }

    fn name(&self) -> &str {
        self.settings.identity.cluster.as_str()
    }

    /// Renews the Lease on the hub, and notes for the next process what this one has applied.
    fn renew(&self, snapshot: &MemberSnapshot, reached: &[u64], env: &mut Env) {
        env.notes.insert(self.at, (embedded::hand_on(&self.memory), reached.to_vec()));
        if env.is_cut(self.name()) {
            return;
        }
        let now = env.now;
        let wall = env.wall(env.servers.0[self.at + 1].skew);
        let annotations = embedded::lease_renewal(&self.settings, snapshot, &self.memory, wall);
        let Some(annotations) = annotations else { return };
        let name = ObjectName::new(self.settings.identity.hub_namespace.as_str(), MEMBER_LEASE);
        let renew = |lease: &mut Value| {
            lease["spec"] = json!({
                "holderIdentity": self.name(), "renewTime": format!("{wall:.6}"),
            });
            let notes: serde_json::Map<_, _> =
                annotations.into_iter().map(|(key, value)| (key, json!(value))).collect();
            lease["metadata"]["annotations"] = notes.into();
        };
        let hub = &mut env.servers.0[HUB];
        if hub.model.get(kinds::LEASE, &name).is_none() {
            hub.model.create(kinds::LEASE, &name, json!({ "spec": {} })).unwrap();
        }
        hub.model.edit(kinds::LEASE, &name, renew).unwrap();
        hub.sign(&self.author());
        debug_assert!(now == env.now);
    }
}

/// Puts each controller at a desk of its own.
#[derive(Default)]
struct Desks(Vec<Box<dyn Planning<MemberSnapshot>>>);

impl embedded::Host for Desks {
    fn controller<C: Controller<Snapshot = MemberSnapshot>>(&mut self, controller: C) {
        let desk = Desk::new(self.0.len(), controller);
        self.0.push(Box::new(desk));
    }
}

impl Role<MemberSnapshot> for MemberRole {
    fn controllers(&self) -> Vec<Box<dyn Planning<MemberSnapshot>>> {
        let mut desks = Desks::default();
        embedded::controllers(&self.settings, &self.memory, &mut desks);
        desks.0
    }

    fn also_reads(&self) -> SourceSet {
        SourceSet::EMPTY
    }

    fn narrow(&self, source: &SourceInfo) -> Option<Narrow> {
        let own = self.settings.identity.hub_namespace.clone();
        let everywhere = Narrow::default();
        Some(if source.cluster == ClusterId::Local {
            let managers = vec![labels::MANAGED_BY_MULTICLUSTER, labels::MANAGED_BY_IMPORT];
            let managed = source.id == MemberSnapshot::managed_slices();
            Narrow { label: managed.then_some((labels::MANAGED_BY, managers)), ..everywhere }
        } else if source.id == MemberSnapshot::resolved_services() {
            Narrow { namespace: Some(SYSTEM_NAMESPACE.to_owned()), ..everywhere }
        } else if source.id == MemberSnapshot::fleet_slices() {
            let label = Some((labels::MULTICLUSTER_NAMESPACE, Vec::new()));
            Narrow { not_namespace: Some(own), label, ..everywhere }
        } else if !source.kind.namespaced
            || source.id == MemberSnapshot::fleet_reports()
            || source.id == MemberSnapshot::hub_service_traffics()
        {
            everywhere
        } else {
            Narrow { namespace: Some(own), ..everywhere }
        })
    }

    fn cautious(&self) -> (SourceSet, Duration) {
        let sources = SourceSet::from([
            MemberSnapshot::resolved_services(),
            MemberSnapshot::fleet_slices(),
            MemberSnapshot::fleet_reports(),
        ]);
        (sources, self.settings.multicluster.settle)
    }

    fn server(&self, cluster: ClusterId) -> usize {
        match cluster {
            ClusterId::Hub => HUB,
            ClusterId::Local => self.at + 1,
        }
    }

    fn author(&self) -> Author {
        Author::Member(self.name().to_owned())
    }

    fn complete(&self, snapshot: &mut MemberSnapshot) {
        snapshot.schema = self.schema.clone();
    }

    fn remember(&self, what: &dyn Any) {
        if let Some(what) = what.downcast_ref::<Measurement>() {
            self.memory.take(what);
        }
    }

    fn begins(&mut self, env: &mut Env) -> Vec<u64> {
        let (noted, reached) = env.notes.get(&self.at).cloned().unwrap_or_default();
        embedded::take_over(&self.memory, noted);
        reached
    }

    fn tick(
        &mut self,
        snapshot: &MemberSnapshot,
        leads: bool,
        reached: &[u64],
        env: &mut Env,
    ) -> Vec<Provided> {
        if self.next_look <= env.now {
            self.next_look = env.now + Duration::from_millis(env.random.within(1500, 4000));
            embedded::follow_hub(&self.settings, snapshot, &self.memory);
        }
        if self.next_renewal <= env.now {
            self.next_renewal = env.now + Duration::from_millis(env.random.within(8000, 10_000));
            if leads {
                self.renew(snapshot, reached, env);
            }
        }
        Vec::new()
    }

    fn next_tick(&self) -> Duration {
        self.next_look.min(self.next_renewal)
    }
}
