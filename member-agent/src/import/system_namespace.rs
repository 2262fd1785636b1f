//! Whether the system namespace can take derived Services and imported slices.

use std::fmt;

use fleet_api::ObjectName;

use crate::Identity;
use crate::snapshot::MemberSnapshot;

/// Why nothing can be created in the system namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemNamespaceError {
    /// There is none.
    Missing,
    /// It is being deleted.
    Terminating,
}

impl fmt::Display for SystemNamespaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::Terminating => "is being deleted",
        })
    }
}

/// What keeps objects from being created in the system namespace, if anything does.
pub(super) fn error(
    identity: &Identity,
    snapshot: &MemberSnapshot,
) -> Option<SystemNamespaceError> {
    let name = ObjectName::cluster(identity.system_namespace.as_str());
    match snapshot.namespaces.get(&name) {
        None => Some(SystemNamespaceError::Missing),
        Some(namespace) if namespace.terminating => Some(SystemNamespaceError::Terminating),
        Some(_) => None,
    }
}
