//! The controller that makes EndpointSlices of pods, in its own cluster alone: in the place of the built-in controller,
//! or beside it for Services whose endpoints are to be the pods' addresses on a secondary network.

mod keys;
mod leftovers;
mod metrics;
mod network;
mod nodes;
#[cfg(test)]
mod tests;
mod topology;
mod trigger;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::{ObjectName, events, labels};
use fleet_endpointslice::{
    Config, Input, MANAGER, Outcome, Overview, Pods, Problem, ServiceHints, Zones,
    follows_capacity, reconcile,
};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::Service;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event, EventType, Plan};
use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use parking_lot::Mutex;
use std::collections::BTreeMap;

pub use leftovers::LeftoverController;
pub use metrics::SliceMetrics;

use crate::settings::{Mode, Settings};
use crate::slicing::{self, PodsByNetwork, SelectedPod, requested_network};
use crate::snapshot::MemberSnapshot;
use network::OnNetwork;

/// Name of the controller, of its stage in the metrics too.
const NAME: &str = "endpointslices";
/// Name of the built-in controller's queue, in its metrics.
const QUEUE: &str = "endpoint_slice";

/// Makes the slices of pods.
#[derive(Debug)]
pub struct EndpointSliceController {
    settings: Settings,
    metrics: SliceMetrics,
    /// Services with hints by capacity, to be reported when those end. Nothing but that Event depends on it.
    balanced: Mutex<BTreeMap<ObjectName, ServiceHints>>,
}

impl EndpointSliceController {
    /// The controller of one cluster.
    pub fn new(settings: Settings, metrics: SliceMetrics) -> Self {
        Self { settings, metrics, balanced: Mutex::default() }
    }

    /// What the controller reads: the own cluster alone.
    pub fn sources() -> SourceSet {
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::managed_slices(),
            MemberSnapshot::pods(),
            MemberSnapshot::nodes(),
        ])
    }
}

impl Controller for EndpointSliceController {
    type Snapshot = MemberSnapshot;
    /// A Service.
    type Key = ObjectName;

    fn name(&self) -> &'static str {
        NAME
    }

    fn required(&self) -> SourceSet {
        Self::sources()
    }

    fn reads(&self) -> SourceSet {
        Self::sources().with(MemberSnapshot::endpoint_slices())
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<ObjectName>,
    ) {
        self.metrics.written(old, new);
        keys::affected(old, new, keys);
        keys::by_pods(old, new, self.settings.endpointslice_batch_period, keys);
    }

    fn queue_name(&self) -> Option<&'static str> {
        (self.settings.endpointslices == Mode::All).then_some(QUEUE)
    }

    fn plan(&self, key: &ObjectName, snapshot: &MemberSnapshot, _: Timestamp) -> Plan {
        let mut balanced = self.balanced.lock();
        let known = balanced.remove(key).unwrap_or_default();
        let Planned { plan, measures, problems, hints } =
            planned(&self.settings, key, snapshot, known);
        if hints != ServiceHints::default() {
            balanced.insert(key.clone(), hints);
        }
        drop(balanced);
        self.metrics.synced(key, &measures, problems, self.settings.max_endpoints_per_slice);
        plan
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let asked = snapshot.services.iter().filter(|service| requested_network(service).is_some());
        asked.map(|service| LOCAL.blocked(service, reason)).collect()
    }
}

/// A plan, and what the original measures about it.
#[derive(Default)]
struct Planned {
    plan: Plan,
    measures: Vec<fleet_endpointslice::Measures>,
    problems: bool,
    /// The hints by capacity that the Service has.
    hints: ServiceHints,
}

/// All writes that the slices of one Service still miss.
pub fn plan(settings: &Settings, service: &ObjectName, snapshot: &MemberSnapshot) -> Plan {
    planned(settings, service, snapshot, ServiceHints::default()).plan
}

/// `hints` are those by capacity that the Service had.
fn planned(
    settings: &Settings,
    name: &ObjectName,
    snapshot: &MemberSnapshot,
    hints: ServiceHints,
) -> Planned {
    // What a Service leaves behind that is gone, its owner references remove.
    let Some(service) = snapshot.services.get(name) else { return Planned::default() };
    let mut planned = Planned { hints, ..Planned::default() };
    let whole = settings.endpointslices == Mode::All && slicing::is_served(service);
    let networks = requested_network(service).is_some()
        || !slicing::managed(snapshot, labels::MANAGED_BY_NETWORK, name).is_empty();
    if whole || networks {
        let subject = Subject::of(settings, service, snapshot);
        if whole {
            subject.all(&mut planned);
        }
        if networks {
            subject.on_network(&mut planned);
        }
    }
    planned
}

