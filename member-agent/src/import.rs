//! The controller that imports Services of the fleet and binds their EndpointSlices to derived Services.

mod binding;
mod choose;
mod content;
mod derived;
mod directed;
mod finalizer;
mod grace;
mod held;
mod import_state;
mod invalid_reference;
mod keys;
mod latency;
mod mcs;
mod orphans;
mod own;
mod refusal;
mod request;
mod reservations;
mod served;
mod service_type;
mod skipped;
mod slices;
mod stages;
mod state;
mod status;
mod system_namespace;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_api::ObjectName;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event};
use jiff::Timestamp;

pub use import_state::{ImportState, import_states};
pub use keys::Key;
pub use orphans::kept_imports;
pub use refusal::Refusal;
use state::ServiceState;
pub use system_namespace::SystemNamespaceError;

use crate::Settings;
use crate::measurement::{Measurement, Plan};
use crate::other_hub::OtherHub;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;
use crate::traffic::{Ground, Recalled, Subject, concerned, conclude};
use crate::traffic_memory::TrafficMemory;

/// Imports Services of the fleet and binds their slices.
#[derive(Clone, Debug)]
pub struct ImportController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
    /// What earlier plans have decided about traffic.
    pub memory: TrafficMemory,
}

impl ImportController {
    /// A controller that remembers nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, memory: TrafficMemory::default() }
    }
}

impl Controller for ImportController {
    type Snapshot = MemberSnapshot;
    type Key = Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "import"
    }

    fn required(&self) -> SourceSet {
        [
            MemberSnapshot::services(),
            MemberSnapshot::endpoint_slices(),
            MemberSnapshot::multi_cluster_services(),
            MemberSnapshot::service_imports(),
            MemberSnapshot::internal_imports(),
            MemberSnapshot::slice_imports(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::memberships(),
            MemberSnapshot::service_cidrs(),
            MemberSnapshot::node_addresses(),
        ]
        .into_iter()
        .collect()
    }

    fn reads(&self) -> SourceSet {
        let all = self.required().union(Phase::sources());
        if !self.settings.traffic.enabled {
            return all;
        }
        all.union(Ground::sources(&self.settings))
            .union(SourceSet::from([MemberSnapshot::managed_slices()]))
    }

    fn affected_keys(&self, old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
        let identity = &self.settings.identity;
        keys::affected(identity, old, new, keys);
        let moved = state::in_hub(identity, old) != state::in_hub(identity, new);
        if moved || Phase::changed(identity, old, new) {
            keys::affected(identity, &MemberSnapshot::default(), new, keys);
        }
        if self.settings.traffic.enabled {
            keys::directed(&concerned(&self.settings, old, new), new, keys);
            keys::of_slices(identity, old, new, keys);
        }
    }

    fn plan(&self, key: &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => {
                let recalled = self.memory.recall(&Subject::fleet(service));
                recalling(&self.settings, service, snapshot, recalled, now)
            }
            Key::Mcs(name) => mcs::plan(&self.settings.identity, name, snapshot, now),
            Key::InvalidReference(kind, name) => invalid_reference::plan(*kind, name, snapshot),
        }
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.multi_cluster_services.iter().map(|mcs| LOCAL.blocked(mcs, reason)).collect()
    }

    fn rejected(&self, key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let all_mcs = snapshot.multi_cluster_services.iter();
        let theirs = all_mcs.filter(|mcs| keys::of_mcs(mcs) == *key);
        theirs.map(|mcs| LOCAL.rejected(mcs, reason)).collect()
    }
}

/// The writes that bring the import of one Service up to date, for a process that has just begun.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    recalling(settings, service, snapshot, Recalled::default(), now)
}

/// The same for a process that remembers earlier plans.
fn recalling(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    recalled: Recalled,
    now: Timestamp,
) -> Plan {
    let mut state = ServiceState::of(settings, service, snapshot, now);
    state.other_hub = OtherHub::recalled(settings, snapshot, &recalled);
    state.ground = Ground::of(settings, snapshot, recalled);
    let mut plan = import(&state);
    if state.ground.is_some() {
        let exists = !state.multi_cluster_services.is_empty();
        conclude(Subject::fleet(service), exists, &mut plan);
    }
    plan
}

fn import(state: &ServiceState<'_>) -> Plan {
    let mut plan = Plan::default();
    let holder = choose::holder(state);
    let prepared = holder.map(|holder| mcs::prepare(state, holder, &mut plan));
    let import = request::sync(state, holder, prepared.as_ref(), &mut plan);
    if let Some(holder) = holder {
        status::report_rejected(state, holder, &mut plan);
    }
    let mut orphaned = slices::orphans(state);
    let of_other_hub = holder.zip(state.other_hub);
    let kept = if let Some((holder, other)) = of_other_hub {
        held::keep(other, holder, &mut orphaned, &mut plan);
        true
    } else {
        let count = orphaned.len();
        let kept = holder.is_some_and(|holder| orphans::keep(state, holder, count, &mut plan));
        if kept {
            orphaned.clear();
        }
        kept
    };
    if let (Some(holder), Some(prepared)) = (holder, &prepared) {
        derived::sync(state, holder, prepared, &import, kept, &mut plan);
    }
    mcs::withdraw_others(state, holder, &import, &mut plan);
    let granted = import.granted.as_ref();
    slices::sync(state, holder, prepared.as_ref(), granted, orphaned, &mut plan);
    if state.refusal == Some(Refusal::Terminating) {
        // The namespace, in which the Events would be created, is being deleted.
        plan.events.clear();
    }
    plan
}
