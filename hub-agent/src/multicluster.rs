//! The controller of Services that members export by the standard API, of multicluster.x-k8s.io.
//!
//! Members write what they export, as ExportedServices, into their own namespaces. The hub agent makes of all exports of a Service
//! one ResolvedService, which states what is in force, whose endpoints form the Service and who differs in what. Members read that
//! and each other's exported slices directly: the hub agent copies nothing.

mod evidence;
mod exports;
mod keys;
mod places;
mod refusal;
mod resolved;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use fleet_accumulator::SourceSet;
use fleet_model::steps::HUB;
use fleet_plan::{Affected, Controller, Event, Plan};
use jiff::Timestamp;

pub use keys::Key;
pub use places::refused;

use crate::Settings;
use crate::snapshot::HubSnapshot;
use crate::verdicts::{self, Verdicts};

/// Resolves Services that members export by the standard API.
#[derive(Clone, Debug, Default)]
pub struct MulticlusterController {
    /// Settings that plans depend on.
    pub settings: Settings,
}

impl Controller for MulticlusterController {
    type Snapshot = HubSnapshot;
    type Key = Key;
    type Measurement = Infallible;

    fn name(&self) -> &'static str {
        "multicluster"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([
            HubSnapshot::exported_services(),
            HubSnapshot::resolved_services(),
            HubSnapshot::slice_exports(),
            HubSnapshot::cluster_reports(),
            HubSnapshot::member_policies(),
            HubSnapshot::namespaces(),
        ])
    }

    fn reads(&self) -> SourceSet {
        self.required().union(Verdicts::sources(&self.settings))
    }

    fn affected_keys(&self, old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
        let touched = keys::affected(old, new, keys);
        let exports = (&old.exported_services, &new.exported_services);
        places::affected(exports, &touched, self.settings.max_services_per_member, keys);
        for member in verdicts::affected(&self.settings, old, new) {
            keys::of_member(new, &member, keys);
        }
    }

    fn plan(&self, key: &Key, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        match key {
            Key::Service(service) => {
                let exports = exports::of(&self.settings, service, snapshot, now);
                resolved::plan(&self.settings, service, &exports, snapshot, now, &mut plan);
            }
            Key::Invalid(name) => refusal::of_nothing(name, snapshot, now, &mut plan),
        }
        plan
    }

    fn blocked(&self, snapshot: &HubSnapshot, reason: &str) -> Vec<Event> {
        snapshot.exported_services.iter().map(|export| HUB.blocked(export, reason)).collect()
    }
}
