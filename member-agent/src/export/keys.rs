//! The keys that a change affects, each computed from the changed object alone.

use std::fmt;

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::changes::each_touched;
use fleet_plan::Affected;

use crate::snapshot::MemberSnapshot;

/// A key of the export controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A Service of this cluster.
    Service(ObjectName),
    /// An object in this member's namespace on the hub whose reference names no Service.
    InvalidReference(ResourceKind, ObjectName),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => service.fmt(f),
            Self::InvalidReference(kind, name) => write!(f, "{} {name}", kind.kind),
        }
    }
}

impl Key {
    fn of(service: Option<ObjectName>, kind: ResourceKind, name: &ObjectName) -> Self {
        service.map_or_else(|| Self::InvalidReference(kind, name.clone()), Self::Service)
    }
}

/// Adds the keys that own what changed, before and after the change. Those of users are on the accounts of their namespaces.
pub(super) fn affected(old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    each_touched(&old.services, &new.services, |service| {
        keys.add_for(&service.name.namespace, Key::Service(service.name.clone()));
    });
    each_touched(&old.service_exports, &new.service_exports, |export| {
        keys.add_for(&export.name.namespace, Key::Service(export.name.clone()));
    });
    each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
        if let Some(service) = slice.backs(&slice.name.namespace) {
            keys.add_for(&slice.name.namespace, Key::Service(service));
        }
    });
    each_touched(&old.internal_exports, &new.internal_exports, |export| {
        let service = export.reference.object().cloned();
        keys.add(Key::of(service, kinds::INTERNAL_SERVICE_EXPORT, &export.name));
    });
    each_touched(&old.slice_exports, &new.slice_exports, |slice| {
        let service = slice.spec.owner_service_reference.object();
        keys.add(Key::of(service, kinds::ENDPOINT_SLICE_EXPORT, &slice.name));
    });
}

/// Adds the Services of which it may have changed whether they are exported through the standard API.
pub(super) fn affected_by_standard(
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    keys: &mut Affected<Key>,
) {
    let mut add = |service: &ObjectName| {
        keys.add_for(&service.namespace, Key::Service(service.clone()));
    };
    each_touched(&old.standard_exports, &new.standard_exports, |export| add(&export.name));
    each_touched(&old.standard_imports, &new.standard_imports, |import| {
        if new.standard_exports.get(&import.name).is_some() {
            add(&import.name);
        }
    });
    each_touched(&old.exported_services, &new.exported_services, |exported| {
        exported.service.iter().for_each(&mut add);
    });
    each_touched(&old.resolved_services, &new.resolved_services, |resolved| {
        if new.standard_exports.get(&resolved.service).is_some() {
            add(&resolved.service);
        }
    });
}
