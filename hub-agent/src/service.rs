//! The room of the hub agent: everything about one Service of the fleet.

mod claim;
mod distribute;
mod fleet;
mod keys;
mod resolve;
mod stray;
mod withdraw;

#[cfg(test)]
mod tests;

use fleet_accumulator::{Snapshot as _, SourceSet};
use fleet_api::ObjectName;
use fleet_runtime::plan::Plan;
use fleet_runtime::room::Room;
use jiff::Timestamp;

pub use fleet::Fleet;
pub use keys::Key;

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Resolves, claims and distributes the Services of the fleet.
#[derive(Clone, Debug, Default)]
pub struct ServiceRoom {
    /// What its plans depend on beside the snapshot.
    pub settings: Settings,
}

impl Room for ServiceRoom {
    type Snapshot = HubSnapshot;
    type Key = Key;

    fn name(&self) -> &'static str {
        "service"
    }

    fn required(&self) -> SourceSet {
        HubSnapshot::sources().iter().map(|source| source.id).collect()
    }

    fn dirty(&self, old: &HubSnapshot, new: &HubSnapshot, mark: &mut dyn FnMut(Key)) {
        keys::dirty(old, new, mark);
    }

    fn plan(&self, key: &Key, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => plan(&self.settings, service, snapshot, now),
            Key::Stray(kind, name) => stray::plan(*kind, name, snapshot),
        }
    }
}

/// All writes that one Service of the fleet still misses on the hub.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Plan {
    let fleet = Fleet::of(settings, service, snapshot);
    let mut plan = Plan::default();
    match resolve::verdict(&fleet) {
        Some(verdict) if !fleet.import_is_terminating() => {
            serve(&fleet, &verdict, now, &mut plan);
        }
        _ => withdraw::withdraw(&fleet, &mut plan),
    }
    plan
}

fn serve(fleet: &Fleet<'_>, verdict: &resolve::Verdict<'_>, now: Timestamp, plan: &mut Plan) {
    let Some(resolved) = resolve::resolve(fleet, verdict, now, plan) else {
        return; // The ServiceImport is not there yet; its arrival plans this key again.
    };
    let importers = claim::claim(fleet, verdict, &resolved, plan);
    distribute::distribute(fleet, &resolved, &importers, plan);
}
