//! The key that owns an object, computed from that object alone (docs/design/rules.md#owning-keys).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, names};
use fleet_model::changes::each_touched;
use fleet_model::objects::multicluster::ExportedService;
use fleet_plan::Affected;

use super::evidence::{belongs, is_being_rebuilt, shows_absence};
use crate::snapshot::HubSnapshot;

/// A unit of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A Service of the clusterset.
    Service(ObjectName),
    /// An `ExportedService` that names no Service.
    Invalid(ObjectName),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => service.fmt(f),
            Self::Invalid(name) => write!(f, "ExportedService {name}"),
        }
    }
}

/// The key that owns an export.
pub(super) fn key_of(export: &Object<ExportedService>) -> Key {
    let service = export.service.clone();
    service.map_or_else(|| Key::Invalid(export.name.clone()), Key::Service)
}

/// Adds the keys that own what changed, before and after the change, each on the account of the member. Returns the namespaces of
/// members whose exports have changed.
pub(super) fn affected(
    old: &HubSnapshot,
    new: &HubSnapshot,
    keys: &mut Affected<Key>,
) -> BTreeSet<Arc<str>> {
    let mut touched = BTreeSet::new();
    each_touched(&old.exported_services, &new.exported_services, |export| {
        touched.insert(Arc::clone(&export.name.namespace));
        add(export, keys);
    });
    each_touched(&old.resolved_services, &new.resolved_services, |resolved| {
        keys.add(Key::Service(resolved.service.clone()));
    });
    let mut members = BTreeSet::new();
    // What else a member writes there, and how often, concerns no export.
    let is_accepted = |snapshot: &HubSnapshot, name: &ObjectName| {
        snapshot.cluster_reports.get(name).is_some_and(|report| report.is_accepted())
    };
    each_touched(&old.cluster_reports, &new.cluster_reports, |report| {
        if is_accepted(old, &report.name) != is_accepted(new, &report.name) {
            members.insert(Arc::clone(&report.name.namespace));
        }
    });
    each_touched(&old.member_policies, &new.member_policies, |policy| {
        members.insert(Arc::clone(&policy.name.namespace));
    });
    for member in &members {
        new.exported_services.in_namespace(member).for_each(|export| add(export, keys));
    }
    each_touched(&old.slice_exports, &new.slice_exports, |slice| {
        let ends = belongs(slice) && !new.slice_exports.get(&slice.name).is_some_and(belongs);
        if let Some(service) = slice.spec.owner_service_reference.object().filter(|_| ends) {
            keys.add_for(&slice.name.namespace, Key::Service(service));
        }
    });
    if opens(old, new) || is_being_rebuilt(old) != is_being_rebuilt(new) {
        all(new, keys);
    }
    touched
}

/// Adds the Services that a member exports, on its account.
pub(super) fn of_member(snapshot: &HubSnapshot, member: &str, keys: &mut Affected<Key>) {
    let exports = snapshot.exported_services.in_namespace(&names::member_namespace(member));
    exports.for_each(|export| add(export, keys));
}

/// Whether something begins that held all plans up.
fn opens(old: &HubSnapshot, new: &HubSnapshot) -> bool {
    let system = ObjectName::cluster(names::SYSTEM_NAMESPACE);
    let accepts = |snapshot: &HubSnapshot| {
        snapshot.namespaces.get(&system).is_some_and(|namespace| !namespace.terminating)
    };
    (!accepts(old) && accepts(new)) || (!shows_absence(old) && shows_absence(new))
}

fn all(snapshot: &HubSnapshot, keys: &mut Affected<Key>) {
    snapshot.exported_services.iter().for_each(|export| add(export, keys));
    for resolved in snapshot.resolved_services.iter() {
        keys.add(Key::Service(resolved.service.clone()));
    }
}

fn add(export: &Object<ExportedService>, keys: &mut Affected<Key>) {
    keys.add_for(&export.name.namespace, key_of(export));
}
