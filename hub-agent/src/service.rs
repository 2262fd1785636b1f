//! The controller of everything about one Service of the fleet.

mod claims;
mod conflict;
mod handover;
mod invalid_reference;
mod keys;
mod origin;
mod resolution;
mod slices;
mod state;
mod withdraw;

#[cfg(test)]
mod tests;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::ObjectName;
use fleet_model::objects::ServiceImport;
use fleet_model::steps::HUB;
use fleet_plan::{Controller, Event, Plan};
use jiff::Timestamp;

pub use keys::Key;
pub use resolution::{Export, PortResolution, resolve};
pub use state::{Owned, ServiceState};

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
            Key::InvalidReference(kind, name) => {
                invalid_reference::plan(*kind, name, snapshot, now)
            }
        }
    }

    fn held_up(&self, snapshot: &HubSnapshot, reason: &str) -> Vec<Event> {
        snapshot.internal_exports.iter().map(|export| HUB.held_up(export, reason)).collect()
    }
}

/// Why an export is refused, in one sentence: where its ports differ from those in force, whose those are, and since when.
pub fn conflict(
    state: &ServiceState<'_>,
    export: &Export<'_>,
    resolution: &PortResolution<'_>,
) -> String {
    conflict::refused(state, export, resolution).message
}

/// All writes that one Service of the fleet still misses on the hub.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Plan {
    let state = ServiceState::of(settings, service, snapshot);
    let mut plan = Plan::default();
    let Some(resolution) = resolution::resolve(&state) else {
        withdraw::withdraw(&state, &mut plan);
        return plan;
    };
    match state.import.filter(|import| !import.meta.is_terminating()) {
        Some(import) => serve(&state, import, &resolution, now, &mut plan),
        None if !state.namespace_accepts_objects() => {
            withdraw::withdraw(&state, &mut plan);
            resolution::report_namespace_missing(&state, &resolution, now, &mut plan);
        }
        None => replace(&state, &mut plan),
    }
    plan
}

/// The Service is exported, and its ServiceImport is there.
fn serve<'a>(
    state: &ServiceState<'a>,
    import: &'a Object<ServiceImport>,
    resolution: &resolution::PortResolution<'a>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let resolved = resolution::sync(state, import, resolution, now, plan);
    let importers = claims::sync(state, resolution, &resolved, plan);
    slices::sync(state, resolution, &resolved, &importers, now, plan);
}

/// The Service is exported, and its ServiceImport is not there yet or on its way out.
fn replace(state: &ServiceState<'_>, plan: &mut Plan) {
    match (state.import, state.releasable_import()) {
        (None, _) => resolution::create_import(state, plan),
        (Some(_), Some(import)) => withdraw::let_go(import, plan),
        // Nobody knows how long somebody else holds it.
        (Some(_), None) => withdraw::withdraw(state, plan),
    }
}
