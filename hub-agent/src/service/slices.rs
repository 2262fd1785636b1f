//! The importers' copies (EndpointSliceImports) of the slices that accepted members export.

mod content;
mod desired;
pub(super) mod handover;
mod origin;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, events, finalizers};
use fleet_model::endpoints::loses;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::EndpointSliceImport;
use fleet_model::reference;
use fleet_model::steps::HUB;
use fleet_plan::{Plan, Step, StepId, Trace};
use jiff::Timestamp;

use super::claims::Importers;
use super::keys::FromMember;
use super::resolution::PortResolution;
use super::state::{ServiceState, SliceExport};
use super::status::StatusWrites;
use desired::{DesiredSlice, DesiredSlices};
use handover::{Handover, RemovalTiming};

/// Creations of copies in this plan, by the importer's namespace.
type Creations = BTreeMap<Arc<str>, Vec<StepId>>;

/// Copies that are not desired.
#[derive(Default)]
struct Removals<'a> {
    /// Copies that this plan deletes.
    deleted: BTreeMap<&'a ObjectName, StepId>,
    /// Copies that stay for now, and with them the slices that they were made from.
    kept: BTreeSet<&'a ObjectName>,
}

/// Brings the importers' copies in line with what accepted members export.
pub(super) fn sync(
    state: &ServiceState<'_>,
    resolution: &PortResolution<'_>,
    writes: &StatusWrites<'_>,
    importers: &Importers<'_>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let mut desired = desired::slices(state, writes, importers, plan);
    let handover = Handover::of(state, resolution, importers, !desired.is_empty(), now);
    let mut surplus = Vec::new();
    for copy in &state.slice_imports {
        let sources = desired.remove(&copy.name).unwrap_or_default();
        if !update_from_source(state, copy, &sources, plan) {
            surplus.push(*copy);
        }
    }
    let created = create_all(state, desired, plan);
    let removals = remove_surplus(state, &handover, surplus, &created, writes.import, plan);
    release_slice_exports(state, &removals, plan);
}

/// Deletes all copies.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) {
    let mut removals = Removals::default();
    for copy in &state.slice_imports {
        let deleted = delete(state, copy, [], plan);
        removals.deleted.extend(deleted.map(|step| (&copy.name, step)));
    }
    release_slice_exports(state, &removals, plan);
}

/// Brings a copy in line with the slice that it was made from; false if that is none of `sources`.
fn update_from_source(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    sources: &[DesiredSlice<'_>],
    plan: &mut Plan,
) -> bool {
    let (own, others): (Vec<_>, Vec<_>) =
        sources.iter().partition(|source| origin::is_from(copy, &source.slice));
    report_name_taken(others, plan);
    // A copy that is being deleted blocks its successor.
    if let Some(source) = own.first().filter(|_| !copy.meta.is_terminating()) {
        update(state, copy, source, plan);
    }
    !own.is_empty()
}

fn update(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    source: &DesiredSlice<'_>,
    plan: &mut Plan,
) {
    let carried = &copy.spec.draining_endpoints;
    let desired = content::spec(state, &source.slice, carried);
    let is_current = copy.spec == desired && origin::is_recorded(copy, &source.slice);
    let Some(after) = source.after.clone().filter(|_| !is_current) else { return };
    let mut body = content::body(state, &source.slice, carried);
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.remove("finalizers"); // They belong to the importer; the present ones stay.
    }
    let step = distribution(HUB.replace(copy, body).after(after), &source.slice);
    let step = if loses(&copy.spec, &desired) { step.urgent() } else { step };
    let (ours, theirs) = (&desired.endpoint_slice_reference, &copy.spec.endpoint_slice_reference);
    let there = (ours.uid == theirs.uid).then_some(theirs.generation);
    reference::write(plan, step, ours.generation, there);
}

/// Creates the desired copies that do not exist yet.
fn create_all(state: &ServiceState<'_>, desired: DesiredSlices<'_>, plan: &mut Plan) -> Creations {
    let mut created = Creations::new();
    for (name, sources) in desired {
        if namespace_accepts_objects(&state.snapshot.namespaces, &name.namespace) {
            let importer = Arc::clone(&name.namespace);
            created.entry(importer).or_default().extend(create(state, name, &sources, plan));
        }
    }
    created
}

