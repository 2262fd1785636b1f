//! Reasons for which nothing is imported into a namespace.

use std::fmt;

use fleet_api::{ObjectName, events};

use crate::Settings;
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
    /// Services of the namespace are not imported, and this one was not before.
    NamespaceDenied,
    /// The namespace is being deleted: nothing can be created in it.
    Terminating,
}

impl Refusal {
    /// Reason of the Event; `None` if the MultiClusterService is being deleted or its namespace accepts no Events.
    pub(super) fn event(self) -> Option<&'static str> {
        match self {
            Self::Left => Some(events::MEMBER_LEFT),
            Self::SystemNamespace => Some(events::IMPORT_REFUSED),
            Self::NamespaceDenied => Some(events::NAMESPACE_DENIED),
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
            Self::NamespaceDenied => "services cannot be imported into this namespace",
            Self::Terminating => "its namespace is being deleted",
        })
    }
}

/// Why `service` is not imported; `None` if it can be. A request on the hub shows that it is in force.
pub(super) fn of(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
) -> Option<Refusal> {
    let (identity, namespace) = (&settings.identity, &*service.namespace);
    let live = snapshot.namespaces.get(&ObjectName::cluster(namespace));
    if live.is_some_and(|namespace| namespace.terminating) {
        return Some(Refusal::Terminating);
    }
    match Phase::of(identity, snapshot) {
        Phase::Leaving => Some(Refusal::Leaving),
        Phase::Left => Some(Refusal::Left),
        Phase::Member if *namespace == *identity.system_namespace => Some(Refusal::SystemNamespace),
        Phase::Member => {
            let denied = settings.denied_namespaces.include(namespace)
                && snapshot.internal_imports.by(service).next().is_none();
            denied.then_some(Refusal::NamespaceDenied)
        }
    }
}
