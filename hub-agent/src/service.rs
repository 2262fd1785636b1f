//! The controller of everything about one Service of the fleet.

mod claim;
mod conflict;
mod distribute;
mod fleet;
mod handover;
mod keys;
mod origin;
mod resolve;
mod stray;
mod withdraw;

#[cfg(test)]
mod tests;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::ObjectName;
use fleet_model::objects::ServiceImport;
use fleet_model::steps::HUB;
use fleet_runtime::controller::Controller;
use fleet_runtime::plan::{Event, Plan};
use jiff::Timestamp;

pub use fleet::{Fleet, Owned};
pub use keys::Key;
pub use resolve::{Export, Verdict, verdict};

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Resolves, claims and distributes the Services of the fleet.
#[derive(Clone, Debug, Default)]
pub struct ServiceController {
    /// What its plans depend on beside the snapshot.
    pub settings: Settings,
}

impl Controller for ServiceController {
    type Snapshot = HubSnapshot;
    type Key = Key;

    fn name(&self) -> &'static str {
        "service"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([
            HubSnapshot::internal_exports(),
            HubSnapshot::internal_imports(),
            HubSnapshot::service_imports(),
            HubSnapshot::slice_exports(),
            HubSnapshot::slice_imports(),
            HubSnapshot::namespaces(),
        ])
    }

    fn dirty(&self, old: &HubSnapshot, new: &HubSnapshot, mark: &mut dyn FnMut(Key)) {
        keys::dirty(old, new, mark);
    }

    fn plan(&self, key: &Key, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => plan(&self.settings, service, snapshot, now),
            Key::Stray(kind, name) => stray::plan(*kind, name, snapshot, now),
        }
    }

    fn held_up(&self, snapshot: &HubSnapshot, reason: &str) -> Vec<Event> {
        snapshot.internal_exports.iter().map(|export| HUB.held_up(export, reason)).collect()
    }
}

/// Why an export is refused, in one sentence: where its ports differ from those in force, whose those are, and since when.
pub fn conflict(fleet: &Fleet<'_>, export: &Export<'_>, verdict: &Verdict<'_>) -> String {
    conflict::refused(fleet, export, verdict).message
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
    let Some(verdict) = resolve::verdict(&fleet) else {
        withdraw::withdraw(&fleet, &mut plan);
        return plan;
    };
    match fleet.import.filter(|import| !import.meta.is_terminating()) {
        Some(import) => serve(&fleet, import, &verdict, now, &mut plan),
        None if !fleet.namespace_accepts_objects() => {
            withdraw::withdraw(&fleet, &mut plan);
            resolve::report_namespace_missing(&fleet, &verdict, now, &mut plan);
        }
        None => replace(&fleet, &mut plan),
    }
    plan
}

/// The Service is exported, and its ServiceImport is there.
fn serve<'a>(
    fleet: &Fleet<'a>,
    import: &'a Object<ServiceImport>,
    verdict: &resolve::Verdict<'a>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let resolved = resolve::resolve(fleet, import, verdict, now, plan);
    let importers = claim::claim(fleet, verdict, &resolved, plan);
    distribute::distribute(fleet, verdict, &resolved, &importers, now, plan);
}

/// The Service is exported, and its ServiceImport is not there yet or on its way out.
fn replace(fleet: &Fleet<'_>, plan: &mut Plan) {
    match (fleet.import, fleet.import_to_let_go()) {
        (None, _) => resolve::create_import(fleet, plan),
        (Some(_), Some(import)) => withdraw::let_go(import, plan),
        // Nobody knows how long somebody else holds it.
        (Some(_), None) => withdraw::withdraw(fleet, plan),
    }
}
