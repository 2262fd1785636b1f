//! The EndpointSliceImport controller: slices that the hub distributed, bound to the derived
//! Service (spec 3.8 and 6.2).

use std::collections::BTreeMap;

use fleet_accumulator::Record;
use fleet_api::{ObjectName, events, finalizers, names};
use fleet_model::records::{EndpointSliceImportRecord, EndpointSliceRecord};
use fleet_model::steps::{HUB, LOCAL, add_finalizer, remove_finalizer};
use fleet_runtime::plan::{Event, Plan, Step, StepId};

use super::admit::{Admitted, admit};
use super::content;
use super::landing;
use super::latency;
use super::orphans;
use super::subject::{Subject, Wish};
use super::wish::Prepared;

/// A derived Service, and the wish it was made for.
#[derive(Clone, Copy)]
struct Bound<'a> {
    derived: &'a ObjectName,
    holder: &'a Wish,
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

/// Brings the imported slices in line with what the hub distributed.
pub(super) fn sync(
    subject: &Subject<'_>,
    holder: Option<&Wish>,
    prepared: Option<&Prepared>,
    plan: &mut Plan,
) {
    let binding = binding(subject, holder.zip(prepared));
    let mut surplus: BTreeMap<_, _> =
        subject.imported().map(|slice| (slice.name.clone(), slice)).collect();
    for copy in &subject.copies {
        let name = subject.in_system(&copy.name.name);
        surplus.remove(&name);
        let slice = subject.snapshot.endpoint_slices.get(&name);
        if copy.meta.is_terminating() {
            unimport(copy, name, slice, plan);
            continue;
        }
        match &binding {
            Binding::Bound(to) => import(subject, copy, name, *to, plan),
            Binding::Waiting => {}
            Binding::Unbound => plan.steps.extend(slice.and_then(delete)),
        }
    }
    let kept = holder.is_some_and(|holder| orphans::keep(subject, holder, surplus.len(), plan));
    if !kept {
        plan.steps.extend(surplus.into_values().filter_map(delete));
    }
}

/// The guards of spec 3.8 rows 4 and 5. The label is right when nothing has to be written to the
/// MultiClusterService; until then the next plan binds.
fn binding<'a>(subject: &Subject<'_>, prepared: Option<(&'a Wish, &'a Prepared)>) -> Binding<'a> {
    let Some((holder, prepared)) = prepared else { return Binding::Unbound };
    let Some(name) = &prepared.derived else { return Binding::Waiting };
    let derived = subject.snapshot.services.get(name);
    let live = derived.is_some_and(|derived| !derived.meta.is_terminating());
    if live && prepared.write.is_none() && names::is_dns1035_label(&name.name) {
        Binding::Bound(Bound { derived: name, holder })
    } else {
        Binding::Waiting
    }
}

fn import(
    subject: &Subject<'_>,
    copy: &Record<EndpointSliceImportRecord>,
    name: ObjectName,
    to: Bound<'_>,
    plan: &mut Plan,
) {
    let service = subject.service;
    let current = subject.snapshot.endpoint_slices.get(&name);
    let is_current = |content: &Admitted<'_>| {
        current.is_some_and(|now| content::is_current(service, copy, content, now, to.derived))
    };
    if is_current(&Admitted::as_it_came(&copy.spec)) {
        // It was admitted when it was imported. The copy must not go before what was made of it.
        plan.steps.extend(guard(copy));
        return;
    }
    let Some(admitted) = admit(&copy.spec) else {
        plan.events.push(refused(to.holder, copy, copy.spec.address_type.as_str()));
        plan.steps.extend(current.filter(|slice| slice.is_imported()).and_then(delete));
        return;
    };
    let left_out = admitted.refused(&copy.spec);
    plan.events.extend(left_out.map(|left_out| refused(to.holder, copy, &left_out)));
    let body = || content::body(service, copy, &admitted, to.derived);
    let step = match current {
        None if landing::obstacle(subject.identity, subject.snapshot).is_some() => None,
        None => Some(LOCAL.create::<EndpointSliceRecord>(name, body())),
        // It blocks its successor; or somebody else's slice has the name.
        Some(current) if current.meta.is_terminating() || !current.is_imported() => None,
        Some(_) if is_current(&admitted) => return plan.steps.extend(guard(copy)),
        // This cannot be changed, so a successor has to take its place.
        Some(current) if current.address_type != *admitted.address_type => delete(current),
        Some(current) => {
            let step = LOCAL.replace(current, body());
            Some(if content::loses(&admitted, current) { step.urgent() } else { step })
        }
    };
    let Some(step) = step else { return };
    let guarded = guard(copy).map(|step| plan.push(step));
    // Endpoints that are here already did not arrive now.
    let arrives = step.action.verb() != "delete"
        && !current.is_some_and(|current| content::carries(&admitted, current));
    let sample = latency::sample(copy, current).filter(|_| arrives);
    plan.push(step.after(guarded).stage("import").sample(sample));
}

/// Our finalizer, before the effect, where a copy lacks it: a Go hub sets none, and somebody may take it away.
fn guard(copy: &Record<EndpointSliceImportRecord>) -> Option<Step> {
    let operations = add_finalizer(&copy.meta, finalizers::ENDPOINT_SLICE_IMPORT);
    (!operations.is_empty()).then(|| HUB.patch(copy, operations))
}

/// Tells the user what of a slice is not imported.
fn refused(holder: &Wish, copy: &Record<EndpointSliceImportRecord>, what: &str) -> Event {
    let (slice, cluster) = (&copy.name.name, content::origin(copy));
    let note = format!(
        "slice {slice} of cluster {cluster:?} has what no cluster should take, which is not \
         imported ({what})"
    );
    LOCAL.warning(holder, events::ENDPOINTS_REFUSED, note)
}

/// The imported slice goes, then our finalizer.
fn unimport(
    copy: &Record<EndpointSliceImportRecord>,
    name: ObjectName,
    slice: Option<&Record<EndpointSliceRecord>>,
    plan: &mut Plan,
) {
    let operations = remove_finalizer(&copy.meta, finalizers::ENDPOINT_SLICE_IMPORT);
    let undone: Option<StepId> = match slice.filter(|slice| slice.is_imported()) {
        Some(slice) => delete(slice).map(|step| plan.push(step)),
        None if operations.is_empty() => None,
        None if slice.is_some() => None, // Somebody else's slice has the name.
        None => Some(plan.push(LOCAL.confirm_absent::<EndpointSliceRecord>(name))),
    };
    if !operations.is_empty() {
        plan.push(HUB.patch(copy, operations).after(undone));
    }
}

fn delete(slice: &Record<EndpointSliceRecord>) -> Option<Step> {
    (!slice.meta.is_terminating()).then(|| LOCAL.delete(slice).urgent())
}