/// Everything that the slices of one Service depend on.
struct Subject<'a> {
    service: &'a Object<Service>,
    snapshot: &'a MemberSnapshot,
    limit: usize,
    pods: Vec<SelectedPod<'a>>,
}

impl<'a> Subject<'a> {
    fn of(settings: &Settings, service: &'a Object<Service>, snapshot: &'a MemberSnapshot) -> Self {
        let pods = slicing::pods(snapshot, service);
        Self { service, snapshot, limit: settings.max_endpoints_per_slice, pods }
    }

    /// As the built-in controller does.
    fn all(&self, planned: &mut Planned) {
        let existing = self.existing(MANAGER);
        let Some(existing) = existing.as_deref() else { return };
        let node = |name: &str| nodes::node(self.snapshot, name);
        let pods: Vec<_> = self.pods.iter().collect();
        let service = slicing::service(self.service);
        let (zones, hints) = if follows_capacity(&service) {
            (topology::zones(self.snapshot), topology::hints(existing))
        } else {
            // The slices' own may be those of a traffic distribution.
            (Zones::default(), std::mem::take(&mut planned.hints))
        };
        let input = Input {
            service: &service,
            source: &Pods { pods: &pods, node: &node, addresses: None },
            existing,
            trigger_time: None,
            topology: Some(Overview { zones: &zones, service: &hints }),
            config: &Config { limit: self.limit, ..Config::pods() },
        };
        let outcome = reconcile(&input);
        planned.hints = outcome.hints.clone();
        planned.measures = outcome.changes.iter().map(|changes| changes.measures.clone()).collect();
        self.finish(outcome, existing, planned);
    }

    /// The pods' addresses on the network that the Service asks for.
    fn on_network(&self, planned: &mut Planned) {
        let existing = self.existing(labels::MANAGED_BY_NETWORK);
        let Some(existing) = existing.as_deref() else { return };
        let network = requested_network(self.service).filter(|_| slicing::is_served(self.service));
        let pods = network.map(|network| PodsByNetwork::of(&self.pods, network));
        let pods = pods.unwrap_or_default();
        let off = network.and_then(|network| pods.note(network));
        planned
            .plan
            .events
            .extend(off.map(|off| LOCAL.warning(self.service, events::ENDPOINTS_OFF_NETWORK, off)));
        let on = &pods.on;
        let addresses = |pod: &SelectedPod<'_>| {
            let ips = on.get(&*pod.pod.name.name);
            ips.into_iter().flatten().map(String::as_str).collect()
        };
        let node = |name: &str| nodes::node(self.snapshot, name);
        let on_it = |pod: &&SelectedPod<'_>| on.contains_key(&*pod.pod.name.name);
        let pods: Vec<_> = self.pods.iter().filter(on_it).collect();
        let input = Input {
            service: &slicing::service(self.service),
            source: &OnNetwork(Pods { pods: &pods, node: &node, addresses: Some(&addresses) }),
            existing,
            trigger_time: None,
            topology: None,
            config: &network::config(self.limit),
        };
        let outcome = reconcile(&input);
        self.finish(outcome, existing, planned);
    }

    /// The slices of a manager; none while the view is behind.
    fn existing(&self, manager: &str) -> Option<Vec<&'a EndpointSlice>> {
        let name = &self.service.name;
        if slicing::is_behind(self.snapshot, manager, name) {
            return None;
        }
        let slices = slicing::managed(self.snapshot, manager, name).into_iter();
        Some(slices.filter(|slice| !slice.is_terminating()).map(|one| &one.object.slice).collect())
    }

    fn finish(&self, mut outcome: Outcome<'_>, existing: &[&EndpointSlice], planned: &mut Planned) {
        trigger::date(&mut outcome, self.service, &self.pods, existing);
        planned.problems |= !outcome.problems.is_empty();
        let events = &mut planned.plan.events;
        events.extend(outcome.events.iter().map(|event| self.told(event)));
        events.extend(outcome.problems.first().map(|problem| self.complaint(problem)));
        let creates =
            namespace_accepts_objects(&self.snapshot.namespaces, &self.service.name.namespace);
        slicing::write(self.snapshot, self.service, outcome, creates, NAME, &mut planned.plan);
    }

    fn told(&self, event: &fleet_endpointslice::Event) -> Event {
        let event_type = if event.is_warning() { EventType::Warning } else { EventType::Normal };
        LOCAL.event(self.service, event_type, event.reason(), event.to_string())
    }

    fn complaint(&self, problem: &Problem) -> Event {
        LOCAL.warning(self.service, events::FAILED_TO_UPDATE_ENDPOINT_SLICES, problem.to_string())
    }
}
