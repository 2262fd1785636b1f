//! Reasons to import nothing into a namespace.

use std::fmt;

use fleet_api::{ObjectName, events};

use crate::Identity;
use crate::snapshot::MemberSnapshot;

/// Why no MultiClusterService of a namespace is served. What was imported before is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It holds derived Services and imported slices: an import of those could feed itself.
    SystemNamespace,
    /// It is being deleted: nothing can be created in it, and what is there goes.
    Terminating,
}

impl Refusal {
    /// Reason of the Event; none where the namespace takes no Events either.
    pub(super) fn event(self) -> Option<&'static str> {
        match self {
            Self::SystemNamespace => Some(events::IMPORT_REFUSED),
            Self::Terminating => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SystemNamespace => "nothing is imported into the namespace of derived services",
            Self::Terminating => "its namespace is being deleted",
        })
    }
}

/// Why nothing is imported into `namespace`, if so.
pub(super) fn of(
    identity: &Identity,
    namespace: &str,
    snapshot: &MemberSnapshot,
) -> Option<Refusal> {
    if *namespace == *identity.system_namespace {
        return Some(Refusal::SystemNamespace);
    }
    let record = snapshot.namespaces.get(&ObjectName::cluster(namespace));
    record.filter(|namespace| namespace.terminating).map(|_| Refusal::Terminating)
}
