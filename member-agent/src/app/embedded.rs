//! An agent without a process of its own, for simulations: its controllers as [`app`](super) wires them, and what its tasks do
//! at one moment. The caller has the clocks, the watches and the connections.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_plan::Controller;
use jiff::Timestamp;

use crate::Settings;
use crate::export::{ExportController, is_complete};
use crate::fenced::Fenced;
use crate::hub_answers::HubAnswers;
use crate::hub_follower;
use crate::import::ImportController;
use crate::member_lease::{TrafficNotes, renewal};
use crate::membership::{self, MembershipController};
use crate::multicluster::export::StandardExportController;
use crate::multicluster::import::StandardImportController;
use crate::snapshot::MemberSnapshot;
use crate::tenure::Tenure;
use crate::traffic_memory::TrafficMemory;
use crate::traffic_status::TrafficStatusController;

/// Takes the controllers of an agent.
pub trait Host {
    /// Takes one.
    fn controller<C: Controller<Snapshot = MemberSnapshot>>(&mut self, controller: C);
}

/// Hands over the controllers of the fleet: fenced, and with one memory.
pub fn controllers(settings: &Settings, memory: &TrafficMemory, host: &mut impl Host) {
    let (identity, tenure) = (&settings.identity, Arc::new(Tenure::default()));
    let (own, memory_of) = (|| settings.clone(), || memory.clone());
    host.controller(Fenced::new(ExportController { settings: own() }, identity, &tenure));
    let import = ImportController { settings: own(), memory: memory_of() };
    host.controller(Fenced::new(import, identity, &tenure));
    if settings.multicluster.is_watched() {
        let export = StandardExportController { settings: own() };
        host.controller(Fenced::new(export, identity, &tenure).without_hub());
        let import = StandardImportController { settings: own(), memory: memory_of() };
        host.controller(Fenced::new(import, identity, &tenure).without_hub());
    }
    if settings.traffic.enabled {
        host.controller(TrafficStatusController { memory: memory_of() });
    }
    let membership = MembershipController { settings: own(), answers: HubAnswers::default() };
    host.controller(Fenced::new(membership, identity, &tenure).measured());
}

/// Looks which hub is to be followed, as the agent does each second.
pub fn follow_hub(settings: &Settings, snapshot: &MemberSnapshot, memory: &TrafficMemory) {
    hub_follower::look(settings, snapshot, memory);
}

/// What the next renewal of the Lease on the hub carries; `None` if the agent does not renew it.
pub fn lease_renewal(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    memory: &TrafficMemory,
    now: Timestamp,
) -> Option<BTreeMap<String, String>> {
    // No hub of a simulation refuses anything for good.
    let answers = HubAnswers::default();
    let complete = is_complete(settings, &answers, snapshot, now)
        && membership::is_published(settings, snapshot);
    let notes = TrafficNotes {
        memory: memory.clone(),
        is_complete: Box::new(move |_| complete),
        settle: settings.multicluster.settle,
    };
    renewal(&settings.identity, snapshot, Some(&notes))
}

/// What the Lease by which the agents of a cluster elect a leader carries for the next leader.
pub fn hand_on(memory: &TrafficMemory) -> BTreeMap<String, String> {
    memory.hand_on()
}

/// What a process that begins to lead reads there.
pub fn take_over(memory: &TrafficMemory, noted: BTreeMap<String, String>) {
    memory.take_over(noted);
}
