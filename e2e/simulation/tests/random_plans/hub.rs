//! A process of the hub agent.

use std::any::Any;
use std::time::Duration;

use fleet_accumulator::{ClusterId, SourceInfo, SourceSet, View};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_model::hub_schema::HubSchema;
use fleet_model::steps::to_json;
use fleet_oracle::requests::Author;
use hub_agent::Settings;
use hub_agent::member::MemberController;
use hub_agent::multicluster::MulticlusterController;
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic::TrafficController;
use hub_agent::traffic_decider::{Decider, Decisions};

use crate::desk::{Desk, Planning};
use crate::env::Env;
use crate::process::{Provided, Role};
use crate::servers::HUB;
use crate::watch::Narrow;

pub(crate) struct HubRole {
    settings: Settings,
    decider: Decider,
    /// What was decided last.
    last: Option<Decisions>,
    /// Whether that was handed over.
    has_decided: bool,
    next: Duration,
    schema: View<HubSchema>,
}

impl HubRole {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            decider: Decider::default(),
            last: None,
            has_decided: false,
            next: Duration::ZERO,
            schema: HubSchema::view(Some(HubSchema::OURS)),
        }
    }
}

impl Role<HubSnapshot> for HubRole {
    fn controllers(&self) -> Vec<Box<dyn Planning<HubSnapshot>>> {
        let settings = || self.settings.clone();
        vec![
            Box::new(Desk::new(0, ServiceController { settings: settings() })),
            Box::new(Desk::new(1, MemberController { settings: settings() })),
            Box::new(Desk::new(2, MulticlusterController { settings: settings() })),
            Box::new(Desk::new(3, TrafficController)),
        ]
    }

    fn also_reads(&self) -> SourceSet {
        SourceSet::from([HubSnapshot::member_leases()])
    }

    fn narrow(&self, source: &SourceInfo) -> Option<Narrow> {
        if source.id == HubSnapshot::member_decisions()
            || source.id == HubSnapshot::fleet_decisions()
        {
            return None;
        }
        let own = source.id == HubSnapshot::resolved_services();
        Some(Narrow { namespace: own.then(|| SYSTEM_NAMESPACE.to_owned()), ..Narrow::default() })
    }

    fn cautious(&self) -> (SourceSet, Duration) {
        let sources = SourceSet::from([HubSnapshot::exported_services()]);
        (sources, self.settings.multicluster_settle)
    }

    fn server(&self, _: ClusterId) -> usize {
        HUB
    }

    fn author(&self) -> Author {
        Author::Hub
    }

    fn complete(&self, snapshot: &mut HubSnapshot) {
        snapshot.schema = self.schema.clone();
    }

    fn remember(&self, _: &dyn Any) {}

    /// Its Lease is on the hub, and as old as that.
    fn begins(&mut self, _: &mut Env) -> Vec<u64> {
        Vec::new()
    }

    fn tick(
        &mut self,
        snapshot: &HubSnapshot,
        leads: bool,
        _: &[u64],
        env: &mut Env,
    ) -> Vec<Provided> {
        self.next = env.now + Duration::from_millis(env.random.within(1000, 3000));
        let decisions = self.decider.look(snapshot, leads, env.now);
        if std::mem::replace(&mut self.has_decided, true) && self.last == decisions {
            return Vec::new();
        }
        let (mut members, mut fleet) = (Vec::new(), Vec::new());
        if let Some(decisions) = &decisions {
            let documents = decisions.members.iter();
            members.extend(documents.map(|(name, one)| (name.to_string(), to_json(one))));
            fleet.push((FLEET_TRAFFIC.to_owned(), to_json(&decisions.fleet)));
        }
        self.last = decisions;
        vec![("member_decisions", members), ("fleet_decisions", fleet)]
    }

    fn next_tick(&self) -> Duration {
        self.next
    }
}
