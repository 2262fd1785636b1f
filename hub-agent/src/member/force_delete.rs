//! A member that was told to go and does not: what only its agent could release is released for it.

use std::time::Duration;

use fleet_api::{events, finalizers};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use jiff::{SignedDuration, Timestamp};

use super::keys::Member;
use crate::Settings;
use crate::snapshot::HubSnapshot;

/// Releases the member's copies of slices if its time is up. Finalizers of others stay, and nothing
/// is deleted: who wants the objects gone deletes their namespace. Returns when to look again.
///
/// Only a deletion time seen in a live view counts. That the `MemberCluster` is absent, or cannot be
/// read, says nothing.
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
    let patience = SignedDuration::try_from(settings.force_delete_wait).ok()?;
    if waited < patience {
        return (patience - waited).try_into().ok();
    }
    for copy in snapshot.slice_imports.in_namespace(&member.namespace()) {
        plan.steps.extend(HUB.remove_finalizer(copy, finalizers::ENDPOINT_SLICE_IMPORT));
    }
    if !plan.steps.is_empty() {
        let note = "it did not leave in time: slices that it imported are let go without its agent";
        plan.events.push(HUB.warning(cluster, events::MEMBER_FORCE_DELETED, note));
    }
    None
}
