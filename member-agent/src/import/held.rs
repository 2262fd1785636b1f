//! What stays of an import because the hub is another one than that which is followed.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::events;
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};
use fleet_model::steps::LOCAL;

use super::latency;
use super::state::{Mcs, ServiceState};
use crate::measurement::Plan;
use crate::other_hub::{OtherHub, origin};

/// How often it is looked whether that is over.
const AGAIN: Duration = Duration::from_secs(5);

/// Keeps all slices that the hub lacks, and adds an Event for the user. That an exporter has published is no reason to let them go at
/// once: the hub agent may have yet to grant the import, or to distribute its slices.
pub(super) fn keep(
    other: OtherHub<'_>,
    holder: &Mcs,
    orphans: &mut Vec<&Object<EndpointSlice>>,
    plan: &mut Plan,
) {
    plan.wake_within(AGAIN);
    let missing = orphans.iter().filter_map(|slice| origin(slice));
    let mut missing: Vec<_> = missing.filter(|cluster| !other.may_forget(cluster)).collect();
    missing.sort_unstable();
    missing.dedup();
    if other.is_inconsistent() && !missing.is_empty() {
        let note = "the address of the hub leads to more than one: endpoints that one of them lacks are kept";
        plan.events.push(LOCAL.warning(holder, events::HUB_INCONSISTENT, note));
    } else if !missing.is_empty() {
        let note = format!(
            "the hub is another one than before, or an earlier one, and lacks endpoints of {}: they are kept until that member has \
             published them again, or an administrator runs fleetctl forget",
            missing.join(", ")
        );
        plan.events.push(LOCAL.warning(holder, events::IMPORTS_KEPT, note));
    }
    orphans.clear();
}

/// Whether a copy has to wait whose slice is not here yet, or is of a later generation: the hub may have it from an earlier time. While
/// two hubs answer, all of them do: which of them has the present content is not known.
pub(super) fn waits(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    current: Option<&Object<EndpointSlice>>,
) -> bool {
    let Some(hub) = state.other_hub else { return false };
    // On another hub the exported slice has another uid.
    let is_older = |current: &Object<EndpointSlice>| {
        let there = latency::observed(&current.meta);
        there.is_some_and(|there| copy.spec.endpoint_slice_reference.generation < there)
    };
    hub.is_inconsistent() || (current.is_none_or(is_older) && hub.is_outdated(copy.origin()))
}
