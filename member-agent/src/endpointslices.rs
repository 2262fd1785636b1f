//! The controller that makes EndpointSlices of pods, in its own cluster alone: in the place of the built-in controller,
//! or beside it for Services whose endpoints are to be the pods' addresses on a secondary network.

mod keys;
mod leftovers;
mod name;
mod network;
mod nodes;
#[cfg(test)]
mod tests;
mod topology;
mod trigger;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::{ObjectName, events, labels};
use fleet_endpointslice::{
    Cause, Config, Input, MANAGER, Outcome, Overview, Pods, Problem, ServiceHints, Zones,
    follows_capacity, reconcile,
};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::Service;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event, EventType};
use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;

pub use leftovers::LeftoverController;

use crate::measurement::{HintsByCapacity, Measurement, Plan, Synced};
use crate::settings::{Mode, Settings};
use crate::slicing::{self, PodsByNetwork, SelectedPod, requested_network};
use crate::snapshot::MemberSnapshot;
use name::NAME;
use network::OnNetwork;

/// Name of the built-in controller's queue, in its metrics.
pub const QUEUE: &str = "endpoint_slice";

/// Makes the slices of pods.
#[derive(Debug)]
pub struct EndpointSliceController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
}

impl Controller for EndpointSliceController {
    type Snapshot = MemberSnapshot;
    /// A Service.
    type Key = ObjectName;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        NAME
    }

    /// The own cluster alone.
    fn required(&self) -> SourceSet {
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::managed_slices(),
            MemberSnapshot::pods(),
            MemberSnapshot::nodes(),
        ])
    }

    /// A key waits while the watch of managed slices is behind that of all slices (`slicing::is_behind`). Where no other controller
    /// requires all, only those of others are watched: a slice that was given away keeps its name.
    fn reads(&self) -> SourceSet {
        let Settings { endpointslices, .. } = self.settings;
        let names_are_taken = endpointslices == Mode::All || self.settings.watches_all_slices();
        let required = self.required();
        if names_are_taken { required.with(MemberSnapshot::endpoint_slices()) } else { required }
    }

    /// A slice goes when it is empty, and updates empty it all the same: to wait would only keep the endpoints that it had last.
    fn deletes_for_absence(&self) -> bool {
        false
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<ObjectName>,
    ) {
        keys::affected(old, new, keys);
        keys::by_pods(old, new, self.settings.endpointslice_batch_period, keys);
    }

    fn plan(&self, key: &ObjectName, snapshot: &MemberSnapshot, _: Timestamp) -> Plan {
        plan(&self.settings, key, snapshot)
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let asked = snapshot.services.iter().filter(|service| requested_network(service).is_some());
        asked.map(|service| LOCAL.blocked(service, reason)).collect()
    }
}

/// All writes that the slices of one Service still miss.
pub fn plan(settings: &Settings, name: &ObjectName, snapshot: &MemberSnapshot) -> Plan {
    let (mut plan, mut synced) = (Plan::default(), Synced::default());
    // EndpointSlices of a deleted Service are garbage-collected through their owner references.
    if let Some(service) = snapshot.services.get(name) {
        synced.hints = HintsByCapacity::Unchanged;
        sync(settings, service, snapshot, &mut synced, &mut plan);
    }
    plan.measure(Measurement::Synced(synced));
    plan
}

fn sync(
    settings: &Settings,
    service: &Object<Service>,
    snapshot: &MemberSnapshot,
    synced: &mut Synced,
    plan: &mut Plan,
) {
    let whole = settings.endpointslices == Mode::All && slicing::is_served(service);
    let networks = requested_network(service).is_some()
        || !slicing::managed(snapshot, labels::MANAGED_BY_NETWORK, &service.name).is_empty();
    if whole || networks {
        let state = ServiceState::of(settings, service, snapshot);
        if whole {
            state.all(synced, plan);
        }
        if networks {
            state.on_network(synced, plan);
        }
    }
}

