//! What remains of a member that is leaving.

use fleet_accumulator::{Object, Snapshot as _, SourceInfo, SourceSet, Tracked, View};
use fleet_api::{annotations, finalizers};
use fleet_model::objects::multicluster::ExportedService;
use fleet_model::objects::offload::PodImport;
use fleet_model::objects::{
    EndpointSlice, EndpointSliceExport, EndpointSliceImport, HasMeta, InternalServiceExport,
    InternalServiceImport,
};
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::StepId;

use crate::hub_side::is_known;
use crate::measurement::Plan;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings, left_over};

/// The sources that show whether something remains.
///
/// Namespaces and memberships hold nothing themselves, but what the other controllers withdraw depends on them: while
/// one of the two is out of date, the other sources do not prove that everything is withdrawn.
pub(super) fn sources() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::services(),
        MemberSnapshot::service_exports(),
        MemberSnapshot::endpoint_slices(),
        MemberSnapshot::multi_cluster_services(),
        MemberSnapshot::service_imports(),
        MemberSnapshot::namespaces(),
        MemberSnapshot::internal_exports(),
        MemberSnapshot::slice_exports(),
        MemberSnapshot::internal_imports(),
        MemberSnapshot::slice_imports(),
        MemberSnapshot::memberships(),
    ])
}

/// The same for what this cluster runs for others.
pub(super) fn sources_of_executor() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::pod_imports(),
        MemberSnapshot::offload_offers(),
        MemberSnapshot::remote_pods(),
        MemberSnapshot::namespaces(),
    ])
}

/// Whether every watch shows that nothing remains of what users exported and imported, of what this agent made
/// for that, and of any object in the namespace on the hub.
///
/// A watch that is stale, forbidden or not served proves nothing.
pub(super) fn is_nothing(settings: &Settings, phase: Phase, snapshot: &MemberSnapshot) -> bool {
    let identity = &settings.identity;
    are_live(snapshot)
        && is_nothing_standard(settings, snapshot)
        && snapshot.internal_exports.is_empty()
        && snapshot.slice_exports.is_empty()
        && snapshot.internal_imports.is_empty()
        && snapshot.slice_imports.is_empty()
        && !snapshot
            .service_exports
            .iter()
            .any(|export| remains(phase, export, finalizers::SERVICE_EXPORT))
        && !snapshot
            .multi_cluster_services
            .iter()
            .any(|mcs| remains(phase, mcs, finalizers::MULTI_CLUSTER_SERVICE))
        && !snapshot.service_imports.iter().any(|import| {
            // If this cluster is also the hub, the hub's ServiceImports have no owner.
            import.meta.controller_owner().is_some()
                && import.meta.has_finalizer(finalizers::SERVICE_IMPORT)
        })
        && !snapshot.services.in_namespace(&identity.system_namespace).any(|service| {
            service.meta.annotation(annotations::MULTI_CLUSTER_SERVICE_UID).is_some()
        })
        && imported(identity, snapshot).next().is_none()
}

/// Whether nothing remains of the standard API. Users keep their ServiceExports. Of kinds that could never be listed, the agent has
/// made no objects: it may make them only where it may list them.
fn is_nothing_standard(settings: &Settings, snapshot: &MemberSnapshot) -> bool {
    !settings.multicluster.is_watched()
        || (is_empty(&snapshot.exported_services, |_| true)
            && is_empty(&snapshot.standard_imports, |import| import.hub().is_some())
            && is_empty(&snapshot.endpoint_slices, EndpointSlice::is_imported_by_standard))
}

/// Whether nothing remains of Pods of other members: once this one has left, the hub knows of none, and their origins go on to send
/// traffic to them.
pub(super) fn is_nothing_for_others(settings: &Settings, snapshot: &MemberSnapshot) -> bool {
    !settings.virtual_nodes.executor
        || (is_empty(&snapshot.pod_imports, |_| true)
            && is_empty(&snapshot.offload_offers, |_| true)
            && is_answered(&snapshot.remote_pods)
            && left_over::remote_pods(snapshot).next().is_none())
}

/// Whether a view that is live has no object of ours, or the kind could never be listed.
fn is_empty<T: Tracked>(view: &View<T>, is_ours: impl Fn(&T) -> bool) -> bool {
    is_answered(view) && !view.iter().any(|object| is_ours(&object.object))
}

/// Whether a view shows what there is, or the kind could never be listed.
fn is_answered<T: Tracked>(view: &View<T>) -> bool {
    view.state().is_live() || (view.state().cannot_be_had() && !view.bootstrapped())
}

/// Whether the watches of all [`sources`] are live.
fn are_live(snapshot: &MemberSnapshot) -> bool {
    let sources = sources();
    let asked = |source: &&SourceInfo| sources.contains(source.id);
    let mut asked = MemberSnapshot::sources().iter().filter(asked);
    asked.all(|source| snapshot.state(source.id).is_live())
}

/// Whether an object of the user counts as a remainder. While the member leaves, all of them do. Once it has
/// left, they may wait for the next join; only those with this agent's finalizer still have to be released.
fn remains<T: HasMeta>(phase: Phase, object: &Object<T>, finalizer: &str) -> bool {
    phase == Phase::Leaving || object.object.meta().has_finalizer(finalizer)
}

fn imported<'a>(
    identity: &Identity,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
    let slices = snapshot.endpoint_slices.in_namespace(&identity.system_namespace);
    slices.filter(|slice| slice.is_imported())
}

/// Deletes what no Service of the fleet owns: imported slices of a Go agent whose EndpointSliceImport is gone, and exports that
/// name no Service.
pub(super) fn sweep(identity: &Identity, snapshot: &MemberSnapshot, plan: &mut Plan) {
    if !are_live(snapshot) {
        return;
    }
    let orphans = imported(identity, snapshot).filter(|slice| {
        slice.imported_for().is_none()
            && !slice.meta.is_terminating()
            && snapshot.slice_imports.get(&identity.copy_of(&slice.name)).is_none()
    });
    plan.steps.extend(orphans.map(|slice| LOCAL.delete(slice).urgent()));
    // Made by others: no Service can have such a name.
    let nameless = snapshot.exported_services.iter();
    let nameless = nameless.filter(|one| one.service.is_none() && !one.meta.is_terminating());
    plan.steps.extend(nameless.map(|exported| HUB.delete(exported)));
}

/// Checks with the hub's API server that the namespace is empty. Objects of the own cluster need no check: their
/// finalizers are removed only after one, or after the server has accepted a deletion.
pub(super) fn confirm(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) -> Vec<StepId> {
    let namespace = settings.identity.hub_namespace.as_str();
    let is_served = settings.multicluster.is_watched() && is_known(&snapshot.exported_services);
    let exported = is_served.then(|| HUB.confirm_none::<ExportedService>(namespace));
    [
        HUB.confirm_none::<InternalServiceExport>(namespace),
        HUB.confirm_none::<EndpointSliceExport>(namespace),
        HUB.confirm_none::<InternalServiceImport>(namespace),
        HUB.confirm_none::<EndpointSliceImport>(namespace),
    ]
    .into_iter()
    .chain(exported)
    .map(|step| plan.push(step))
    .collect()
}

/// The same for Pods of others.
pub(super) fn confirm_nothing_for_others(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) -> Option<StepId> {
    let executes = settings.virtual_nodes.executor && is_known(&snapshot.pod_imports);
    let namespace = settings.identity.hub_namespace.as_str();
    executes.then(|| plan.push(HUB.confirm_none::<PodImport>(namespace)))
}
