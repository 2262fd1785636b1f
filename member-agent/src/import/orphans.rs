//! Imported slices whose EndpointSliceImports on the hub are gone.
//!
//! A copy on the hub has this agent's finalizer until its imported slice is deleted, so one that disappears
//! before is an accident. If few are gone, their slices are deleted. Many at once mean that the hub has lost its
//! data: then the slices are kept, so that traffic continues, until their copies return, the Service is no longer
//! imported, or a user deletes the slices.

use std::time::Duration;

use fleet_accumulator::{MassDeletionLimits, Snapshot as _};
use fleet_api::events;
use fleet_model::objects::HasMeta;
use fleet_model::steps::LOCAL;

use super::state::{Mcs, ServiceState};
use crate::Identity;
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// How often a Service with kept slices is planned again: slices of other Services do not affect its key.
const AGAIN: Duration = Duration::from_mins(1);

/// The number of imported slices that are kept although their copies are gone; 0 if only few are gone. It reads all
/// imported slices, so it is called only for a Service with such a slice; on a hub that has lost all that is each one, so both kinds
/// are read once, in their common order.
fn kept(identity: &Identity, snapshot: &MemberSnapshot) -> usize {
    let (mut all, mut lost) = (0, 0);
    let copies = snapshot.slice_imports.in_namespace(&identity.hub_namespace);
    let mut copies = copies.map(|copy| &copy.name.name).peekable();
    let slices = snapshot.endpoint_slices.in_namespace(&identity.system_namespace);
    for slice in slices.filter(|slice| slice.is_imported() && !slice.meta().is_terminating()) {
        let name = &slice.name.name;
        while copies.next_if(|copy| *copy < name).is_some() {}
        all += 1;
        lost += usize::from(copies.next_if_eq(&name).is_none());
    }
    if MassDeletionLimits::default().exceeded_by(lost, all) { lost } else { 0 }
}

/// Whether slices whose copies are gone are kept. If so, adds an Event for the user.
pub(super) fn keep(state: &ServiceState<'_>, holder: &Mcs, count: usize, plan: &mut Plan) -> bool {
    let kept = if count == 0 { 0 } else { kept(state.identity, state.snapshot) };
    if kept == 0 {
        return false;
    }
    plan.wake_within(AGAIN);
    let note = "the hub has lost the EndpointSliceImports of this service and of many others; the \
                imported EndpointSlices are kept until those return or a user deletes the slices";
    plan.events.push(LOCAL.warning(holder, events::IMPORTS_KEPT, note));
    true
}

/// How many imported slices are kept although the hub has lost what they came from; 0 while the hub's slices are not
/// followed.
pub fn kept_imports(identity: &Identity, snapshot: &MemberSnapshot) -> usize {
    let followed = snapshot.state(MemberSnapshot::slice_imports()).is_live();
    if followed { kept(identity, snapshot) } else { 0 }
}