/// Everything that the slices of one Service depend on.
struct ServiceState<'a> {
    service: &'a Object<Service>,
    snapshot: &'a MemberSnapshot,
    settings: &'a Settings,
    pods: Vec<SelectedPod<'a>>,
}

impl<'a> ServiceState<'a> {
    fn of(
        settings: &'a Settings,
        service: &'a Object<Service>,
        snapshot: &'a MemberSnapshot,
    ) -> Self {
        let pods = slicing::pods(snapshot, service);
        Self { service, snapshot, settings, pods }
    }

    /// As the built-in controller does.
    fn all(&self, synced: &mut Synced, plan: &mut Plan) {
        let existing = self.existing(MANAGER);
        let Some(existing) = existing.as_deref() else { return };
        let node = |name: &str| nodes::node(self.snapshot, name);
        let pods: Vec<_> = self.pods.iter().collect();
        let service = slicing::service(self.service);
        let zones = if follows_capacity(&service) {
            topology::zones(self.snapshot)
        } else {
            Zones::default()
        };
        let hints = topology::hints(existing);
        let input = Input {
            service: &service,
            source: &Pods { pods: &pods, node: &node, addresses: None },
            existing,
            trigger_time: None,
            topology: Some(Overview { zones: &zones, service: &hints }),
            config: &Config { limit: self.settings.max_endpoints_per_slice, ..Config::pods() },
        };
        let outcome = reconcile(&input);
        let hinted = outcome.hints != ServiceHints::default();
        synced.hints = if hinted { HintsByCapacity::Present } else { HintsByCapacity::Absent };
        synced.measures = outcome.changes.iter().map(|changes| changes.measures.clone()).collect();
        self.finish(outcome, existing, synced, plan);
    }

    /// The pods' addresses on the network that the Service asks for.
    fn on_network(&self, synced: &mut Synced, plan: &mut Plan) {
        let existing = self.existing(labels::MANAGED_BY_NETWORK);
        let Some(existing) = existing.as_deref() else { return };
        let network = requested_network(self.service).filter(|_| slicing::is_served(self.service));
        let cidrs = &self.settings.endpoint_network_cidrs;
        let pods = network.map(|network| PodsByNetwork::of(&self.pods, network, cidrs));
        let pods = pods.unwrap_or_default();
        let off = network.and_then(|network| pods.note(network));
        plan.events
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
            config: &network::config(self.settings.max_endpoints_per_slice),
        };
        let outcome = reconcile(&input);
        self.finish(outcome, existing, synced, plan);
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

    fn finish(
        &self,
        mut outcome: Outcome<'_>,
        existing: &[&EndpointSlice],
        synced: &mut Synced,
        plan: &mut Plan,
    ) {
        trigger::date(&mut outcome, self.service, &self.pods, existing);
        synced.problems |= !outcome.problems.is_empty();
        for event in &outcome.events {
            let about = self.told(event);
            // The hints of the slices may be those of a traffic distribution.
            if event.cause == Cause::Disabled {
                plan.measure(Measurement::HintsEnded(about));
            } else {
                plan.events.push(about);
            }
        }
        plan.events.extend(outcome.problems.first().map(|problem| self.complaint(problem)));
        let creates =
            namespace_accepts_objects(&self.snapshot.namespaces, &self.service.name.namespace);
        let before = plan.steps.len();
        slicing::write(self.snapshot, self.service, outcome, creates, NAME, plan);
        let written: Vec<_> = plan.step_ids().skip(before).collect();
        let written: Vec<_> =
            written.into_iter().map(|(id, step)| (id, step.action.verb())).collect();
        for (id, operation) in written {
            plan.measure_after(id, Measurement::SliceWritten(operation));
        }
    }

    fn told(&self, event: &fleet_endpointslice::Event) -> Event {
        let event_type = if event.is_warning() { EventType::Warning } else { EventType::Normal };
        LOCAL.event(self.service, event_type, event.reason(), event.to_string())
    }

    fn complaint(&self, problem: &Problem) -> Event {
        LOCAL.warning(self.service, events::FAILED_TO_UPDATE_ENDPOINT_SLICES, problem.to_string())
    }
}
