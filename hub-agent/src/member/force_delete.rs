//! A member whose MemberCluster is deleted and that does not leave in time: its slices are released for it.

use std::time::Duration;

use fleet_accumulator::{Object, SourceState};
use fleet_api::{events, finalizers};
use fleet_model::objects::MemberCluster;
use fleet_model::steps::HUB;
use fleet_plan::{Event, Plan};
use jiff::{SignedDuration, Timestamp};

use super::keys::Member;
use super::silence;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Removes the member's finalizer from its EndpointSliceImports that are being deleted, once its time is up and it sends no
/// heartbeats. Finalizers of other parties stay, and nothing is deleted: that is left to the deletion of the namespace.
/// Returns the time that is left.
///
/// Only the deletion timestamp of a MemberCluster in a live view counts. If the MemberCluster is absent or
/// cannot be read, the member may still be part of the fleet. A member agent that works adds its finalizer again to a slice
/// that is not being deleted, and removes it from one that is.
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
    let copies = snapshot.slice_imports.in_namespace(&member.namespace());
    let terminating = copies.filter(|copy| copy.meta.is_terminating());
    let released: Vec<_> = terminating
        .filter_map(|copy| HUB.remove_finalizer(copy, finalizers::ENDPOINT_SLICE_IMPORT))
        .collect();
    if released.is_empty() || are_heartbeats_unknown(snapshot) {
        return None;
    }
    let membership = snapshot.internal_members.get(&member.internal());
    let alive = membership.and_then(|object| silence::remaining(settings, object, now));
    plan.events.push(report(cluster, alive.is_some()));
    if alive.is_none() {
        plan.steps.extend(released);
    }
    alive
}

/// Whether heartbeats may have arrived that the snapshot does not show. Where they cannot be read at all, there are none.
fn are_heartbeats_unknown(snapshot: &HubSnapshot) -> bool {
    !matches!(
        snapshot.internal_members.state(),
        SourceState::Live | SourceState::Missing { .. } | SourceState::Forbidden { .. }
    )
}

fn report(cluster: &Object<MemberCluster>, is_alive: bool) -> Event {
    if is_alive {
        let note = "the member has not left in time, but sends heartbeats: its EndpointSliceImports keep its finalizer until \
                    its agent removes it, or sends none";
        return HUB.warning(cluster, events::MEMBER_NOT_LEFT, note);
    }
    let note = "the member did not leave in time: its finalizers were removed from its EndpointSliceImports";
    HUB.warning(cluster, events::MEMBER_FORCE_DELETED, note)
}
