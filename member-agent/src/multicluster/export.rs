//! The controller that offers Services to the clusterset, and reports what became of that.

mod content;
mod count;
mod decision;
mod keys;
mod metadata;
mod offer;
mod state;
mod status;
mod words;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_api::{ObjectName, events};
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event};
use jiff::Timestamp;

pub use count::{ExportState, count};
pub use decision::{Decision, decision, is_denied, is_reported, is_withdrawn};
pub use keys::Key;
use state::ServiceState;

use crate::Settings;
use crate::intent::{self, Circumstances};
pub use crate::intent::{Hold, Intent, Withdrawal};
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;

/// Exports Services through the standard API.
#[derive(Clone, Debug)]
pub struct StandardExportController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
}

impl Controller for StandardExportController {
    type Snapshot = MemberSnapshot;
    type Key = Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "multicluster_export"
    }

    /// Kinds of the own cluster alone: ServiceExports are judged without the hub, too.
    fn required(&self) -> SourceSet {
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::standard_exports(),
            MemberSnapshot::standard_imports(),
        ])
    }

    fn reads(&self) -> SourceSet {
        self.required().union(intent::sources())
    }

    fn affected_keys(&self, old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
        keys::affected(old, new, keys);
        let circumstances = |snapshot| Circumstances::of(&self.settings, snapshot);
        if circumstances(old) != circumstances(new) {
            keys::affected(&MemberSnapshot::default(), new, keys);
        }
    }

    fn plan(&self, Key(service): &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        plan(&self.settings, service, snapshot, now)
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.standard_exports.iter().map(|export| LOCAL.blocked(export, reason)).collect()
    }

    fn rejected(&self, Key(service): &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let export = snapshot.standard_exports.get(service);
        export.map(|export| LOCAL.rejected(export, reason)).into_iter().collect()
    }
}

/// The writes that bring one Service up to date.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    if !intent::is_local_known(snapshot) {
        return plan;
    }
    let state = ServiceState::of(settings, service, snapshot, now);
    if let Some(export) = state.export
        && intent::foreign_import(service, snapshot).is_some()
    {
        plan.events.push(LOCAL.warning(export, events::SERVICE_IMPORT_NOT_OURS, words::FOREIGN));
        return plan;
    }
    offer::sync(&state, &mut plan);
    if let Some(export) = state.export.filter(|_| !state.is_namespace_terminating()) {
        status::write(&state, export, &mut plan);
        plan.events.extend(metadata::event(&state, export));
    }
    plan
}
