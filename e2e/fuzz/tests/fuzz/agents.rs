//! The agents beside objects that others have changed: what they write is accepted, ends, does not depend on the order of events, and
//! leaves the other members alone.

use std::collections::BTreeSet;

use fleet_accumulator::{
    ClusterId, Object, Snapshot, SourceInfo, SourceSet, SourceState, Tracked, View, Views,
};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, ResourceKind, kinds, labels};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, Refusal, execute};
use fleet_plan::{Affected, AffectedKey, Controller, Plan};
use hub_agent::snapshot::HubSnapshot;
use jiff::Timestamp;
use member_agent::MulticlusterMode;
use member_agent::app::embedded;
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;
use proptest::prelude::*;
use serde_json::Value;

use crate::corpus::{Sample, samples};
use crate::mutation::{Mutation, typed_mutation};
use crate::runner::check;

const SEEDS: &str = "corpus/agents.txt";
/// The member whose agent runs.
const MEMBER: &str = "m00";
const NAMESPACE: &str = "fleet-member-m00";
/// Rounds until nothing may be written any more, each of so many seconds.
const ROUNDS: usize = 60;
const ROUND: i64 = 30;
/// What is written although nothing changes.
const SIGNS_OF_LIFE: [ResourceKind; 4] =
    [kinds::LEASE, kinds::INTERNAL_MEMBER_CLUSTER, kinds::FLEET_TRAFFIC, kinds::MEMBER_TRAFFIC];

/// Plans of all keys of a controller.
trait Planner<S> {
    fn plans(&self, snapshot: &S, now: Timestamp) -> Vec<(String, Plan)>;
}

struct Of<C>(C);

impl<C: Controller> Planner<C::Snapshot> for Of<C> {
    fn plans(&self, snapshot: &C::Snapshot, now: Timestamp) -> Vec<(String, Plan)> {
        let mut keys = BTreeSet::new();
        let mut take = |affected: AffectedKey<C::Key>| {
            keys.insert(affected.key);
        };
        self.0.affected_keys(&C::Snapshot::default(), snapshot, &mut Affected::to(&mut take));
        let plan = |key: C::Key| {
            let mut plan = self.0.plan(&key, snapshot, now).unmeasured();
            // Whatever waits has waited for long enough.
            plan.steps.extend(std::mem::take(&mut plan.debounced).into_iter().map(|it| it.step));
            (format!("{} {key}", self.0.name()), plan)
        };
        keys.into_iter().map(plan).collect()
    }
}

type Planners<S> = Vec<Box<dyn Planner<S>>>;

#[derive(Default)]
struct Members(Planners<MemberSnapshot>);

impl embedded::Host for Members {
    fn controller<C: Controller<Snapshot = MemberSnapshot>>(&mut self, controller: C) {
        self.0.push(Box::new(Of(controller)));
    }
}

fn of_hub() -> Planners<HubSnapshot> {
    let settings = hub_agent::Settings {
        multicluster: MulticlusterMode::On,
        traffic: true,
        ..hub_agent::Settings::default()
    };
    let settings = || settings.clone();
    vec![
        Box::new(Of(hub_agent::service::ServiceController { settings: settings() })),
        Box::new(Of(hub_agent::member::MemberController { settings: settings() })),
        Box::new(Of(hub_agent::multicluster::MulticlusterController { settings: settings() })),
        Box::new(Of(hub_agent::traffic::TrafficController)),
        Box::new(Of(hub_agent::virtual_node::VirtualNodeController { traffic: true })),
    ]
}

fn of_member() -> Planners<MemberSnapshot> {
    let mut settings = member_agent::Settings::new(MEMBER.to_owned());
    settings.multicluster.mode = MulticlusterMode::On;
    settings.traffic.enabled = true;
    let memory = TrafficMemory::new(fleet_runtime::clock::BootClock::by_hand());
    let mut members = Members::default();
    embedded::controllers(&settings, &memory, &mut members);
    let slices = member_agent::endpointslices::EndpointSliceController { settings };
    members.0.push(Box::new(Of(slices)));
    let cidrs = fleet_model::cidr::Cidrs::default();
    let workloads = member_agent::external_workloads::ExternalWorkloadController { cidrs };
    members.0.push(Box::new(Of(workloads)));
    members.0
}

