//! The keys that a change affects, each computed from the changed object alone.

use std::fmt;

use fleet_api::ObjectName;
use fleet_model::changes::each_touched;
use fleet_plan::Affected;

use crate::snapshot::MemberSnapshot;

/// A Service of this cluster that is or may be exported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub ObjectName);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Adds the Services that a change concerns, on the accounts of their namespaces.
pub(super) fn affected(old: &MemberSnapshot, new: &MemberSnapshot, keys: &mut Affected<Key>) {
    let is_exported = |service: &ObjectName| {
        [old, new].iter().any(|snapshot| snapshot.standard_exports.get(service).is_some())
    };
    let mut add = |service: &ObjectName| keys.add_for(&service.namespace, Key(service.clone()));
    each_touched(&old.standard_exports, &new.standard_exports, |export| add(&export.name));
    each_touched(&old.standard_imports, &new.standard_imports, |import| {
        if is_exported(&import.name) {
            add(&import.name);
        }
    });
    each_touched(&old.services, &new.services, |service| {
        if is_exported(&service.name) {
            add(&service.name);
        }
    });
    each_touched(&old.exported_services, &new.exported_services, |exported| {
        if let Some(service) = &exported.service {
            add(service);
        }
    });
    each_touched(&old.resolved_services, &new.resolved_services, |resolved| {
        if is_exported(&resolved.service) {
            add(&resolved.service);
        }
    });
    each_touched(&old.namespaces, &new.namespaces, |namespace| {
        for export in new.standard_exports.in_namespace(&namespace.name.name) {
            add(&export.name);
        }
    });
}
