//! The importers' copies (EndpointSliceImports) of the slices that accepted members export.

pub(super) mod budget;
mod content;
mod desired;
pub(super) mod handover;
mod origin;

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::Object;
use fleet_api::{ObjectName, events, finalizers, kinds, names};
use fleet_model::endpoints::loses;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::EndpointSliceImport;
use fleet_model::reference;
use fleet_model::steps::HUB;
use fleet_plan::{Plan, Step, StepId, Trace};
use jiff::Timestamp;

use super::claims::Importers;
use super::keys::FromMember;
use super::notice::{self, Notices};
use super::resolution::PortResolution;
use super::state::{ServiceState, SliceExport};
use super::status::StatusWrites;
use budget::Surplus;
use content::Content;
use handover::{Handover, RemovalTiming};

/// The copies that this plan creates.
type Creations = BTreeSet<ObjectName>;

/// Copies that are not desired.
#[derive(Default)]
struct Removals<'a> {
    /// Copies that this plan deletes.
    deleted: BTreeMap<&'a ObjectName, StepId>,
    /// Copies that stay for now, and with them the slices that they were made from.
    kept: BTreeSet<&'a ObjectName>,
}

/// Brings the importers' copies in line with what accepted members export. Returns why slices do not reach importers.
pub(super) fn sync(
    state: &ServiceState<'_>,
    resolution: &PortResolution<'_>,
    writes: &StatusWrites<'_>,
    importers: &Importers<'_>,
    now: Timestamp,
    plan: &mut Plan,
) -> Notices {
    let surplus = Surplus::of(state);
    let mut notices = surplus.report(state, plan);
    let desired = desired::slices(state, writes, importers, &surplus, plan);
    let published = desired.iter().any(|desired| writes.lists(desired.slice.member));
    let handover = Handover::of(state, resolution, importers, published, now);
    let mut undesired = copies(state);
    let mut created = Creations::new();
    for desired in &desired {
        let copies = desired.copies(state);
        let content = Content::of(state, desired.slice);
        for (importer, after) in &desired.after {
            let Some(copy) = copies.get(*importer) else {
                let after = after.as_deref();
                let taken = create(state, importer, &content, after, &mut created, plan);
                notices.extend(taken.map(|note| (desired.slice.object.uid.clone(), note)));
                continue;
            };
            undesired.remove(&copy.name);
            // A copy that is being deleted blocks its successor.
            if let Some(after) = after.as_ref().filter(|_| !copy.meta.is_terminating()) {
                update(copy, &content, after, plan);
            }
        }
    }
    let undesired = undesired.into_values();
    let removals = remove_undesired(state, &handover, undesired, &created, writes.import, plan);
    release_slice_exports(state, &removals, plan);
    notices
}

/// Deletes all copies.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) {
    let mut removals = Removals::default();
    for copy in copies(state).into_values() {
        let deleted = delete(state, copy, [], plan);
        removals.deleted.extend(deleted.map(|step| (&copy.name, step)));
    }
    release_slice_exports(state, &removals, plan);
}

/// Whether a step deletes a copy for something that is on the hub, and not because something is absent: the exporter deletes the
/// slice, or a member policy forbids the export or the import.
pub(super) fn withdrawn<'a>(state: &'a ServiceState<'_>) -> impl Fn(&Step) -> bool + use<'a> {
    let exporters: BTreeSet<_> =
        state.denied_exports().map(|export| export.object.name.namespace.clone()).collect();
    let importers: BTreeSet<_> =
        state.denied_requests().map(|request| request.object.name.namespace.clone()).collect();
    move |step| {
        let copies = &state.snapshot.slice_imports;
        let copy = copies.get(&step.name).filter(|_| step.kind == kinds::ENDPOINT_SLICE_IMPORT);
        copy.is_some_and(|copy| {
            let mut slices = state.slices_named(&copy.slice_name(&copy.name));
            importers.contains(&copy.name.namespace)
                || slices.any(|slice| {
                    origin::is_from(copy, &slice)
                        && (slice.object.meta.is_terminating()
                            || exporters.contains(&slice.object.name.namespace))
                })
        })
    }
}

/// Annotates slices with why they do not reach importers, and removes the annotation of those that do, or that were rejected
/// and have been corrected. One that this plan writes gets its turn later: a second write would name an outdated version.
pub(super) fn report(state: &ServiceState<'_>, notices: &Notices, plan: &mut Plan) {
    let note = |slice: &SliceExport<'_>| notices.get(&slice.object.uid).map(String::as_str);
    let slices = state.slice_exports.iter();
    let annotations: Vec<_> =
        slices.filter_map(|slice| notice::annotate(slice.object, note(slice))).collect();
    if annotations.is_empty() {
        return;
    }
    let steps = plan.steps.iter().filter(|step| step.kind == kinds::ENDPOINT_SLICE_EXPORT);
    let written: BTreeSet<_> = steps.map(|step| step.name.clone()).collect();
    plan.steps.extend(annotations.into_iter().filter(|step| !written.contains(&step.name)));
}

/// The copies that name this Service, and those made from its slices that name another one: a user has altered them, or a Go
/// member has given a slice that it exported for the other Service to this one.
fn copies<'a>(
    state: &ServiceState<'a>,
) -> BTreeMap<&'a ObjectName, &'a Object<EndpointSliceImport>> {
    let made = state.slice_exports.iter().flat_map(|slice| {
        let named = state.copies_named(&slice.object.name.name);
        named.filter(move |copy| origin::is_from(copy, slice))
    });
    state.slice_imports.iter().copied().chain(made).map(|copy| (&copy.name, copy)).collect()
}

