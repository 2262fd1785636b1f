//! How far this member is with joining or leaving, for all controllers.

use fleet_api::membership::ClusterState;

use super::{cluster, report};
use crate::Identity;
use crate::snapshot::MemberSnapshot;

/// How far this member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In the fleet, or in a fleet that keeps no book of its members.
    Member,
    /// Told to leave: what users exported and imported is deleted and withdrawn.
    Leaving,
    /// Reported as left. What users make now waits, untouched, until the member joins again.
    Left,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 3] = [Self::Member, Self::Leaving, Self::Left];

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

/// How far this member is.
///
/// The report on the hub is the memory: a restart changes nothing. It counts for later versions of
/// the object, too: a member that has left stays so until it is told to join. A state that this
/// version does not know changes nothing either.
pub fn phase(identity: &Identity, snapshot: &MemberSnapshot) -> Phase {
    let Some(cluster) = cluster(identity, snapshot) else { return Phase::Member };
    let left = report::reports(cluster, report::LEFT);
    match cluster.state {
        ClusterState::Join => Phase::Member,
        ClusterState::Leave if !left => Phase::Leaving,
        ClusterState::Other(_) if !left => Phase::Member,
        ClusterState::Leave | ClusterState::Other(_) => Phase::Left,
    }
}

/// Whether all plans differ because of it.
pub fn phase_changed(identity: &Identity, old: &MemberSnapshot, new: &MemberSnapshot) -> bool {
    phase(identity, old) != phase(identity, new)
}
