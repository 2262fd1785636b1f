//! The controller that exports Services of this cluster and their EndpointSlices to the hub.

mod complete;
mod decision;
mod internal;
mod invalid_reference;
mod keys;
mod moved;
mod shortfall;
mod slices;
mod stamp;
mod state;
mod status;
mod travel;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_api::{ObjectName, finalizers};
use fleet_model::hub_schema::HubSchema;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event, StepId};
use jiff::Timestamp;

pub use complete::is_complete;
pub use decision::ExportDecision;
pub use keys::Key;
use state::{ServiceState, is_hub_rebuilt};

use crate::Settings;
use crate::executing::Executing;
use crate::intent::{self, Circumstances};
use crate::measurement::{Measurement, Plan};
use crate::phase::Phase;
use crate::slicing;
use crate::snapshot::MemberSnapshot;

/// Exports Services and their slices to the hub.
#[derive(Clone, Debug)]
pub struct ExportController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
}

impl Controller for ExportController {
    type Snapshot = MemberSnapshot;
    type Key = Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "export"
    }

    fn required(&self) -> SourceSet {
        let pods = self.settings.endpointslices.serves_networks();
        let pods = if pods { SourceSet::from([MemberSnapshot::pods()]) } else { SourceSet::EMPTY };
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::service_exports(),
            MemberSnapshot::endpoint_slices(),
            MemberSnapshot::internal_exports(),
            MemberSnapshot::slice_exports(),
            MemberSnapshot::memberships(),
        ])
        .union(pods)
    }

    fn reads(&self) -> SourceSet {
        let standard = self.settings.multicluster.is_watched();
        let standard = if standard { intent::sources() } else { SourceSet::EMPTY };
        let executing = Executing::sources(&self.settings);
        let traffic = self.settings.traffic.enabled;
        let rebuilt = if traffic {
            SourceSet::from([MemberSnapshot::fleet_traffics()])
        } else {
            SourceSet::EMPTY
        };
        let all = self.required().union(Phase::sources()).union(standard).union(executing);
        let all = all.union(rebuilt);
        all.with(MemberSnapshot::schema())
    }

    fn affected_keys(&self, old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
        keys::affected(old, new, keys);
        if self.settings.endpointslices.serves_networks() {
            slicing::each_on_network(old, new, &mut |name| keys.add(Key::Service(name)));
        }
        if self.settings.multicluster.is_watched() {
            keys::affected_by_standard(old, new, keys);
        }
        let schema_changed = HubSchema::known(&old.schema) != HubSchema::known(&new.schema);
        let circumstances = |snapshot| Circumstances::of(&self.settings, snapshot);
        let executing = |snapshot| Executing::of(&self.settings, snapshot);
        let executing_changed = executing(old) != executing(new);
        let is_rebuilt = |snapshot| is_hub_rebuilt(&self.settings, snapshot);
        let rebuilt_changed = is_rebuilt(old) != is_rebuilt(new);
        if schema_changed
            || executing_changed
            || rebuilt_changed
            || circumstances(old) != circumstances(new)
        {
            keys::affected(&MemberSnapshot::default(), new, keys);
        }
    }

    fn plan(&self, key: &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => plan(&self.settings, service, snapshot, now),
            Key::InvalidReference(kind, name) => invalid_reference::plan(*kind, name, snapshot),
        }
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.service_exports.iter().map(|export| LOCAL.blocked(export, reason)).collect()
    }

    fn rejected(&self, key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let Key::Service(service) = key else { return Vec::new() };
        let export = snapshot.service_exports.get(service);
        export.map(|export| LOCAL.rejected(export, reason)).into_iter().collect()
    }
}

/// The decision on the ServiceExport of a Service; `None` if there is none, or it is being deleted.
pub fn decision<'a>(
    settings: &'a Settings,
    service: &'a ObjectName,
    snapshot: &'a MemberSnapshot,
    now: Timestamp,
) -> Option<ExportDecision<'a>> {
    let state = ServiceState::of(settings, service, snapshot, now);
    let export = state.export.filter(|export| !export.meta.is_terminating())?;
    Some(state.decision(export))
}

/// The writes that bring the export of one Service up to date.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let state = ServiceState::of(settings, service, snapshot, now);
    let mut plan = Plan::default();
    match state.export {
        None => {
            withdraw(&state, &mut plan);
        }
        Some(export) if export.meta.is_terminating() => unexport(&state, &mut plan),
        // As the original does. A ServiceExport that is created after that waits until the member joins again.
        Some(export) if state.phase == Phase::Leaving => {
            withdraw(&state, &mut plan);
            plan.push(LOCAL.delete(export));
        }
        Some(_) if state.exported().is_some() => self::export(&state, &mut plan),
        // One write to the ServiceExport at a time: the status comes before the finalizer is removed.
        Some(export) => {
            if status::write(&state, export, None, &mut plan) {
                withdraw(&state, &mut plan);
            } else {
                unexport(&state, &mut plan);
            }
        }
    }
    plan
}

/// Adds the finalizer, exports the Service and, once the hub accepts it, its slices.
fn export(state: &ServiceState<'_>, plan: &mut Plan) {
    let Some(export) = state.export else { return };
    let guarded = LOCAL.add_finalizer(export, finalizers::SERVICE_EXPORT);
    let guarded = guarded.map(|step| plan.push(step));
    let decision = internal::sync(state, guarded, plan);
    slices::sync(state, Some(decision), plan);
    if guarded.is_none() {
        status::write(state, export, internal::conflict(state), plan);
    }
}

/// Withdraws this Service from the fleet, then removes the finalizer from the ServiceExport.
fn unexport(state: &ServiceState<'_>, plan: &mut Plan) {
    let withdrawn = withdraw(state, plan);
    let Some(export) = state.export else { return };
    let Some(release) = LOCAL.remove_finalizer(export, finalizers::SERVICE_EXPORT) else { return };
    let mut undone = withdrawn;
    if state.internal_exports.is_empty() {
        undone.extend(internal::confirm_absent(state, plan));
    }
    plan.push(release.after(undone));
}

/// Deletes what is on the hub of this Service, but slices that the standard API exports. Returns the deletions.
fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) -> Vec<StepId> {
    let mut deleted = slices::sync(state, None, plan);
    deleted.extend(internal::withdraw(state, plan));
    deleted
}
