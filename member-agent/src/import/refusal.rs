//! Reasons for which nothing is imported into a namespace.

use std::fmt;

use fleet_api::{ObjectName, events};

use crate::Identity;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;

/// Why nothing is imported into a namespace. What was imported before is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The member is leaving the fleet: MultiClusterServices are deleted.
    Leaving,
    /// The member has left the fleet: MultiClusterServices wait until it joins again.
    Left,
    /// The namespace holds derived Services and imported slices: their import could import itself.
    SystemNamespace,
    /// The namespace is being deleted: nothing can be created in it.
    Terminating,
}

impl Refusal {
    /// Reason of the Event; `None` if the MultiClusterService is being deleted or its namespace accepts no Events.
    pub(super) fn event(self) -> Option<&'static str> {
        match self {
            Self::Left => Some(events::MEMBER_LEFT),
            Self::SystemNamespace => Some(events::IMPORT_REFUSED),
            Self::Leaving | Self::Terminating => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leaving => "this cluster is leaving the fleet",
            Self::Left => "this cluster has left the fleet",
            Self::SystemNamespace => {
                "services cannot be imported into the namespace of derived services"
            }
            Self::Terminating => "its namespace is being deleted",
        })
    }
}

/// Why nothing is imported into `namespace`; `None` if Services can be.
pub(super) fn of(
    identity: &Identity,
    namespace: &str,
    snapshot: &MemberSnapshot,
) -> Option<Refusal> {
    let live = snapshot.namespaces.get(&ObjectName::cluster(namespace));
    if live.is_some_and(|namespace| namespace.terminating) {
        return Some(Refusal::Terminating);
    }
    match Phase::of(identity, snapshot) {
        Phase::Leaving => Some(Refusal::Leaving),
        Phase::Left => Some(Refusal::Left),
        Phase::Member => {
            (*namespace == *identity.system_namespace).then_some(Refusal::SystemNamespace)
        }
    }
}