/// Brings a copy in line with the slice that it was made from.
fn update(
    copy: &Object<EndpointSliceImport>,
    content: &Content<'_>,
    after: &[StepId],
    plan: &mut Plan,
) {
    let carried = &copy.spec.draining_endpoints;
    let desired = content.spec(carried);
    let slice = content.slice();
    let has_marks = origin::is_recorded(copy, slice) && origin::has_weight(copy, slice);
    if copy.spec == *desired && has_marks {
        return;
    }
    let body = content.successor(copy);
    let step = HUB.replace(copy, body).after(after.iter().copied());
    let slice = content.slice();
    let step = distribution(step, slice).on_account_of(&origin::account_of_update(copy, slice));
    let step = if loses(&copy.spec, desired) { step.urgent() } else { step };
    let (ours, theirs) = (&desired.endpoint_slice_reference, &copy.spec.endpoint_slice_reference);
    let there = (ours.uid == theirs.uid).then_some(theirs.generation);
    reference::write(plan, step, ours.generation, there);
}

/// Creates the copy of a slice for an importer. Returns why that is not possible for good.
fn create(
    state: &ServiceState<'_>,
    importer: &str,
    content: &Content<'_>,
    after: Option<&[StepId]>,
    created: &mut Creations,
    plan: &mut Plan,
) -> Option<String> {
    let slice = content.slice();
    if !namespace_accepts_objects(&state.snapshot.namespaces, importer) {
        return None;
    }
    let Some(name) = free_name(state, importer, slice, created) else {
        let note = "not distributed: an importer has slices of other members under all its names";
        plan.events.push(HUB.warning(slice.object, events::NAME_TAKEN, note));
        return Some(note.to_owned());
    };
    let served = content::is_served(state, slice) == Some(true);
    let after = after.filter(|_| served)?;
    let body = content.new_copy(&name);
    let step = HUB.create::<EndpointSliceImport>(name.clone(), body).after(after.iter().copied());
    plan.push(distribution(step, slice));
    created.insert(name);
    None
}

/// The first name for the copy of a slice that no other copy of the importer has (docs/design/rules.md#names): a member
/// cannot keep the slices of another one away by taking their names.
fn free_name(
    state: &ServiceState<'_>,
    importer: &str,
    slice: &SliceExport<'_>,
    created: &Creations,
) -> Option<ObjectName> {
    let names = names::slice_import_candidates(&slice.object.name, &slice.object.uid.to_string());
    let mut names = names.into_iter().map(|name| ObjectName::new(importer, name));
    let is_taken = |name: &ObjectName| {
        state.snapshot.slice_imports.get(name).is_some() || created.contains(name)
    };
    names.find(|name| !is_taken(name))
}

/// A write that brings a slice to an importer, measured and traced as such, on the account of the exporter: as long as
/// importers leave their copies as they are, they have no part in how many there are.
fn distribution(step: Step, slice: &SliceExport<'_>) -> Step {
    let step = step.on_account_of(&slice.object.name.namespace);
    step.stage("distribute").trace(Trace::Continues(slice.object.trace_context()))
}

/// Deletes copies that are not desired, each at the time that `handover` decides.
fn remove_undesired<'a>(
    state: &ServiceState<'_>,
    handover: &Handover<'_>,
    undesired: impl IntoIterator<Item = &'a Object<EndpointSliceImport>>,
    created: &Creations,
    status_write: Option<StepId>,
    plan: &mut Plan,
) -> Removals<'a> {
    let mut removals = Removals::default();
    for copy in undesired {
        let keep = match handover.removal_timing(copy) {
            RemovalTiming::Keep(left) => Some(left),
            // That the copies are there is seen before the next plan. Steps that wait for each other would be their product.
            RemovalTiming::AfterSuccessor(left) => {
                Some(left).filter(|_| has_some_in(created, &copy.name.namespace))
            }
            RemovalTiming::Now => None,
        };
        if let Some(left) = keep {
            removals.kept.insert(&copy.name);
            plan.wake_within(left);
            continue;
        }
        // As long as the ServiceImport lists a member that still exports, importers may have its endpoints.
        let unlisted = status_write.filter(|_| handover.conflicts(copy.origin()));
        let deleted = delete(state, copy, unlisted, plan);
        removals.deleted.extend(deleted.map(|step| (&copy.name, step)));
    }
    removals
}

/// Whether an importer gets copies.
fn has_some_in(created: &Creations, importer: &str) -> bool {
    let first = ObjectName::new(importer, "");
    created.range(first..).next().is_some_and(|name| *name.namespace == *importer)
}

/// Deletes a copy, unless it was made from a slice of another Service: that Service restores or deletes it.
fn delete(
    state: &ServiceState<'_>,
    copy: &Object<EndpointSliceImport>,
    after: impl IntoIterator<Item = StepId>,
    plan: &mut Plan,
) -> Option<StepId> {
    let elsewhere = |slice: SliceExport<'_>| {
        slice.object.service().as_ref() != Some(state.service) && origin::is_from(copy, &slice)
    };
    if copy.meta.is_terminating() || state.slices_named(&copy.slice_name(&copy.name)).any(elsewhere)
    {
        return None;
    }
    let step = HUB.delete(copy).on_account_of(&origin::account(copy)).urgent();
    Some(plan.push(step.after(after)))
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
        // Where another member's slice has this name in an importer, a copy has the other one.
        if own.is_empty() {
            let uid = slice.object.uid.to_string();
            let [first, second] = names::slice_import_candidates(&slice.object.name, &uid);
            let name = if others.is_empty() { first } else { second };
            let anywhere = ObjectName::cluster(name);
            gone.push(plan.push(HUB.confirm_absent::<EndpointSliceImport>(anywhere)));
        }
        plan.push(release.after(gone));
    }
}