/// The hub, and the cluster of the member.
struct Fleet {
    servers: [ModelServer; 2],
}

/// What an agent sees of it. Events came in the order of names, or in the other one.
struct Seen<'a> {
    fleet: &'a Fleet,
    is_member: bool,
    is_turned: bool,
}

impl Views for Seen<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        let server = &self.fleet.servers[usize::from(source.cluster == ClusterId::Local)];
        let shown =
            server.objects(T::KIND).filter(|(name, object)| self.shows(source, name, object));
        let mut shown: Vec<_> = shown.collect();
        if self.is_turned {
            shown.reverse();
        }
        let mut view = View::default();
        for (name, object) in shown {
            let wire = serde_json::from_value::<T::Wire>(object.clone());
            let read = wire.map_err(|error| error.to_string()).and_then(Object::<T>::read);
            view = match read {
                Ok(object) => view.with(object),
                Err(_) => view.with_defect(name.clone()),
            };
        }
        view.in_state(SourceState::Live).calmed()
    }
}

impl Seen<'_> {
    /// What the agent of a member watches of the hub.
    fn shows(&self, source: &SourceInfo, name: &ObjectName, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        if !self.is_member || source.cluster == ClusterId::Local || !source.kind.namespaced {
            return source.id != MemberSnapshot::managed_slices()
                || !self.is_member
                || labels[labels::MANAGED_BY].is_string();
        }
        if source.id == MemberSnapshot::resolved_services() {
            *name.namespace == *SYSTEM_NAMESPACE
        } else if source.id == MemberSnapshot::fleet_slices() {
            *name.namespace != *NAMESPACE && labels[labels::MULTICLUSTER_NAMESPACE].is_string()
        } else if source.id == MemberSnapshot::fleet_reports()
            || source.id == MemberSnapshot::hub_service_traffics()
        {
            true
        } else {
            *name.namespace == *NAMESPACE
        }
    }
}

impl Fleet {
    fn new(samples: &[Sample]) -> Self {
        let server = |cluster, at| {
            let mut server = ModelServer::new(cluster);
            server.set_now("2026-01-01T00:30:00Z".parse().unwrap());
            for sample in samples.iter().filter(|sample| sample.cluster == at) {
                server.adopt(sample.kind, sample.name(), sample.object.clone());
            }
            server
        };
        let mut local = server(ClusterId::Local, 1);
        local.give_addresses(&["IPv4"]);
        Self { servers: [server(ClusterId::Hub, 0), local] }
    }

    fn of_hub(&self, is_turned: bool) -> HubSnapshot {
        let mut seen = HubSnapshot::of(&Seen { fleet: self, is_member: false, is_turned });
        seen.schema = HubSchema::view(Some(HubSchema::OURS));
        seen
    }

    fn of_member(&self, is_turned: bool) -> MemberSnapshot {
        let mut seen = MemberSnapshot::of(&Seen { fleet: self, is_member: true, is_turned });
        seen.schema = HubSchema::view(Some(HubSchema::OURS));
        seen
    }

