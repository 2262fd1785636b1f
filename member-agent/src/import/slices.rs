//! The EndpointSliceImport controller: slices that the hub distributed, bound to the derived
//! Service.

use std::collections::HashSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, events, finalizers, names};
use fleet_model::objects::{EndpointSlice, EndpointSliceImport};
use fleet_model::reference;
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::{Event, Plan, Step, StepId, Trace, deadline};

use super::content;
use super::latency;
use super::sanitize::{Sanitized, sanitize};
use super::stages::Prepared;
use super::state::{Mcs, ServiceState};
use super::system_namespace;

/// How long a slice that goes may wait for its successors.
pub(super) const HANDOVER: Duration = Duration::from_secs(5);

/// A derived Service, and the MultiClusterService it was made for.
#[derive(Clone, Copy)]
struct Bound<'a> {
    derived: &'a ObjectName,
    holder: &'a Mcs,
}

/// Where imported slices go.
enum Binding<'a> {
    /// To this derived Service.
    Bound(Bound<'a>),
    /// To a derived Service that is about to come: what is imported stays, nothing new is.
    Waiting,
    /// Nowhere: nobody here imports the Service.
    Unbound,
}

/// Imported slices that the hub has no copies of.
pub(super) fn orphans<'a>(state: &ServiceState<'a>) -> Vec<&'a Object<EndpointSlice>> {
    let copies: HashSet<_> = state.copies.iter().map(|copy| &*copy.name.name).collect();
    state.imported().filter(|slice| !copies.contains(&*slice.name.name)).collect()
}

/// Brings the imported slices in line with what the hub distributed; `orphans` go.
pub(super) fn sync(
    state: &ServiceState<'_>,
    holder: Option<&Mcs>,
    prepared: Option<&Prepared>,
    orphans: Vec<&Object<EndpointSlice>>,
    plan: &mut Plan,
) {
    let binding = binding(state, holder.zip(prepared));
    let (leaving, staying): (Vec<_>, Vec<_>) =
        state.copies.iter().copied().partition(|copy| copy.meta.is_terminating());
    let mut successors = Vec::new();
    let mut others_serve = false;
    for copy in staying {
        let name = state.in_system(&copy.name.name);
        let slice = state.snapshot.endpoint_slices.get(&name);
        others_serve |= slice.is_some_and(|slice| !slice.meta.is_terminating());
        match &binding {
            Binding::Bound(to) => successors.extend(import(state, copy, name, *to, plan)),
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
    plan.steps.extend(orphans.into_iter().filter_map(delete));
}

/// What a slice needs to bind (MESI-2, MESI-4, MESI-5). The label is right when nothing has to be written to the
/// MultiClusterService; until then the next plan binds.
fn binding<'a>(state: &ServiceState<'_>, prepared: Option<(&'a Mcs, &'a Prepared)>) -> Binding<'a> {
    let Some((holder, prepared)) = prepared else { return Binding::Unbound };
    let Some(name) = &prepared.derived else { return Binding::Waiting };
    let derived = state.snapshot.services.get(name);
    let live = derived.is_some_and(|derived| !derived.meta.is_terminating());
    if live && prepared.write.is_none() && names::is_dns1035_label(&name.name) {
        Binding::Bound(Bound { derived: name, holder })
    } else {
        Binding::Waiting
    }
}

fn import(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    name: ObjectName,
    to: Bound<'_>,
    plan: &mut Plan,
) -> Option<StepId> {
    let service = state.service;
    let current = state.snapshot.endpoint_slices.get(&name);
    let is_current = |content: &Sanitized<'_>| {
        current.is_some_and(|now| content::is_current(service, copy, content, now, to.derived))
    };
    if is_current(&Sanitized::as_it_came(&copy.spec)) {
        // It was sanitized when it was imported. The copy must not go before what was made of it.
        plan.steps.extend(guard(copy));
        return None;
    }
    let Some(sanitized) = sanitize(&copy.spec) else {
        plan.events.push(refused(to.holder, copy, copy.spec.address_type.as_str()));
        plan.steps.extend(current.filter(|slice| slice.is_imported()).and_then(delete));
        return None;
    };
    let left_out = sanitized.refused(&copy.spec);
    plan.events.extend(left_out.map(|left_out| refused(to.holder, copy, &left_out)));
    let body = || content::body(service, copy, &sanitized, to.derived);
    let step = match current {
        None if system_namespace::error(state.identity, state.snapshot).is_some() => None,
        None => Some(LOCAL.create::<EndpointSlice>(name, body())),
        // It blocks its successor; or somebody else's slice has the name.
        Some(current) if current.meta.is_terminating() || !current.is_imported() => None,
        Some(_) if is_current(&sanitized) => {
            plan.steps.extend(guard(copy));
            return None;
        }
        // This cannot be changed, so a successor has to take its place.
        Some(current) if current.address_type != *sanitized.address_type => delete(current),
        Some(current) => {
            let step = LOCAL.replace(current, body());
            Some(if content::loses(&sanitized, current) { step.urgent() } else { step })
        }
    };
    let step = step?;
    let guarded = guard(copy).map(|step| plan.push(step));
    // Endpoints that are here already did not arrive now.
    let arrives = step.action.verb() != "delete"
        && !current.is_some_and(|current| content::carries(&sanitized, current));
    let sample = latency::sample(copy, current).filter(|_| arrives);
    let step = step.stage("import").trace(Trace::Ends(copy.trace_context()));
    let step = step.after(guarded).sample(sample);
    let there = current.and_then(|current| content::generation(copy, current));
    reference::write(plan, step, copy.spec.endpoint_slice_reference.generation, there)
}

/// Our finalizer, before the effect, where a copy lacks it: a Go hub sets none, and somebody may take it away.
fn guard(copy: &Object<EndpointSliceImport>) -> Option<Step> {
    HUB.add_finalizer(copy, finalizers::ENDPOINT_SLICE_IMPORT)
}

/// Tells the user what of a slice is not imported.
fn refused(holder: &Mcs, copy: &Object<EndpointSliceImport>, what: &str) -> Event {
    let (slice, cluster) = (&copy.name.name, copy.origin());
    let note = format!(
        "skipped invalid entries of EndpointSlice {slice} from cluster {cluster:?} ({what})"
    );
    LOCAL.warning(holder, events::ENDPOINTS_REFUSED, note)
}

/// The imported slice goes, then our finalizer.
///
/// Where nothing else serves, the slice goes after its `successors`, so that clients always have an
/// endpoint; but a successor that cannot be made does not keep it for long.
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
        None if slice.is_some() => None, // Somebody else's slice has the name.
        None => Some(plan.push(LOCAL.confirm_absent::<EndpointSlice>(name))),
    };
    if let Some(release) = release {
        plan.push(release.after(undone));
    }
}

fn delete(slice: &Object<EndpointSlice>) -> Option<Step> {
    (!slice.meta.is_terminating()).then(|| LOCAL.delete(slice).urgent())
}
