//! Which slices go to which importer.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{Endpoint, ExportedSliceSpec, ObjectName, events, finalizers};
use fleet_model::endpoints::loses;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::{EndpointSliceExport, EndpointSliceImport};
use fleet_model::steps::{HUB, to_json};
use fleet_model::{reference, served};
use fleet_plan::json_patch::{add_finalizer, remove_finalizer};
use fleet_plan::{Plan, Step, StepId, Trace};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::claims::{Grant, Importers};
use super::handover::{Handover, RemovalTiming};
use super::keys::FromMember;
use super::origin;
use super::resolution::{PortResolution, Resolved};
use super::state::{Owned, ServiceState};

type Slice<'a> = Owned<'a, EndpointSliceExport>;

/// A slice that an importer should get.
struct DesiredSlice<'a> {
    slice: Slice<'a>,
    /// What its copy waits for; `None` where it may stay, but not be written.
    after: Option<Vec<StepId>>,
}

/// New copies of each importer.
type Created = BTreeMap<Arc<str>, Vec<StepId>>;

/// What should lie where. Two members may offer slices of one name; the older slice comes first.
type DesiredSlices<'a> = BTreeMap<ObjectName, Vec<DesiredSlice<'a>>>;

/// Brings the importers' copies in line with what accepted members export.
pub(super) fn sync(
    state: &ServiceState<'_>,
    resolution: &PortResolution<'_>,
    resolved: &Resolved<'_>,
    importers: &Importers<'_>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let mut wanted = wanted(state, resolved, importers, plan);
    let handover = Handover::of(state, resolution, importers, !wanted.is_empty(), now);
    let mut unwanted = Vec::new();
    for copy in &state.slice_imports {
        let desired = wanted.remove(&copy.name).unwrap_or_default();
        if !keep(state, copy, &desired, plan) {
            unwanted.push(*copy);
        }
    }
    let mut created = Created::new();
    for (name, desired) in wanted {
        if namespace_accepts_objects(&state.snapshot.namespaces, &name.namespace) {
            let importer = Arc::clone(&name.namespace);
            created.entry(importer).or_default().extend(create(state, name, &desired, plan));
        }
    }
    let parted = part(state, &handover, unwanted, &created, resolved.status_write, plan);
    release_leaving(state, &parted, plan);
}

/// Takes copies away that nothing is offered for, each when its time has come.
fn part<'a>(
    state: &ServiceState<'_>,
    handover: &Handover<'_>,
    unwanted: Vec<&'a Object<EndpointSliceImport>>,
    created: &Created,
    status_write: Option<StepId>,
    plan: &mut Plan,
) -> Parted<'a> {
    let mut parted = Parted::default();
    for copy in unwanted {
        let successors = match handover.removal_timing(copy) {
            RemovalTiming::Keep(left) => {
                parted.kept.push(&copy.name);
                plan.wake_within(left);
                continue;
            }
            RemovalTiming::AfterSuccessor => created.get(&copy.name.namespace),
            RemovalTiming::Now => None,
        };
        let successors = successors.into_iter().flatten().copied();
        // As long as the ServiceImport names a member that still exports, importers may have its endpoints.
        let told = status_write.filter(|_| handover.refuses(copy.origin()));
        parted.withdrawn.extend(withdraw_copy(state, copy, successors.chain(told), plan));
    }
    parted
}

/// No importer keeps a copy of anything.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) {
    let copies = state.slice_imports.iter();
    let withdrawn = copies.filter_map(|copy| withdraw_copy(state, copy, [], plan)).collect();
    release_leaving(state, &Parted { withdrawn, kept: Vec::new() }, plan);
}