    /// Plans and writes, until nothing is left to write.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        let (hub, member) = (of_hub(), of_member());
        let mut last = Vec::new();
        for _ in 0..ROUNDS {
            last.clear();
            let now = self.servers[0].now();
            let mut plans = Vec::new();
            let seen = self.of_hub(false);
            for planner in &hub {
                plans.extend(planner.plans(&seen, now));
            }
            let seen = self.of_member(false);
            for planner in &member {
                plans.extend(planner.plans(&seen, now));
            }
            for (key, plan) in plans {
                self.carry_out(&key, &plan, &mut last)?;
            }
            if last.is_empty() {
                return Ok(());
            }
            self.servers.iter_mut().for_each(|server| server.advance(ROUND));
        }
        Err(TestCaseError::fail(format!("no end of writes: {last:#?}")))
    }

    fn carry_out(
        &mut self,
        key: &str,
        plan: &Plan,
        writes: &mut Vec<String>,
    ) -> Result<(), TestCaseError> {
        let [hub, local] = &mut self.servers;
        for (step, refusal) in execute(plan, &mut [hub, local]) {
            let is_absurd = refusal == Refusal::Misfit
                || (refusal == Refusal::Invalid && step.kind != kinds::SERVICE);
            prop_assert!(!is_absurd, "{} sends what no server accepts: {:?}", key, step);
        }
        for server in &mut self.servers {
            let new = server.take_writes();
            let new =
                new.iter().filter(|write| SIGNS_OF_LIFE.iter().all(|kind| kind.kind != write.kind));
            writes.extend(
                new.map(|write| format!("{key}: {} {} {}", write.verb, write.kind, write.name)),
            );
        }
        Ok(())
    }

    /// What other members have written on the hub.
    fn of_others(&self) -> Vec<(ResourceKind, ObjectName, Value)> {
        let authored = [
            kinds::ENDPOINT_SLICE_EXPORT,
            kinds::INTERNAL_SERVICE_EXPORT,
            kinds::EXPORTED_SERVICE,
            kinds::CLUSTER_REPORT,
        ];
        let all = self.servers[0].all_objects();
        all.filter(|(kind, name, _)| authored.contains(kind) && *name.namespace != *NAMESPACE)
            .map(|(kind, name, object)| (kind, name.clone(), object["spec"].clone()))
            .collect()
    }
}

fn mutations() -> impl Strategy<Value = Vec<(usize, Mutation)>> {
    prop::collection::vec((any::<usize>(), typed_mutation()), 1..5)
}

/// Changes some of the samples that `which` takes.
fn changed(mutations: &[(usize, Mutation)], which: impl Fn(&Sample) -> bool) -> Vec<Sample> {
    let mut samples = samples();
    let places: Vec<_> = (0..samples.len()).filter(|at| which(&samples[*at])).collect();
    for (at, mutation) in mutations {
        mutation.apply(&mut samples[places[at % places.len()]].object);
    }
    samples
}

#[test]
fn agents_come_to_rest_whatever_they_find() {
    check(SEEDS, 24, &mutations(), |mutations| Fleet::new(&changed(&mutations, |_| true)).settle());
}

/// A member writes into its namespace of the hub and into its cluster.
#[test]
fn a_member_changes_nothing_of_others() {
    check(SEEDS, 24, &mutations(), |mutations| {
        let is_its_own = |sample: &Sample| {
            sample.cluster == 1 || (sample.cluster == 0 && *sample.name().namespace == *NAMESPACE)
        };
        let mut fleet = Fleet::new(&changed(&mutations, is_its_own));
        let before = fleet.of_others();
        fleet.settle()?;
        prop_assert_eq!(fleet.of_others(), before);
        Ok(())
    });
}

#[test]
fn the_order_of_events_changes_no_plan() {
    check(SEEDS, 24, &mutations(), |mutations| {
        let fleet = Fleet::new(&changed(&mutations, |_| true));
        let now = fleet.servers[0].now();
        let (one, other) = (fleet.of_hub(false), fleet.of_hub(true));
        for (first, second) in of_hub().iter().zip(of_hub()) {
            prop_assert_eq!(first.plans(&one, now), second.plans(&other, now));
        }
        let (one, other) = (fleet.of_member(false), fleet.of_member(true));
        for (first, second) in of_member().iter().zip(of_member()) {
            prop_assert_eq!(first.plans(&one, now), second.plans(&other, now));
        }
        Ok(())
    });
}

/// Without a change there is little to write: most plans of the corpus are empty.
#[test]
fn the_corpus_is_at_rest() {
    let mut fleet = Fleet::new(&samples());
    fleet.settle().unwrap();
    let seen = fleet.of_hub(false);
    assert!(seen.complete(SourceSet::from([HubSnapshot::internal_exports()])));
    fleet.settle().unwrap();
    assert!(fleet.of_others().len() > 3);
}
