//! Whether a member that is asked to leave waits for a confirmation, because much would be deleted.

use std::fmt;

use fleet_accumulator::{MassDeletionLimits, Object};
use fleet_api::annotations;
use fleet_api::membership::ClusterState;
use fleet_model::objects::InternalMemberCluster;

use super::reported::{JOINED, LEFT, generation, reports};
use crate::Identity;
use crate::fence::record_name;
use crate::snapshot::MemberSnapshot;

/// What is deleted when the member leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Losses {
    exports: usize,
    imports: usize,
    slices: usize,
    /// Exports through the standard API, which are withdrawn; users keep their objects.
    standard: usize,
    /// Imports of the standard API, with their addresses.
    clusterset: usize,
}

impl Losses {
    fn of(identity: &Identity, snapshot: &MemberSnapshot) -> Self {
        Self {
            exports: snapshot.service_exports.len(),
            imports: snapshot.multi_cluster_services.len(),
            slices: imported(identity, snapshot, usize::MAX),
            standard: snapshot.standard_exports.len(),
            clusterset: of_clusterset(snapshot),
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exports, imports, slices, standard, clusterset } = self;
        write!(
            f,
            "{exports} ServiceExports, {imports} MultiClusterServices and {slices} imported EndpointSlices"
        )?;
        if *clusterset > 0 {
            write!(f, ", {clusterset} imports of the clusterset with their addresses")?;
        }
        if *standard > 0 {
            write!(f, ", and withdraw {standard} Services from the clusterset,")?;
        }
        Ok(())
    }
}

/// How many Services are imported through the standard API.
fn of_clusterset(snapshot: &MemberSnapshot) -> usize {
    snapshot.standard_imports.iter().filter(|import| import.hub().is_some()).count()
}

/// How many slices are imported; not counted further than `limit`.
fn imported(identity: &Identity, snapshot: &MemberSnapshot, limit: usize) -> usize {
    let slices = snapshot.endpoint_slices.in_namespace(&identity.system_namespace);
    slices.filter(|slice| slice.is_imported()).take(limit).count()
}

/// What leaving would delete, if the member is asked to leave, that is more than goes without a confirmation, and an
/// administrator of the hub has not confirmed it.
pub(super) fn unconfirmed(
    identity: &Identity,
    snapshot: &MemberSnapshot,
    cluster: &Object<InternalMemberCluster>,
) -> Option<Losses> {
    let is_asked = cluster.state == ClusterState::Leave && !reports(cluster, LEFT);
    (is_asked && waits(identity, snapshot, cluster)).then(|| Losses::of(identity, snapshot))
}

/// Whether a member that is asked to leave waits.
pub(super) fn waits(
    identity: &Identity,
    snapshot: &MemberSnapshot,
    cluster: &Object<InternalMemberCluster>,
) -> bool {
    let may_wait = knows_confirmations(identity, snapshot)
        && !cluster.meta.is_terminating()
        && !is_confirmed(cluster);
    may_wait && is_much(identity, snapshot)
}

/// Whether the hub agent is one that informs administrators of a member that waits: it answers ClusterReports. Those of the
/// original and of earlier releases do not, and with them a member leaves at once, as it always did.
fn knows_confirmations(identity: &Identity, snapshot: &MemberSnapshot) -> bool {
    let record = snapshot.cluster_reports.get(&record_name(identity));
    record.is_some_and(|record| record.incarnation.is_some())
}

/// A confirmation names a generation of the object in which the member was asked to leave. It holds until the member has joined
/// again; other changes of the object, such as that of the heartbeat period, do not end it.
fn is_confirmed(cluster: &Object<InternalMemberCluster>) -> bool {
    let confirmed = cluster.meta.annotation(annotations::CONFIRM_LEAVE);
    let confirmed = confirmed.and_then(|text| text.trim().parse::<i64>().ok());
    let joined = generation(cluster, JOINED).unwrap_or_default();
    confirmed.is_some_and(|confirmed| (joined + 1..=cluster.meta.generation).contains(&confirmed))
}

/// Whether more would go than the limits for mass deletion allow. While it is not known how much there is, it may be much.
fn is_much(identity: &Identity, snapshot: &MemberSnapshot) -> bool {
    let known = snapshot.service_exports.bootstrapped()
        && snapshot.multi_cluster_services.bootstrapped()
        && snapshot.endpoint_slices.bootstrapped();
    let limits = MassDeletionLimits::default();
    let objects = snapshot.service_exports.len()
        + snapshot.multi_cluster_services.len()
        + snapshot.standard_exports.len()
        + of_clusterset(snapshot);
    // Each plan of a member that waits asks this.
    let count = objects + imported(identity, snapshot, limits.floor + 1);
    !known || limits.exceeded_by(count, count)
}
