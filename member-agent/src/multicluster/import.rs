//! The controller that imports Services of the clusterset: into every namespace of that name, by its ServiceImport, its derived
//! Service and its slices.
//!
//! ```text
//!  hub                                          own cluster
//!  ResolvedService ──────────────────────────▶ ServiceImport ──▶ derived Service ──▶ addresses of the ServiceImport
//!  EndpointSliceExports of other clusters ───▶ EndpointSlices
//!  EndpointSlices of this cluster ───────────▶ EndpointSlices, never through the hub
//! ```
//!
//! What came from the hub goes again by [`trust`]; what depends on this cluster alone needs no hub.

mod bring;
mod count;
mod derived;
mod families;
mod hub;
mod keys;
mod local;
mod ports;
mod selector;
mod service_import;
mod slices;
mod source;
mod state;
mod status;
mod target;
mod trust;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_api::{ObjectName, events};
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event};
use jiff::Timestamp;

pub use count::{Counts, ImportState, count, held};
pub use keys::Key;
use state::ServiceState;
use target::Decision;
pub use trust::Held;

use crate::Settings;
use crate::intent::{self, Circumstances};
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;
use crate::traffic::{Ground, Recalled, Subject, concerned, conclude};
use crate::traffic_memory::TrafficMemory;

/// Imports Services through the standard API.
#[derive(Clone, Debug)]
pub struct StandardImportController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
    /// What earlier plans have decided about traffic.
    pub memory: TrafficMemory,
}

impl StandardImportController {
    /// A controller that remembers nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, memory: TrafficMemory::default() }
    }
}

impl Controller for StandardImportController {
    type Snapshot = MemberSnapshot;
    type Key = Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "multicluster_import"
    }

    /// Kinds of the own cluster alone: what needs the hub is decided without it, by keeping it.
    fn required(&self) -> SourceSet {
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::endpoint_slices(),
            MemberSnapshot::managed_slices(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::standard_exports(),
            MemberSnapshot::standard_imports(),
            // What is not known to be reserved would be imported, and stay.
            MemberSnapshot::service_cidrs(),
            MemberSnapshot::node_addresses(),
        ])
    }

    fn reads(&self) -> SourceSet {
        let sources =
            SourceSet::from([MemberSnapshot::fleet_slices(), MemberSnapshot::fleet_reports()]);
        let all = self.required().union(intent::sources()).union(sources);
        let all = all.with(MemberSnapshot::service_exports());
        if self.settings.traffic.enabled { all.union(Ground::sources(&self.settings)) } else { all }
    }

    fn affected_keys(&self, old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
        keys::affected(old, new, keys);
        let circumstances = |snapshot| {
            let hub = hub::Hub::of(&self.settings, snapshot);
            let offered = families::Offered::of(snapshot);
            let is_being_rebuilt = hub.is_some_and(hub::Hub::is_being_rebuilt);
            let circumstances = Circumstances::of(&self.settings, snapshot);
            (circumstances, hub::Hub::trust(hub), offered, is_being_rebuilt)
        };
        if circumstances(old) != circumstances(new) {
            keys::all(new, keys);
        }
        keys::directed(&concerned(&self.settings, old, new), new, keys);
    }

    fn plan(&self, Key(service): &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        let recalled = self.memory.recall(&Subject::standard(service));
        recalling(&self.settings, service, snapshot, recalled, now)
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let imports = snapshot.standard_imports.iter().filter(|import| import.hub().is_some());
        imports.map(|import| LOCAL.blocked(import, reason)).collect()
    }

    fn rejected(&self, Key(service): &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let import = snapshot.standard_imports.get(service);
        import.map(|import| LOCAL.rejected(import, reason)).into_iter().collect()
    }
}

/// The writes that bring one import up to date, for a process that has just begun.
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
    let is_hub_known = !recalled.hub_is_inconsistent;
    let ground = Ground::of(settings, snapshot, recalled);
    let is_directed = ground.is_some();
    let mut state = ServiceState::of(settings, service, snapshot, now);
    if !is_hub_known {
        state.distrust_hub();
    }
    state.ground = ground;
    let mut plan = import(&state);
    if !is_hub_known {
        plan.wake_within(bring::AGAIN);
    }
    if is_directed {
        let exists = snapshot.standard_imports.get(service).is_some();
        conclude(Subject::standard(service), exists, &mut plan);
    }
    plan
}

fn import(state: &ServiceState<'_>) -> Plan {
    let (service, snapshot) = (state.service, state.snapshot);
    let mut plan = Plan::default();
    // A ServiceImport without our mark is served by the implementation that wrote it.
    let is_foreign = intent::foreign_import(service, snapshot).is_some();
    if !intent::is_local_known(snapshot) || is_foreign {
        return plan;
    }
    // What it owns goes with it, and blocks its successor until then.
    let is_ending = state.import.is_some_and(|import| import.meta.is_terminating());
    if is_ending || !state.is_namespace_open() || state.is_behind() {
        return plan;
    }
    match target::decide(state) {
        Decision::Import(target) => {
            if let Some((import, Held::Brake)) = state.import.zip(target.held) {
                plan.events.push(LOCAL.warning(import, events::IMPORTS_KEPT, bring::KEPT));
                plan.wake_within(bring::AGAIN);
            }
            bring::sync(state, &target, &mut plan);
        }
        Decision::Forget(target) => {
            bring::sync(state, &target, &mut plan);
            bring::forget(state, &mut plan);
        }
        Decision::Remove => bring::remove(state, &mut plan),
        Decision::Wait => {}
    }
    plan
}
