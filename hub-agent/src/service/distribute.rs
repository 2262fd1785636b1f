//! Which slices go to which importer.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{Endpoint, ExportedSliceSpec, ObjectName, events, finalizers};
use fleet_model::endpoints::loses;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::{EndpointSliceExport, EndpointSliceImport};
use fleet_model::steps::{HUB, add_finalizer, remove_finalizer, to_json};
use fleet_model::{reference, served};
use fleet_runtime::plan::{Plan, Step, StepId, Trace};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::claim::{Grant, Importers};
use super::fleet::{Fleet, Owned};
use super::handover::{Handover, Parting};
use super::keys::FromMember;
use super::origin;
use super::resolve::{Resolved, Verdict};

type Copy = Object<EndpointSliceImport>;
type Slice<'a> = Owned<'a, EndpointSliceExport>;

/// A slice that an importer should get.
struct Offer<'a> {
    slice: Slice<'a>,
    /// What its copy waits for; `None` where it may stay, but not be written.
    after: Option<Vec<StepId>>,
}

/// New copies of each importer.
type Begun = BTreeMap<Arc<str>, Vec<StepId>>;

/// What should lie where. Two members may offer slices of one name; the older slice comes first.
type Wanted<'a> = BTreeMap<ObjectName, Vec<Offer<'a>>>;

/// Brings the importers' copies in line with what accepted members export.
pub(super) fn distribute(
    fleet: &Fleet<'_>,
    verdict: &Verdict<'_>,
    resolved: &Resolved<'_>,
    importers: &Importers<'_>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let mut wanted = wanted(fleet, resolved, importers, plan);
    let handover = Handover::of(fleet, verdict, importers, !wanted.is_empty(), now);
    let mut unwanted = Vec::new();
    for copy in &fleet.slice_imports {
        let offers = wanted.remove(&copy.name).unwrap_or_default();
        if !keep(fleet, copy, &offers, plan) {
            unwanted.push(*copy);
        }
    }
    let mut begun = Begun::new();
    for (name, offers) in wanted {
        if namespace_accepts_objects(&fleet.snapshot.namespaces, &name.namespace) {
            let importer = Arc::clone(&name.namespace);
            begun.entry(importer).or_default().extend(begin(fleet, name, &offers, plan));
        }
    }
    let parted = part(fleet, &handover, unwanted, &begun, resolved.status_write, plan);
    release_leaving(fleet, &parted, plan);
}

/// Takes copies away that nothing is offered for, each when its time has come.
fn part<'a>(
    fleet: &Fleet<'_>,
    handover: &Handover<'_>,
    unwanted: Vec<&'a Copy>,
    begun: &Begun,
    status_write: Option<StepId>,
    plan: &mut Plan,
) -> Parted<'a> {
    let mut parted = Parted::default();
    for copy in unwanted {
        let successors = match handover.parting(copy) {
            Parting::Stays(left) => {
                parted.kept.push(&copy.name);
                plan.wake_within(left);
                continue;
            }
            Parting::AfterSuccessor => begun.get(&copy.name.namespace),
            Parting::Now => None,
        };
        let successors = successors.into_iter().flatten().copied();
        // As long as the ServiceImport names a member that still exports, importers may have its endpoints.
        let told = status_write.filter(|_| handover.refuses(copy.origin()));
        parted.withdrawn.extend(withdraw_copy(fleet, copy, successors.chain(told), plan));
    }
    parted
}

/// No importer keeps a copy of anything.
pub(super) fn withdraw_all(fleet: &Fleet<'_>, plan: &mut Plan) {
    let copies = fleet.slice_imports.iter();
    let withdrawn = copies.filter_map(|copy| withdraw_copy(fleet, copy, [], plan)).collect();
    release_leaving(fleet, &Parted { withdrawn, kept: Vec::new() }, plan);
}

fn wanted<'a>(
    fleet: &Fleet<'a>,
    resolved: &Resolved<'_>,
    importers: &Importers<'_>,
    plan: &mut Plan,
) -> Wanted<'a> {
    let mut wanted = Wanted::new();
    if importers.is_empty() {
        return wanted;
    }
    for slice in &fleet.slice_exports {
        let accepted = resolved.accepted.iter().find(|(member, _)| *member == slice.member);
        let travels = !slice.record.meta.is_terminating() && carries(fleet, slice) != Some(false);
        let Some((_, judged)) = accepted.filter(|_| travels) else {
            continue;
        };
        let guarded = guard(slice).map(|step| plan.push(step));
        for (namespace, grant) in importers {
            let name = ObjectName::new(*namespace, slice.record.name.name.clone());
            let claimed = if let Grant::GainedBy(step) = grant { Some(*step) } else { None };
            let needs = [resolved.status_write, *judged, claimed, guarded];
            let after = needs.into_iter().flatten().collect();
            let after = Some(after).filter(|_| *grant != Grant::Pending);
            wanted.entry(name).or_default().push(Offer { slice: *slice, after });
        }
    }
    wanted
}

fn carries(fleet: &Fleet<'_>, slice: &Slice<'_>) -> Option<bool> {
    served::carries(fleet.served, &slice.record.spec.address_type)
}

