//! The controller of the Services of the fleet.
//!
//! One key is one Service: its exports are resolved to one list of ports ([`status`]), its importers get
//! the claim and a grant ([`claims`]), and copies of the exported slices ([`slices`]).

mod beyond;
mod claims;
mod conflict;
mod invalid_reference;
mod keys;
mod notice;
mod owned;
mod permission;
mod places;
mod refusable;
mod refusal;
mod rejection;
mod resolution;
mod slices;
mod state;
mod status;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::ObjectName;
use fleet_model::hub_schema::HubSchema;
use fleet_model::objects::ServiceImport;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_model::steps::HUB;
use fleet_plan::{Affected, Controller, Event, Plan, StepId};
use jiff::Timestamp;

pub use beyond::refused;
pub use keys::Key;
pub use refusal::limit_named_in;
pub use resolution::{PortResolution, resolve};
pub use state::{Export, Owned, Request, ServiceState, SliceExport};

use crate::Settings;
use crate::snapshot::HubSnapshot;
use crate::verdicts::{self, Verdicts};
use notice::Notices;

/// Resolves the Services of the fleet, grants imports and distributes slices.
#[derive(Clone, Debug, Default)]
pub struct ServiceController {
    /// Settings that plans depend on.
    pub settings: Settings,
}

impl Controller for ServiceController {
    type Snapshot = HubSnapshot;
    type Key = Key;
    type Measurement = Infallible;

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
            HubSnapshot::member_policies(),
        ])
    }

    fn reads(&self) -> SourceSet {
        self.required().with(HubSnapshot::schema()).union(Verdicts::sources(&self.settings))
    }

    fn affected_keys(&self, old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
        let touched = keys::affected(old, new, keys);
        let exports = (&old.internal_exports, &new.internal_exports);
        places::affected(exports, &touched, self.settings.max_services_per_member, keys);
        if self.settings.enforce_member_policies {
            permission::affected(old, new, keys);
        }
        for member in verdicts::affected(&self.settings, old, new) {
            keys::of_member(new, &member, keys);
        }
        let is_rebuilding = |snapshot: &HubSnapshot| {
            FleetTraffic::is_rebuilding(&snapshot.fleet_traffics, self.settings.traffic)
        };
        let is_other = HubSchema::known(&old.schema) != HubSchema::known(&new.schema)
            || is_rebuilding(old) != is_rebuilding(new);
        // At the beginning of a term everything was new above.
        if is_other && !keys::is_empty(old) {
            keys::affected(&HubSnapshot::default(), new, keys);
        }
    }

    fn plan(&self, key: &Key, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => plan(&self.settings, service, snapshot, now),
            Key::InvalidReference(kind, name) => {
                invalid_reference::plan(*kind, name, snapshot, now)
            }
        }
    }

    fn blocked(&self, snapshot: &HubSnapshot, reason: &str) -> Vec<Event> {
        snapshot.internal_exports.iter().map(|export| HUB.blocked(export, reason)).collect()
    }
}

/// The message with which an export is rejected: where its ports differ from those in force, which member has
/// those, and since when.
pub fn conflict(
    state: &ServiceState<'_>,
    export: &Export<'_>,
    resolution: &PortResolution<'_>,
) -> String {
    conflict::rejected(state, export, resolution).message
}

/// All writes that one Service of the fleet needs on the hub.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Plan {
    let state = ServiceState::of(settings, service, snapshot);
    let mut plan = Plan::default();
    status::report_refused(&state, now, &mut plan);
    let notices = bring_about(&state, now, &mut plan);
    claims::report_refused(&state, &mut plan);
    slices::report(&state, &notices, &mut plan);
    if state.is_being_rebuilt {
        plan.hold_deletions_except(slices::withdrawn(&state));
    }
    plan
}

/// Returns why slices do not reach importers.
fn bring_about(state: &ServiceState<'_>, now: Timestamp, plan: &mut Plan) -> Notices {
    if resolution::waits_for_exporters(state) {
        return Notices::new();
    }
    let Some(resolution) = resolve(state) else {
        withdraw(state, plan);
        return Notices::new();
    };
    match state.live_import() {
        Some(import) => return sync(state, import, &resolution, now, plan),
        None if !state.namespace_accepts_objects() => {
            withdraw(state, plan);
            status::report_namespace_missing(state, &resolution, now, plan);
        }
        None => replace_import(state, plan),
    }
    Notices::new()
}

/// The Service is exported and has a ServiceImport.
fn sync(
    state: &ServiceState<'_>,
    import: &Object<ServiceImport>,
    resolution: &PortResolution<'_>,
    now: Timestamp,
    plan: &mut Plan,
) -> Notices {
    let writes = status::sync(state, import, resolution, now, plan);
    let importers = claims::sync(state, import, resolution, writes.import, plan);
    slices::sync(state, resolution, &writes, &importers, now, plan)
}

/// The Service is exported, and its ServiceImport does not exist or is being deleted.
fn replace_import(state: &ServiceState<'_>, plan: &mut Plan) {
    match (state.import, state.releasable_import()) {
        (None, _) => {
            release_all(state, None, plan);
            status::create_import(state, plan);
        }
        (Some(_), Some(import)) => claims::release_import(import, plan),
        // A finalizer of another party holds it for an unknown time.
        (Some(_), None) => withdraw(state, plan),
    }
}

/// No member exports the Service, or the hub has no namespace for it: removes what was made for it, in the order of
/// docs/design/rules.md#withdrawal.
fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) {
    slices::withdraw(state, plan);
    let released = claims::withdraw(state, plan);
    let Some(import) = state.import else {
        return release_all(state, None, plan);
    };
    if let Some(import) = state.live_import().filter(|_| state.is_being_rebuilt) {
        return status::unlist(state, import, plan);
    }
    if let Some(gone) = released.or_else(|| status::withdraw(import, plan)) {
        release_all(state, Some(gone), plan);
    }
}

/// Removes the hub's finalizers from exports and requests that are being deleted, after the step that removes the
/// ServiceImport. Without such a step the API server has to confirm that there is none.
fn release_all(state: &ServiceState<'_>, gone: Option<StepId>, plan: &mut Plan) {
    let steps = status::release_exports(state).chain(claims::release_requests(state));
    let steps: Vec<_> = steps.collect();
    if steps.is_empty() {
        return;
    }
    let gone = gone
        .unwrap_or_else(|| plan.push(HUB.confirm_absent::<ServiceImport>(state.service.clone())));
    for step in steps {
        plan.push(step.after([gone]));
    }
}
