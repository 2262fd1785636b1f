//! What is left of a member that is told to leave.

use fleet_accumulator::{Object, Snapshot as _, SourceInfo};
use fleet_api::{ObjectName, annotations, finalizers};
use fleet_model::objects::{
    EndpointSlice, EndpointSliceExport, EndpointSliceImport, HasMeta, InternalServiceExport,
    InternalServiceImport,
};
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::{Plan, StepId};

use crate::Identity;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;

/// Whether every watch shows that nothing is left: of what users exported and imported, of what
/// this agent made for it, and in the namespace on the hub whoever made it.
///
/// What a watch does not show because it is stale, forbidden or not served may be there.
pub(super) fn is_nothing(identity: &Identity, phase: Phase, snapshot: &MemberSnapshot) -> bool {
    watched(snapshot)
        && snapshot.internal_exports.is_empty()
        && snapshot.slice_exports.is_empty()
        && snapshot.internal_imports.is_empty()
        && snapshot.slice_imports.is_empty()
        && !snapshot
            .service_exports
            .iter()
            .any(|wish| remains(phase, wish, finalizers::SERVICE_EXPORT))
        && !snapshot
            .multi_cluster_services
            .iter()
            .any(|wish| remains(phase, wish, finalizers::MULTI_CLUSTER_SERVICE))
        && !snapshot.service_imports.iter().any(|import| {
            // On a hub that is its own member, the hub's have no owner.
            import.meta.controller_owner().is_some()
                && import.meta.has_finalizer(finalizers::SERVICE_IMPORT)
        })
        && !snapshot.services.in_namespace(&identity.system_namespace).any(|service| {
            service.meta.annotation(annotations::MULTI_CLUSTER_SERVICE_UID).is_some()
        })
        && imported(identity, snapshot).next().is_none()
}

fn watched(snapshot: &MemberSnapshot) -> bool {
    let watched = |source: &&SourceInfo| MemberSnapshot::networking().contains(source.id);
    let mut sources = MemberSnapshot::sources().iter().filter(watched);
    sources.all(|source| snapshot.state(source.id).is_live())
}

/// While the member leaves, whatever users wished for goes. Once it has left, wishes may wait for
/// the next join, untouched; one that is touched still has to be let go.
fn remains<T: HasMeta>(phase: Phase, wish: &Object<T>, finalizer: &str) -> bool {
    phase == Phase::Leaving || wish.object.meta().has_finalizer(finalizer)
}

fn imported<'a>(
    identity: &Identity,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
    let slices = snapshot.endpoint_slices.in_namespace(&identity.system_namespace);
    slices.filter(|slice| slice.is_imported())
}

/// Deletes imported slices that no Service of the fleet owns any more: a Go agent made them, and
/// what they were made from is gone without it.
pub(super) fn sweep(identity: &Identity, snapshot: &MemberSnapshot, plan: &mut Plan) {
    if !watched(snapshot) {
        return;
    }
    let made_from = |slice: &Object<EndpointSlice>| {
        ObjectName::new(identity.hub_namespace.as_str(), slice.name.name.clone())
    };
    let orphans = imported(identity, snapshot).filter(|slice| {
        slice.imported_for().is_none()
            && !slice.meta.is_terminating()
            && snapshot.slice_imports.get(&made_from(slice)).is_none()
    });
    plan.steps.extend(orphans.map(|slice| LOCAL.delete(slice).urgent()));
}

/// Asks the hub whether its namespace is really empty. What is in the own cluster needs no second
/// look: its finalizers go only after such a look, or after an answer to its deletion.
pub(super) fn confirm(identity: &Identity, plan: &mut Plan) -> [StepId; 4] {
    let namespace = identity.hub_namespace.as_str();
    [
        HUB.confirm_none::<InternalServiceExport>(namespace),
        HUB.confirm_none::<EndpointSliceExport>(namespace),
        HUB.confirm_none::<InternalServiceImport>(namespace),
        HUB.confirm_none::<EndpointSliceImport>(namespace),
    ]
    .map(|step| plan.push(step))
}
