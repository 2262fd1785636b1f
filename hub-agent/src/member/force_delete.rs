//! A member whose MemberCluster is deleted and that does not leave in time: its slices are released for it.

use std::time::Duration;

use fleet_api::{events, finalizers};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use jiff::{SignedDuration, Timestamp};

use super::keys::Member;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Removes the member's finalizer from its EndpointSliceImports once its time is up. Finalizers of other parties
/// stay, and nothing is deleted: that is left to the deletion of the namespace. Returns the time that is left.
///
/// Only the deletion timestamp of a MemberCluster in a live view counts. If the MemberCluster is absent or
/// cannot be read, the member may still be part of the fleet.
pub(super) fn plan(
    settings: &Settings,
    member: &Member,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) -> Option<Duration> {
    let clusters = Some(&snapshot.member_clusters).filter(|view| view.state().is_live())?;
    let cluster = clusters.get(&member.cluster())?;
    let waited = now.duration_since(cluster.deleted?);
    let wait = SignedDuration::try_from(settings.force_delete_wait).ok()?;
    if waited < wait {
        return (wait - waited).try_into().ok();
    }
    for copy in snapshot.slice_imports.in_namespace(&member.namespace()) {
        plan.steps.extend(HUB.remove_finalizer(copy, finalizers::ENDPOINT_SLICE_IMPORT));
    }
    if !plan.steps.is_empty() {
        let note = "the member did not leave in time: its finalizers were removed from its EndpointSliceImports";
        plan.events.push(HUB.warning(cluster, events::MEMBER_FORCE_DELETED, note));
    }
    None
}