fn wanted<'a>(
    state: &ServiceState<'a>,
    resolved: &Resolved<'_>,
    importers: &Importers<'_>,
    plan: &mut Plan,
) -> DesiredSlices<'a> {
    let mut wanted = DesiredSlices::new();
    if importers.is_empty() {
        return wanted;
    }
    for slice in &state.slice_exports {
        let accepted = resolved.accepted.iter().find(|(member, _)| *member == slice.member);
        let travels = !slice.object.meta.is_terminating() && carries(state, slice) != Some(false);
        let Some((_, judged)) = accepted.filter(|_| travels) else {
            continue;
        };
        let guarded = guard(slice).map(|step| plan.push(step));
        for (namespace, grant) in importers {
            let name = ObjectName::new(*namespace, slice.object.name.name.clone());
            let claimed = if let Grant::GainedBy(step) = grant { Some(*step) } else { None };
            let needs = [resolved.status_write, *judged, claimed, guarded];
            let after = needs.into_iter().flatten().collect();
            let after = Some(after).filter(|_| *grant != Grant::Pending);
            wanted.entry(name).or_default().push(DesiredSlice { slice: *slice, after });
        }
    }
    wanted
}

fn carries(state: &ServiceState<'_>, slice: &Slice<'_>) -> Option<bool> {
    served::carries(state.served, &slice.object.spec.address_type)
}

/// A slice exported by a Go member carries no finalizer of the hub yet; it gets one before a copy.
fn guard(slice: &Slice<'_>) -> Option<Step> {
    let operations = add_finalizer(&slice.object.meta, finalizers::ENDPOINT_SLICE_EXPORT);
    (!operations.is_empty()).then(|| HUB.patch(slice.object, operations))
}

/// Brings a copy in line with the slice it was made from; false if that is none of `offers`.
fn keep(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    desired: &[DesiredSlice<'_>],
    plan: &mut Plan,
) -> bool {
    let (own, others): (Vec<_>, Vec<_>) =
        desired.iter().partition(|desired| origin::is_from(copy, &desired.slice));
    report_taken(others, plan);
    // A terminating copy blocks its successor.
    if let Some(desired) = own.first().filter(|_| !copy.meta.is_terminating()) {
        update(state, copy, desired, plan);
    }
    !own.is_empty()
}

/// Makes a copy where this Service has none. One that is there says that it is of another Service,
/// which is true or somebody's work.
fn create(
    state: &ServiceState<'_>,
    name: ObjectName,
    desired: &[DesiredSlice<'_>],
    plan: &mut Plan,
) -> Option<StepId> {
    if let Some(there) = state.copies_named(&name.name).find(|copy| copy.name == name) {
        keep(state, there, desired, plan);
        return None;
    }
    let (first, others) = desired.split_first()?;
    report_taken(others, plan);
    let after = first.after.clone().filter(|_| carries(state, &first.slice) == Some(true))?;
    let step = HUB.create::<EndpointSliceImport>(name, body(state, &first.slice, &[]));
    Some(plan.push(distributed(step.after(after), &first.slice)))
}

fn update(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    desired: &DesiredSlice<'_>,
    plan: &mut Plan,
) {
    let carried = &copy.spec.draining_endpoints;
    let wanted = spec(state, &desired.slice, carried);
    let is_right = copy.spec == wanted && origin::is_right(copy, &desired.slice);
    let Some(after) = desired.after.clone().filter(|_| !is_right) else { return };
    let mut body = body(state, &desired.slice, carried);
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.remove("finalizers"); // They are the importer's; what is there stays.
    }
    let step = distributed(HUB.replace(copy, body).after(after), &desired.slice);
    let step = if loses(&copy.spec, &wanted) { step.urgent() } else { step };
    let (ours, theirs) = (&wanted.endpoint_slice_reference, &copy.spec.endpoint_slice_reference);
    let there = (ours.uid == theirs.uid).then_some(theirs.generation);
    reference::write(plan, step, ours.generation, there);
}

/// The write that brings a slice to an importer.
fn distributed(step: Step, slice: &Slice<'_>) -> Step {
    step.stage("distribute").trace(Trace::Continues(slice.object.trace_context()))
}

fn body(state: &ServiceState<'_>, slice: &Slice<'_>, carried: &[Endpoint]) -> Value {
    json!({
        "metadata": {
            "annotations": origin::annotations(slice),
            "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
        },
        "spec": to_json(&spec(state, slice, carried)),
    })
}

/// What a copy has of a slice; it may carry draining endpoints already.
fn spec(
    state: &ServiceState<'_>,
    slice: &Slice<'_>,
    carried: &[Endpoint],
) -> Arc<ExportedSliceSpec> {
    let mut spec = Arc::clone(&slice.object.spec);
    let draining = served::draining(state.served, &spec.draining_endpoints, carried);
    if draining.len() < spec.draining_endpoints.len() {
        Arc::make_mut(&mut spec).draining_endpoints.clear();
    }
    spec
}

fn report_taken<'a, 'f: 'a>(
    desired: impl IntoIterator<Item = &'a DesiredSlice<'f>>,
    plan: &mut Plan,
) {
    for DesiredSlice { slice, .. } in desired {
        let note = "not distributed: an importer has a slice of this name from elsewhere";
        plan.events.push(HUB.warning(slice.object, events::NAME_TAKEN, note));
    }
}

