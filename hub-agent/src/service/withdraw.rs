//! Nobody exports the Service any more, or the hub has no place for it: everything made for it goes,
//! in the order of docs/design/rules.md#withdrawal.
//!
//! Grants and copies first, then the claim with the ServiceImport, the exports' finalizers last.

use fleet_accumulator::Object;
use fleet_api::finalizers;
use fleet_model::objects::ServiceImport;
use fleet_model::steps::HUB;
use fleet_plan::{Plan, Step, StepId};

use super::state::ServiceState;
use super::{claims, resolution, slices};

/// How far the ServiceImport is.
enum Import {
    /// Gone as soon as this step has succeeded.
    GoneAfter(StepId),
    /// Still there after this plan.
    Remains,
}

/// Plans the withdrawal.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) {
    slices::withdraw(state, plan);
    let clear = |request| claims::clear(request).or_else(|| claims::tell(request, None));
    let cleared: Vec<_> = state
        .requests
        .iter()
        .filter_map(|request| clear(*request))
        .map(|step| plan.push(step))
        .collect();
    match state.import {
        None => release_leaving(state, plan),
        Some(import) => {
            if let Import::GoneAfter(gone) = delete(import, cleared, plan) {
                release(state, gone, plan);
            }
        }
    }
}

/// Somebody has deleted the ServiceImport of a Service that is exported: it is let go, to be made
/// anew. Grants and copies stay meanwhile.
pub(super) fn let_go(import: &Object<ServiceImport>, plan: &mut Plan) {
    let operations = claims::unclaim_operations(&import.meta);
    if !operations.is_empty() {
        plan.push(HUB.patch(import, operations));
    }
}

/// There is no ServiceImport, so nothing holds back those who leave; the server has to agree.
pub(super) fn release_leaving(state: &ServiceState<'_>, plan: &mut Plan) {
    if leaving(state).next().is_some() {
        let name = state.service.clone();
        let gone = plan.push(HUB.confirm_absent::<ServiceImport>(name));
        release(state, gone, plan);
    }
}

fn release(state: &ServiceState<'_>, gone: StepId, plan: &mut Plan) {
    for step in leaving(state) {
        plan.push(step.after([gone]));
    }
}

/// What lets the exports and requests go that are being deleted.
fn leaving(state: &ServiceState<'_>) -> impl Iterator<Item = Step> {
    let exports = state.exports.iter().filter(|export| export.object.meta.is_terminating());
    let requests = state.requests.iter().filter(|request| request.object.meta.is_terminating());
    exports.filter_map(resolution::release).chain(requests.filter_map(claims::release))
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
    let operations = claims::unclaim_operations(&import.meta);
    let released = plan.push(HUB.patch(import, operations).after(cleared));
    if ours_alone { Import::GoneAfter(released) } else { Import::Remains }
}
