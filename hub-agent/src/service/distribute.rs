//! Which slices go to which importer.

use std::collections::BTreeMap;

use fleet_accumulator::Record;
use fleet_api::{ObjectName, finalizers};
use fleet_model::records::{EndpointSliceExportRecord, EndpointSliceImportRecord};
use fleet_model::steps::{HUB, add_finalizer, remove_finalizer, to_json};
use fleet_runtime::plan::{Plan, Step, StepId};
use serde_json::json;

use super::claim::{Grant, Importers};
use super::fleet::{Fleet, Owned};
use super::resolve::Resolved;

/// Copies of exported slices by where they belong, each with what it waits for; `None` where it may
/// stay, but not be written.
type Wanted<'a> = BTreeMap<ObjectName, (Owned<'a, EndpointSliceExportRecord>, Option<Vec<StepId>>)>;

/// Brings the importers' copies in line with what accepted members export.
pub(super) fn distribute(
    fleet: &Fleet<'_>,
    resolved: &Resolved<'_>,
    importers: &Importers<'_>,
    plan: &mut Plan,
) {
    let mut wanted = wanted(fleet, resolved, importers, plan);
    let mut withdrawn = Vec::new();
    for copy in &fleet.slice_imports {
        match wanted.remove(&copy.name) {
            Some((slice, Some(after))) if !copy.meta.is_terminating() => {
                update(copy, &slice, after, plan);
            }
            Some(_) => {} // A terminating copy blocks its successor.
            None => withdrawn.extend(withdraw_copy(copy, plan)),
        }
    }
    for (name, (slice, after)) in wanted {
        if let Some(after) = after.filter(|_| fleet.takes_objects(&name.namespace)) {
            plan.push(create(name, &slice).after(after));
        }
    }
    release_leaving(fleet, &withdrawn, plan);
}

/// No importer keeps a copy of anything.
pub(super) fn withdraw_all(fleet: &Fleet<'_>, plan: &mut Plan) {
    let withdrawn: Vec<_> =
        fleet.slice_imports.iter().filter_map(|copy| withdraw_copy(copy, plan)).collect();
    release_leaving(fleet, &withdrawn, plan);
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
        let Some((_, judged)) = accepted.filter(|_| !slice.record.meta.is_terminating()) else {
            continue;
        };
        let guarded = guard(slice).map(|step| plan.push(step));
        for (namespace, grant) in importers {
            let name = ObjectName::new(*namespace, slice.record.name.name.clone());
            let claimed = if let Grant::GainedBy(step) = grant { Some(*step) } else { None };
            let needs = [resolved.status_write, *judged, claimed, guarded];
            let after = needs.into_iter().flatten().collect();
            let after = Some(after).filter(|_| *grant != Grant::Pending);
            // Two members whose slices share a name: the older slice keeps it.
            wanted.entry(name).or_insert((*slice, after));
        }
    }
    wanted
}

/// A slice exported by a Go member carries no finalizer of the hub yet; it gets one before a copy.
fn guard(slice: &Owned<'_, EndpointSliceExportRecord>) -> Option<Step> {
    let operations = add_finalizer(&slice.record.meta, finalizers::ENDPOINT_SLICE_EXPORT);
    (!operations.is_empty()).then(|| HUB.patch(slice.record, operations))
}

fn create(name: ObjectName, slice: &Owned<'_, EndpointSliceExportRecord>) -> Step {
    let body = json!({
        "metadata": { "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT] },
        "spec": to_json(&slice.record.spec),
    });
    HUB.create::<EndpointSliceImportRecord>(name, body).stage("distribute")
}

fn update(
    copy: &Record<EndpointSliceImportRecord>,
    slice: &Owned<'_, EndpointSliceExportRecord>,
    after: Vec<StepId>,
    plan: &mut Plan,
) {
    if copy.spec == slice.record.spec {
        return;
    }
    let body = json!({ "spec": to_json(&slice.record.spec) });
    let step = HUB.replace(copy, body).after(after).stage("distribute");
    plan.push(if loses_endpoints(copy, slice) { step.urgent() } else { step });
}

/// Whether an address of the copy is no longer exported: traffic to it fails until it is gone.
fn loses_endpoints(
    copy: &Record<EndpointSliceImportRecord>,
    slice: &Owned<'_, EndpointSliceExportRecord>,
) -> bool {
    copy.spec.endpoints.iter().any(|endpoint| !slice.record.spec.endpoints.contains(endpoint))
}

fn withdraw_copy(copy: &Record<EndpointSliceImportRecord>, plan: &mut Plan) -> Option<Withdrawn> {
    if copy.meta.is_terminating() {
        return None;
    }
    let step = plan.push(HUB.delete(copy).urgent());
    Some(Withdrawn { name: copy.name.clone(), step })
}

/// A copy that this plan deletes.
struct Withdrawn {
    name: ObjectName,
    step: StepId,
}

/// A slice goes once no importer has a copy of it.
///
/// Copies this plan deletes, or that the importers are already letting go, count as undone; that
/// there is none at all has to be confirmed by the server.
fn release_leaving(fleet: &Fleet<'_>, withdrawn: &[Withdrawn], plan: &mut Plan) {
    for slice in fleet.slice_exports.iter().filter(|slice| slice.record.meta.is_terminating()) {
        let operations = remove_finalizer(&slice.record.meta, finalizers::ENDPOINT_SLICE_EXPORT);
        if operations.is_empty() {
            continue;
        }
        let name = &slice.record.name.name;
        let mut undone: Vec<_> =
            withdrawn.iter().filter(|copy| copy.name.name == *name).map(|copy| copy.step).collect();
        let known = fleet.slice_imports.iter().any(|copy| copy.name.name == *name);
        if undone.is_empty() && !known {
            let anywhere = ObjectName::cluster(name.clone());
            undone.push(plan.push(HUB.confirm_absent::<EndpointSliceImportRecord>(anywhere)));
        }
        plan.push(HUB.patch(slice.record, operations).after(undone));
    }
}
