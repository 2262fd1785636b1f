//! Nobody exports the Service any more, or the hub has no place for it: everything made for it goes,
//! in the order of design 3a.
//!
//! Grants and copies first, then the claim with the ServiceImport, the exports' finalizers last.

use fleet_accumulator::Object;
use fleet_api::finalizers;
use fleet_model::objects::ServiceImport;
use fleet_model::steps::HUB;
use fleet_runtime::plan::{Plan, Step, StepId};

use super::fleet::Fleet;
use super::{claim, distribute, resolve};

/// How far the ServiceImport is.
enum Import {
    /// Gone as soon as this step has succeeded.
    GoneAfter(StepId),
    /// Still there after this plan.
    Remains,
}

/// Plans the withdrawal.
pub(super) fn withdraw(fleet: &Fleet<'_>, plan: &mut Plan) {
    distribute::withdraw_all(fleet, plan);
    let clear = |request| claim::clear(request).or_else(|| claim::tell(request, None));
    let cleared: Vec<_> = fleet
        .requests
        .iter()
        .filter_map(|request| clear(*request))
        .map(|step| plan.push(step))
        .collect();
    match fleet.import {
        None => release_leaving(fleet, plan),
        Some(import) => {
            if let Import::GoneAfter(gone) = delete(import, cleared, plan) {
                release(fleet, gone, plan);
            }
        }
    }
}

/// Somebody has deleted the ServiceImport of a Service that is exported: it is let go, to be made
/// anew. Grants and copies stay meanwhile.
pub(super) fn let_go(import: &Object<ServiceImport>, plan: &mut Plan) {
    let operations = claim::unclaim_operations(&import.meta);
    if !operations.is_empty() {
        plan.push(HUB.patch(import, operations));
    }
}

/// There is no ServiceImport, so nothing holds back those who leave; the server has to agree.
pub(super) fn release_leaving(fleet: &Fleet<'_>, plan: &mut Plan) {
    if leaving(fleet).next().is_some() {
        let name = fleet.service.clone();
        let gone = plan.push(HUB.confirm_absent::<ServiceImport>(name));
        release(fleet, gone, plan);
    }
}

fn release(fleet: &Fleet<'_>, gone: StepId, plan: &mut Plan) {
    for step in leaving(fleet) {
        plan.push(step.after([gone]));
    }
}

/// What lets the exports and requests go that are being deleted.
fn leaving(fleet: &Fleet<'_>) -> impl Iterator<Item = Step> {
    let exports = fleet.exports.iter().filter(|export| export.record.meta.is_terminating());
    let requests = fleet.requests.iter().filter(|request| request.record.meta.is_terminating());
    exports.filter_map(resolve::release).chain(requests.filter_map(claim::release))
}

fn delete(import: &Object<ServiceImport>, cleared: Vec<StepId>, plan: &mut Plan) -> Import {
    if !import.meta.is_terminating() {
        let deleted = plan.push(HUB.delete(import));
        return if import.meta.finalizers.is_empty() {
            Import::GoneAfter(deleted)
        } else {
            Import::Remains // Its finalizers go first.
        };
    }
    let ours_alone = import.meta.finalizers.len() == 1;
    if !import.meta.has_finalizer(finalizers::SERVICE_IMPORT) {
        return Import::Remains; // Somebody else holds it.
    }
    let operations = claim::unclaim_operations(&import.meta);
    let released = plan.push(HUB.patch(import, operations).after(cleared));
    if ours_alone { Import::GoneAfter(released) } else { Import::Remains }
}
