//! The EndpointSliceImport controller: slices that the hub distributed, bound to the derived
//! Service.

use std::collections::HashSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, ServiceImportStatus, finalizers};
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};
use fleet_model::reference;
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::{Account, StepId, Trace, deadline};

use super::binding::{Binding, Bound, binding};
use super::finalizer::{delete, guard};
use super::skipped::{report, skipped};
use super::stages::Prepared;
use super::state::{Mcs, ServiceState};
use super::{content, directed, held, latency, reservations, system_namespace};
use crate::measurement::Plan;
use crate::reserved::Reservations;
use crate::sanitize::{Sanitized, sanitize};

/// Longest time that a slice which is withdrawn waits for its successors.
pub(super) const HANDOVER: Duration = Duration::from_secs(5);

/// Imported slices that the hub has no copies of.
pub(super) fn orphans<'a>(state: &ServiceState<'a>) -> Vec<&'a Object<EndpointSlice>> {
    let copies: HashSet<_> = state.copies.iter().map(|copy| &*copy.name.name).collect();
    let lacks_copy = |slice: &&Object<EndpointSlice>| !copies.contains(&*slice.name.name);
    state.imported().filter(lacks_copy).filter(|slice| !has_unreadable_copy(state, slice)).collect()
}

/// Whether the hub has a copy that names no Service, as one that cannot be decoded: the hub agent restores or deletes it,
/// and until then its endpoints stay as they are.
fn has_unreadable_copy(state: &ServiceState<'_>, slice: &Object<EndpointSlice>) -> bool {
    let copy = state.snapshot.slice_imports.get(&state.identity.copy_of(&slice.name));
    copy.is_some_and(|copy| copy.spec.owner_service_reference.object().is_none())
}

/// Brings the imported slices in line with those that the hub distributed, and deletes `orphans`.
pub(super) fn sync(
    state: &ServiceState<'_>,
    holder: Option<&Mcs>,
    prepared: Option<&Prepared>,
    granted: Option<&ServiceImportStatus>,
    orphans: Vec<&Object<EndpointSlice>>,
    plan: &mut Plan,
) {
    let binding = binding(state, holder.zip(prepared));
    let (mut leaving, staying): (Vec<_>, Vec<_>) =
        state.copies.iter().copied().partition(|copy| copy.meta.is_terminating());
    if state.other_hub.is_some_and(|hub| hub.is_inconsistent()) {
        leaving.clear();
    }
    let reserved = reservations::of(state);
    let mut successors = Vec::new();
    let mut others_serve = false;
    if let Some(ground) = &state.ground
        && let Binding::Bound(to) = &binding
    {
        let set = directed::Set { reserved: &reserved, staying: &staying, granted };
        successors = directed::sync(state, ground, &set, *to, &orphans, plan);
    }
    let is_directed = state.ground.is_some();
    for copy in staying {
        let name = state.in_system(&copy.name.name);
        let slice = state.snapshot.endpoint_slices.get(&name);
        others_serve |= slice.is_some_and(|slice| !slice.meta.is_terminating());
        match &binding {
            Binding::Bound(_) if is_directed => {}
            Binding::Bound(to) => {
                successors.extend(import(state, &reserved, copy, name, *to, plan));
            }
            Binding::Waiting => {}
            Binding::Unbound => plan.steps.extend(slice.and_then(delete)),
        }
    }
    if others_serve {
        successors.clear();
    }
    for copy in leaving {
        let name = state.in_system(&copy.name.name);
        unimport(state, copy, name, &successors, plan);
    }
    let imported = !matches!(binding, Binding::Unbound);
    for orphan in orphans {
        withdraw(state, orphan, imported, plan);
    }
}

/// Deletes an imported slice that the hub has no copy of. Of one that is `imported` the hub's API server has to confirm
/// that: another agent of this member, as there is in an update that overlaps, may have seen the copy before this one.
fn withdraw(
    state: &ServiceState<'_>,
    orphan: &Object<EndpointSlice>,
    imported: bool,
    plan: &mut Plan,
) {
    let Some(step) = delete(orphan) else { return };
    let copy = state.identity.copy_of(&orphan.name);
    // A copy that this agent sees under the name is of another Service.
    let unseen = imported && state.snapshot.slice_imports.get(&copy).is_none();
    let absent =
        unseen.then(|| plan.push(HUB.confirm_absent::<EndpointSliceImport>(copy).urgent()));
    plan.push(step.after(absent));
}

