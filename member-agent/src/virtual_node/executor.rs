//! The controller of Pods of other members in the cluster that runs them.
//!
//! A key is what this cluster offers, one Pod of another member, or a namespace for such Pods.

mod affected;
mod cut_off;
mod equipment;
mod key;
mod namespace;
mod offer;
mod pod;
mod quota;
mod sources;
mod status;

use std::sync::Arc;

use fleet_accumulator::SourceSet;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event};
use jiff::Timestamp;

pub use cut_off::{CutOffController, RemotePod};
pub use key::Key;

use crate::Settings;
use crate::links::Links;
use crate::measurement::{Measurement, Plan};
use crate::refusals::Refusals;
use crate::snapshot::MemberSnapshot;
use crate::status_writes::StatusWrites;

/// Runs Pods of other members.
#[derive(Clone, Debug)]
pub struct ExecutorController {
    /// Plans depend on these beside the snapshot.
    pub settings: Settings,
    pub(crate) links: Arc<Links>,
    pub(crate) writes: Arc<StatusWrites>,
    pub(crate) refusals: Arc<Refusals>,
}

impl Controller for ExecutorController {
    type Snapshot = MemberSnapshot;
    type Key = Key;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        "virtual_node_executor"
    }

    fn required(&self) -> SourceSet {
        sources::required()
    }

    fn reads(&self) -> SourceSet {
        sources::reads()
    }

    fn affected_keys(&self, old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
        affected::affected(&self.settings.identity, old, new, keys);
    }

    fn plan(&self, key: &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        let Self { settings, links, writes, refusals } = self;
        match key {
            Key::Offer => offer::plan(settings, snapshot),
            Key::Pod(source) => {
                pod::plan(settings, (links, writes, refusals), source, snapshot, now)
            }
            Key::Namespace(name) => namespace::plan(links, name, snapshot),
        }
    }

    fn rejected(&self, key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let consent = crate::executors::consent(&self.settings.identity, snapshot);
        let about = |consent| LOCAL.rejected(consent, &format!("{key}: {reason}"));
        consent.map(about).into_iter().collect()
    }
}
