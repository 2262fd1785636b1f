//! The EndpointSliceImport controller: slices that the hub distributed, bound to the derived
//! Service (spec 3.8 and 6.2).

use std::collections::BTreeMap;

use fleet_accumulator::Record;
use fleet_api::{ObjectName, annotations, finalizers, labels, names};
use fleet_model::ports;
use fleet_model::records::{EndpointSliceImportRecord, EndpointSliceRecord};
use fleet_model::steps::{HUB, LOCAL, add_finalizer, remove_finalizer, to_json};
use fleet_runtime::plan::{Plan, Step, StepId};
use serde_json::{Value, json};

use super::landing;
use super::latency;
use super::subject::Subject;
use super::wish::Prepared;

/// Where imported slices go.
enum Binding {
    /// To this derived Service.
    Bound(ObjectName),
    /// To a derived Service that is about to come: what is imported stays, nothing new is.
    Waiting,
    /// Nowhere: nobody here imports the Service.
    Unbound,
}

/// Brings the imported slices in line with what the hub distributed.
pub(super) fn sync(subject: &Subject<'_>, prepared: Option<&Prepared>, plan: &mut Plan) {
    let binding = binding(subject, prepared);
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
            Binding::Bound(derived) => import(subject, copy, name, derived, plan),
            Binding::Waiting => {}
            Binding::Unbound => plan.steps.extend(slice.and_then(delete)),
        }
    }
    plan.steps.extend(surplus.into_values().filter_map(delete));
}

/// The guards of spec 3.8 rows 4 and 5. The label is right when nothing has to be written to the
/// MultiClusterService; until then the next plan binds.
fn binding(subject: &Subject<'_>, prepared: Option<&Prepared>) -> Binding {
    let Some(prepared) = prepared else { return Binding::Unbound };
    let Some(name) = &prepared.derived else { return Binding::Waiting };
    let derived = subject.snapshot.services.get(name);
    let live = derived.is_some_and(|derived| !derived.meta.is_terminating());
    if live && prepared.write.is_none() && names::is_dns1035_label(&name.name) {
        Binding::Bound(name.clone())
    } else {
        Binding::Waiting
    }
}

fn import(
    subject: &Subject<'_>,
    copy: &Record<EndpointSliceImportRecord>,
    name: ObjectName,
    derived: &ObjectName,
    plan: &mut Plan,
) {
    let current = subject.snapshot.endpoint_slices.get(&name);
    let step = match current {
        None if landing::obstacle(subject.identity, subject.snapshot).is_some() => None,
        None => Some(LOCAL.create::<EndpointSliceRecord>(name, body(subject, copy, derived))),
        // It blocks its successor; or somebody else's slice has the name.
        Some(current) if current.meta.is_terminating() || !current.is_imported() => None,
        Some(current) if is_current(subject, copy, current, derived) => None,
        Some(current) => {
            let step = LOCAL.replace(current, body(subject, copy, derived));
            Some(if loses_endpoints(copy, current) { step.urgent() } else { step })
        }
    };
    let Some(step) = step else { return };
    // A copy made by a Go hub carries no finalizer of ours yet; it gets one before the effect.
    let operations = add_finalizer(&copy.meta, finalizers::ENDPOINT_SLICE_IMPORT);
    let guarded = (!operations.is_empty()).then(|| plan.push(HUB.patch(copy, operations)));
    plan.push(step.after(guarded).stage("import").sample(latency::sample(copy, current)));
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

fn is_current(
    subject: &Subject<'_>,
    copy: &Record<EndpointSliceImportRecord>,
    current: &Record<EndpointSliceRecord>,
    derived: &ObjectName,
) -> bool {
    current.plain
        && current.ready == copy.spec.endpoints
        && ports::same_in_slices(&current.ports, &copy.spec.ports)
        && current.meta.label(labels::SERVICE_NAME) == Some(&derived.name)
        && current.meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_IMPORT)
        && current.imported_for().as_ref() == Some(subject.service)
}

fn loses_endpoints(
    copy: &Record<EndpointSliceImportRecord>,
    current: &Record<EndpointSliceRecord>,
) -> bool {
    current.ready.iter().any(|endpoint| !copy.spec.endpoints.contains(endpoint))
}

/// The whole slice: labels, addresses only, and the mark of the generation it carries.
fn body(
    subject: &Subject<'_>,
    copy: &Record<EndpointSliceImportRecord>,
    derived: &ObjectName,
) -> Value {
    let generation = copy.spec.endpoint_slice_reference.generation.to_string();
    json!({
        "metadata": {
            "labels": {
                labels::SERVICE_NAME: derived.name,
                labels::MANAGED_BY: labels::MANAGED_BY_IMPORT,
            },
            "annotations": {
                annotations::FLEET_SERVICE: subject.service.to_string(),
                annotations::LAST_OBSERVED_GENERATION: generation,
            },
        },
        "addressType": copy.spec.address_type,
        "endpoints": to_json(&copy.spec.endpoints),
        "ports": to_json(&copy.spec.ports),
    })
}