/// A slice exported by a Go member carries no finalizer of the hub yet; it gets one before a copy.
fn guard(slice: &Slice<'_>) -> Option<Step> {
    let operations = add_finalizer(&slice.record.meta, finalizers::ENDPOINT_SLICE_EXPORT);
    (!operations.is_empty()).then(|| HUB.patch(slice.record, operations))
}

/// Brings a copy in line with the slice it was made from; false if that is none of `offers`.
fn keep(fleet: &Fleet<'_>, copy: &Copy, offers: &[Offer<'_>], plan: &mut Plan) -> bool {
    let (own, others): (Vec<_>, Vec<_>) =
        offers.iter().partition(|offer| origin::is_from(copy, &offer.slice));
    report_taken(others, plan);
    // A terminating copy blocks its successor.
    if let Some(offer) = own.first().filter(|_| !copy.meta.is_terminating()) {
        update(fleet, copy, offer, plan);
    }
    !own.is_empty()
}

/// Makes a copy where this Service has none. One that is there says that it is of another Service,
/// which is true or somebody's work.
fn begin(
    fleet: &Fleet<'_>,
    name: ObjectName,
    offers: &[Offer<'_>],
    plan: &mut Plan,
) -> Option<StepId> {
    if let Some(there) = fleet.copies_named(&name.name).find(|copy| copy.name == name) {
        keep(fleet, there, offers, plan);
        return None;
    }
    let (first, others) = offers.split_first()?;
    report_taken(others, plan);
    let after = first.after.clone().filter(|_| carries(fleet, &first.slice) == Some(true))?;
    let step = HUB.create::<EndpointSliceImport>(name, body(fleet, &first.slice, &[]));
    Some(plan.push(distributed(step.after(after), &first.slice)))
}

fn update(fleet: &Fleet<'_>, copy: &Copy, offer: &Offer<'_>, plan: &mut Plan) {
    let carried = &copy.spec.draining_endpoints;
    let wanted = spec(fleet, &offer.slice, carried);
    let is_right = copy.spec == wanted && origin::is_right(copy, &offer.slice);
    let Some(after) = offer.after.clone().filter(|_| !is_right) else { return };
    let mut body = body(fleet, &offer.slice, carried);
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.remove("finalizers"); // They are the importer's; what is there stays.
    }
    let step = distributed(HUB.replace(copy, body).after(after), &offer.slice);
    let step = if loses(&copy.spec, &wanted) { step.urgent() } else { step };
    let (ours, theirs) = (&wanted.endpoint_slice_reference, &copy.spec.endpoint_slice_reference);
    let there = (ours.uid == theirs.uid).then_some(theirs.generation);
    reference::write(plan, step, ours.generation, there);
}

/// The write that brings a slice to an importer.
fn distributed(step: Step, slice: &Slice<'_>) -> Step {
    step.stage("distribute").trace(Trace::Continues(slice.record.trace_context()))
}

fn body(fleet: &Fleet<'_>, slice: &Slice<'_>, carried: &[Endpoint]) -> Value {
    json!({
        "metadata": {
            "annotations": origin::annotations(slice),
            "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
        },
        "spec": to_json(&spec(fleet, slice, carried)),
    })
}

/// What a copy has of a slice; it may carry draining endpoints already.
fn spec(fleet: &Fleet<'_>, slice: &Slice<'_>, carried: &[Endpoint]) -> Arc<ExportedSliceSpec> {
    let mut spec = Arc::clone(&slice.record.spec);
    let draining = served::draining(fleet.served, &spec.draining_endpoints, carried);
    if draining.len() < spec.draining_endpoints.len() {
        Arc::make_mut(&mut spec).draining_endpoints.clear();
    }
    spec
}

fn report_taken<'a, 'f: 'a>(offers: impl IntoIterator<Item = &'a Offer<'f>>, plan: &mut Plan) {
    for Offer { slice, .. } in offers {
        let note = "not distributed: an importer has a slice of this name from elsewhere";
        plan.events.push(HUB.warning(slice.record, events::NAME_TAKEN, note));
    }
}

/// A copy whose origin belongs to another Service is left to that one: somebody altered the copy.
fn withdraw_copy(
    fleet: &Fleet<'_>,
    copy: &Copy,
    after: impl IntoIterator<Item = StepId>,
    plan: &mut Plan,
) -> Option<Withdrawn> {
    let elsewhere = |slice: &Slice<'_>| {
        slice.record.service().as_ref() != Some(fleet.service) && origin::is_from(copy, slice)
    };
    if copy.meta.is_terminating()
        || fleet.slices_named(&copy.name.name).any(|slice| elsewhere(&slice))
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
fn release_leaving(fleet: &Fleet<'_>, parted: &Parted<'_>, plan: &mut Plan) {
    for slice in fleet.slice_exports.iter().filter(|slice| slice.record.meta.is_terminating()) {
        let operations = remove_finalizer(&slice.record.meta, finalizers::ENDPOINT_SLICE_EXPORT);
        if operations.is_empty() {
            continue;
        }
        let name = &slice.record.name.name;
        let (ours, others): (Vec<_>, Vec<_>) =
            fleet.copies_named(name).partition(|copy| origin::is_from(copy, slice));
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
        plan.push(HUB.patch(slice.record, operations).after(undone));
    }
}