fn import<'a>(
    state: &'a ServiceState<'a>,
    reserved: &Reservations<'a>,
    copy: &'a Object<EndpointSliceImport>,
    name: ObjectName,
    to: Bound<'_>,
    plan: &mut Plan,
) -> Option<StepId> {
    let service = state.service;
    let current = state.snapshot.endpoint_slices.get(&name);
    if held::waits(state, copy, current) {
        return None;
    }
    let is_current = |content: &Sanitized<'_>| {
        current.is_some_and(|now| content::is_current(service, copy, content, now, to.derived))
    };
    if is_current(&Sanitized::unchecked(&copy.spec)) {
        // It was checked when it was imported. The copy must not be deleted before its imported slice.
        plan.steps.extend(guard(copy));
        return None;
    }
    let verdict = |address| reserved.verdict(copy.origin(), address);
    let Some(sanitized) = sanitize(&copy.spec, verdict) else {
        plan.events.push(skipped(to.holder, copy, copy.spec.address_type.as_str()));
        plan.steps.extend(current.filter(|slice| slice.is_imported()).and_then(delete));
        return None;
    };
    report(to.holder, copy, (&copy.spec, &sanitized), plan);
    let body = || content::body(service, copy, &sanitized, to.derived);
    let step = match current {
        None if system_namespace::error(state.identity, state.snapshot).is_some() => None,
        None => Some(LOCAL.create::<EndpointSlice>(name, body())),
        // It blocks its successor, or the name belongs to a slice that was not imported.
        Some(current) if current.meta.is_terminating() || !current.is_imported() => None,
        Some(_) if is_current(&sanitized) => {
            plan.steps.extend(guard(copy));
            return None;
        }
        // The address type is immutable, so the slice is replaced by another object.
        Some(current) if current.address_type != *sanitized.address_type => delete(current),
        Some(current) => {
            let step = content::replace(current, body());
            Some(if content::loses(&sanitized, current) { step.urgent() } else { step })
        }
    };
    let step = step?;
    let guarded = guard(copy).map(|step| plan.push(step));
    // Only a write that changes endpoints or ports is measured.
    let arrives = step.action.verb() != "delete"
        && !current.is_some_and(|current| content::carries(&sanitized, current));
    let imported = latency::imported(copy, current).filter(|_| arrives);
    let step = step.stage("import").trace(Trace::Ends(copy.trace_context()));
    let step = step.on_account_of(&Account::from(copy.origin())).after(guarded);
    let there = current.and_then(|current| content::generation(copy, current));
    let written =
        reference::write(plan, step, copy.spec.endpoint_slice_reference.generation, there)?;
    if let Some(imported) = imported {
        plan.measure_after(written, imported);
    }
    Some(written)
}

/// Deletes the imported slice, then removes this agent's finalizer from the copy.
///
/// If no other slice serves, it is deleted after its `successors` exist, so that clients always have an endpoint; it
/// waits for a successor that cannot be created for [`HANDOVER`] at most.
fn unimport(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    name: ObjectName,
    successors: &[StepId],
    plan: &mut Plan,
) {
    let slice = state.snapshot.endpoint_slices.get(&name);
    let waits = copy.meta.deleted.and_then(|since| deadline::remaining(since, HANDOVER, state.now));
    let successors = waits.map_or(&[][..], |_| successors);
    let release = HUB.remove_finalizer(copy, finalizers::ENDPOINT_SLICE_IMPORT);
    let undone: Option<StepId> = match slice.filter(|slice| slice.is_imported()) {
        Some(slice) => delete(slice).map(|step| plan.push(step.after(successors.iter().copied()))),
        None if release.is_none() => None,
        None if slice.is_some() => None, // The name belongs to a slice that was not imported.
        None => Some(plan.push(LOCAL.confirm_absent::<EndpointSlice>(name))),
    };
    if let Some(release) = release {
        plan.push(release.after(undone));
    }
}
