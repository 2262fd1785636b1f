//! How far this member is with joining or leaving the fleet. Every controller's plan depends on it.

mod confirmation;
mod reported;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::ObjectName;
use fleet_api::membership::ClusterState;
use fleet_model::objects::InternalMemberCluster;

pub(crate) use confirmation::Losses;
pub(crate) use reported::{JOINED, LEFT, ReportedState, is_current};

use crate::Identity;
use crate::snapshot::MemberSnapshot;

/// How far this member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In the fleet, or in a fleet whose hub has no InternalMemberCluster for it. Also a member that is asked to leave and waits
    /// for a confirmation.
    Member,
    /// Leaving, as the hub requested: what users exported and imported is deleted and withdrawn.
    Leaving,
    /// Reported as left. What users create now stays untouched until the member joins again.
    Left,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 3] = [Self::Member, Self::Leaving, Self::Left];

    /// The phase that a snapshot shows.
    ///
    /// It is read from the report on the hub, so a restart changes nothing. The report counts for later
    /// generations of the object, too: a member that has left stays so until the hub requests that it joins. A
    /// state that this version does not know changes nothing either.
    pub fn of(identity: &Identity, snapshot: &MemberSnapshot) -> Self {
        let Some(cluster) = member_cluster(identity, snapshot) else { return Self::Member };
        let left = reported::reports(cluster, LEFT);
        match cluster.state {
            ClusterState::Join => Self::Member,
            ClusterState::Leave if left => Self::Left,
            ClusterState::Leave if confirmation::waits(identity, snapshot, cluster) => Self::Member,
            ClusterState::Leave => Self::Leaving,
            ClusterState::Other(_) if !left => Self::Member,
            ClusterState::Other(_) => Self::Left,
        }
    }

    /// The same, once the hub has shown what it depends on: until then a member must not lose anything by it.
    pub(crate) fn known(identity: &Identity, snapshot: &MemberSnapshot) -> Option<Self> {
        let is_known =
            snapshot.memberships.has_answered() && snapshot.cluster_reports.has_answered();
        is_known.then(|| Self::of(identity, snapshot))
    }

    /// What the phase is computed from.
    pub(crate) fn sources() -> SourceSet {
        SourceSet::from([
            MemberSnapshot::memberships(),
            MemberSnapshot::cluster_reports(),
            MemberSnapshot::service_exports(),
            MemberSnapshot::multi_cluster_services(),
            MemberSnapshot::endpoint_slices(),
        ])
    }

    /// Whether the phase differs between two snapshots: then every plan does.
    pub fn changed(identity: &Identity, old: &MemberSnapshot, new: &MemberSnapshot) -> bool {
        Self::of(identity, old) != Self::of(identity, new)
    }

    /// Label value in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Leaving => "leaving",
            Self::Left => "left",
        }
    }

    /// Whether anything may be exported or imported.
    pub fn is_member(self) -> bool {
        self == Self::Member
    }
}

/// What leaving would delete, if the member is asked to leave and waits for a confirmation.
pub(crate) fn unconfirmed(identity: &Identity, snapshot: &MemberSnapshot) -> Option<Losses> {
    confirmation::unconfirmed(identity, snapshot, member_cluster(identity, snapshot)?)
}

/// The InternalMemberCluster of this member, whatever else is in its namespace on the hub.
pub(crate) fn member_cluster<'a>(
    identity: &Identity,
    snapshot: &'a MemberSnapshot,
) -> Option<&'a Object<InternalMemberCluster>> {
    let name = ObjectName::new(identity.hub_namespace.as_str(), identity.cluster.as_str());
    snapshot.memberships.get(&name)
}