/// Creates a copy, unless there is one of this name that names another Service: that is either true, or a
/// user has altered the copy.
fn create(
    state: &ServiceState<'_>,
    name: ObjectName,
    sources: &[DesiredSlice<'_>],
    plan: &mut Plan,
) -> Option<StepId> {
    if let Some(present) = state.snapshot.slice_imports.get(&name) {
        update_from_source(state, present, sources, plan);
        return None;
    }
    let (first, others) = sources.split_first()?;
    report_name_taken(others, plan);
    let served = content::is_served(state, &first.slice) == Some(true);
    let after = first.after.clone().filter(|_| served)?;
    let body = content::body(state, &first.slice, &[]);
    let step = HUB.create::<EndpointSliceImport>(name, body).after(after);
    Some(plan.push(distribution(step, &first.slice)))
}

/// A write that brings a slice to an importer, measured and traced as such.
fn distribution(step: Step, slice: &SliceExport<'_>) -> Step {
    step.stage("distribute").trace(Trace::Continues(slice.object.trace_context()))
}

/// Reports slices that are not distributed because another slice has their name.
fn report_name_taken<'a, 'f: 'a>(
    sources: impl IntoIterator<Item = &'a DesiredSlice<'f>>,
    plan: &mut Plan,
) {
    for DesiredSlice { slice, .. } in sources {
        let note =
            "not distributed: an importer already has a slice of this name from another member";
        plan.events.push(HUB.warning(slice.object, events::NAME_TAKEN, note));
    }
}

/// Deletes copies that are not desired, each at the time that `handover` decides.
fn remove_surplus<'a>(
    state: &ServiceState<'_>,
    handover: &Handover<'_>,
    surplus: Vec<&'a Object<EndpointSliceImport>>,
    created: &Creations,
    status_write: Option<StepId>,
    plan: &mut Plan,
) -> Removals<'a> {
    let mut removals = Removals::default();
    for copy in surplus {
        let successors = match handover.removal_timing(copy) {
            RemovalTiming::Keep(left) => {
                removals.kept.insert(&copy.name);
                plan.wake_within(left);
                continue;
            }
            RemovalTiming::AfterSuccessor => created.get(&copy.name.namespace),
            RemovalTiming::Now => None,
        };
        let successors = successors.into_iter().flatten().copied();
        // As long as the ServiceImport lists a member that still exports, importers may have its endpoints.
        let unlisted = status_write.filter(|_| handover.conflicts(copy.origin()));
        let deleted = delete(state, copy, successors.chain(unlisted), plan);
        removals.deleted.extend(deleted.map(|step| (&copy.name, step)));
    }
    removals
}

/// Deletes a copy, unless it was made from a slice of another Service: then a user has altered the
/// copy, and that Service restores it.
fn delete(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    after: impl IntoIterator<Item = StepId>,
    plan: &mut Plan,
) -> Option<StepId> {
    let elsewhere = |slice: SliceExport<'_>| {
        slice.object.service().as_ref() != Some(state.service) && origin::is_from(copy, &slice)
    };
    if copy.meta.is_terminating() || state.slices_named(&copy.name.name).any(elsewhere) {
        return None;
    }
    Some(plan.push(HUB.delete(copy).after(after).urgent()))
}

/// Removes the hub's finalizer from slices that are being deleted, once no importer has a copy.
///
/// Copies that this plan deletes or that are being deleted already count as gone. Where the snapshot
/// has none, the API server has to confirm that.
fn release_slice_exports(state: &ServiceState<'_>, removals: &Removals<'_>, plan: &mut Plan) {
    for slice in state.slice_exports.iter().filter(|slice| slice.object.meta.is_terminating()) {
        let finalizer = finalizers::ENDPOINT_SLICE_EXPORT;
        let Some(release) = HUB.remove_finalizer(slice.object, finalizer) else { continue };
        let name = &slice.object.name.name;
        let (own, others): (Vec<_>, Vec<_>) =
            state.copies_named(name).partition(|copy| origin::is_from(copy, slice));
        if own.iter().any(|copy| removals.kept.contains(&copy.name)) {
            continue;
        }
        let mut gone = Vec::new();
        for copy in own.iter().filter(|copy| !copy.meta.is_terminating()) {
            let deleted = removals.deleted.get(&copy.name).copied();
            gone.push(deleted.unwrap_or_else(|| plan.push(HUB.delete(copy).urgent())));
        }
        // A copy of another member's slice with this name would make the answer useless.
        if own.is_empty() && others.is_empty() {
            let anywhere = ObjectName::cluster(name.clone());
            gone.push(plan.push(HUB.confirm_absent::<EndpointSliceImport>(anywhere)));
        }
        plan.push(release.after(gone));
    }
}
