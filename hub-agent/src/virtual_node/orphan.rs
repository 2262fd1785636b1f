//! Imports without an export.
//!
//! An export has a finalizer that goes after its import, so one that is simply gone was lost: with the data of the hub, or because
//! a user has removed the finalizer. Its origin writes it again if the Pod is to run. What is not written again is stopped, not at
//! once, and later still if it is much.

use std::collections::BTreeMap;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::names::member_namespace;
use fleet_api::offload::LinkState;
use fleet_model::objects::offload::{Hearing, PodImport};
use fleet_plan::Plan;
use fleet_virtual_node::hub::hand_over;
use fleet_virtual_node::life::Fuse;
use jiff::Timestamp;

use super::evidence::{LONG_PAUSE, PAUSE, shows_absence};
use super::import::{hub_import, nowhere, silent_for_good};
use super::{members, steps};
use crate::snapshot::HubSnapshot;

pub(super) fn plan(
    import: &Object<PodImport>,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let actions = hand_over(None, Some(&hub_import(import)), &nowhere(), now);
    let missing: Vec<_> =
        actions.into_iter().filter_map(|action| steps::of_import(import, action)).collect();
    let Some((origin, _)) = PodImport::source(&import.name.name) else { return };
    if import.stop.is_some() || import.meta.is_terminating() {
        plan.steps.extend(missing);
        return;
    }
    let is_gone = silent_for_good(origin, import, snapshot, now, plan);
    if is_gone {
        plan.steps.extend(missing);
    } else if shows_absence(snapshot) && could_write(origin, snapshot) {
        let pause = if are_many(import, snapshot) { LONG_PAUSE } else { PAUSE };
        for step in missing {
            plan.debounce(pause, "the export of an import is gone", step);
        }
    }
}

/// Whether the origin would have written its export again, if it had one. A member that has left the fleet has none.
fn could_write(origin: &str, snapshot: &HubSnapshot) -> bool {
    let heard = snapshot.hearing.get(&Hearing::name(origin));
    heard.is_some_and(|heard| heard.state == LinkState::Connected)
        || !members::has_namespace(origin, snapshot)
}

/// Whether so many imports of the executor have lost their exports that more probably the hub has.
fn are_many(import: &Object<PodImport>, snapshot: &HubSnapshot) -> bool {
    let all = snapshot.pod_imports.tally(&import.name.namespace);
    let here = snapshot.pod_imports.in_namespace(&import.name.namespace);
    let lost = here.filter(|import| !import.status.released && !has_export(import, snapshot));
    Fuse::default().is_much(lost.count(), all)
}

fn has_export(import: &Object<PodImport>, snapshot: &HubSnapshot) -> bool {
    let Some((origin, uid)) = PodImport::source(&import.name.name) else { return false };
    snapshot.pod_exports.get(&ObjectName::new(member_namespace(origin), uid)).is_some()
}

/// How many imports have no export and are kept, and for how many executors they are so many that they are kept longer.
pub(super) fn withheld(snapshot: &HubSnapshot) -> (usize, usize) {
    let kept = |import: &&Object<PodImport>| import.stop.is_none() && !import.meta.is_terminating();
    let lost = snapshot.pod_imports.iter().filter(kept);
    let mut by_executor: BTreeMap<&str, usize> = BTreeMap::new();
    for import in lost.filter(|import| !has_export(import, snapshot)) {
        *by_executor.entry(&import.name.namespace).or_default() += 1;
    }
    let is_much = |(namespace, lost): (&&str, &usize)| {
        Fuse::default().is_much(*lost, snapshot.pod_imports.tally(namespace))
    };
    let open = by_executor.iter().filter(|one| is_much(*one)).count();
    (by_executor.values().sum(), open)
}