/// A copy whose origin belongs to another Service is left to that one: somebody altered the copy.
fn withdraw_copy(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    after: impl IntoIterator<Item = StepId>,
    plan: &mut Plan,
) -> Option<Withdrawn> {
    let elsewhere = |slice: &Slice<'_>| {
        slice.object.service().as_ref() != Some(state.service) && origin::is_from(copy, slice)
    };
    if copy.meta.is_terminating()
        || state.slices_named(&copy.name.name).any(|slice| elsewhere(&slice))
    {
        return None;
    }
    let step = plan.push(HUB.delete(copy).after(after).urgent());
    Some(Withdrawn { name: copy.name.clone(), step })
}

/// A copy that this plan deletes.
struct Withdrawn {
    name: ObjectName,
    step: StepId,
}

/// What became of copies that nothing is offered for.
#[derive(Default)]
struct Parted<'a> {
    withdrawn: Vec<Withdrawn>,
    /// They stay for now, and so do the slices they were made from.
    kept: Vec<&'a ObjectName>,
}

/// A slice goes once no importer has a copy of it.
///
/// Copies this plan deletes, or that the importers are already letting go, count as undone; that
/// there is none at all has to be confirmed by the server.
fn release_leaving(state: &ServiceState<'_>, parted: &Parted<'_>, plan: &mut Plan) {
    for slice in state.slice_exports.iter().filter(|slice| slice.object.meta.is_terminating()) {
        let operations = remove_finalizer(&slice.object.meta, finalizers::ENDPOINT_SLICE_EXPORT);
        if operations.is_empty() {
            continue;
        }
        let name = &slice.object.name.name;
        let (ours, others): (Vec<_>, Vec<_>) =
            state.copies_named(name).partition(|copy| origin::is_from(copy, slice));
        if ours.iter().any(|copy| parted.kept.contains(&&copy.name)) {
            continue;
        }
        let mut undone = Vec::new();
        for copy in ours.iter().filter(|copy| !copy.meta.is_terminating()) {
            let mut withdrawn = parted.withdrawn.iter();
            let gone = withdrawn.find(|gone| gone.name == copy.name).map(|gone| gone.step);
            undone.push(gone.unwrap_or_else(|| plan.push(HUB.delete(copy).urgent())));
        }
        // Where a namesake of another member is distributed, the question has no useful answer.
        if ours.is_empty() && others.is_empty() {
            let anywhere = ObjectName::cluster(name.clone());
            undone.push(plan.push(HUB.confirm_absent::<EndpointSliceImport>(anywhere)));
        }
        plan.push(HUB.patch(slice.object, operations).after(undone));
    }
}
