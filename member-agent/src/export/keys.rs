//! Which key owns an object, computed from that object alone.

use std::fmt;

use fleet_accumulator::{Object, Tracked};
use fleet_api::{ObjectName, ResourceKind, events, kinds};
use fleet_model::changes::each_touched;
use fleet_model::steps::HUB;
use fleet_runtime::plan::Plan;

use crate::snapshot::MemberSnapshot;

/// A unit of the export controller's work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A Service of this cluster.
    Service(ObjectName),
    /// An object in our namespace on the hub whose reference cannot be read.
    Stray(ResourceKind, ObjectName),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => service.fmt(f),
            Self::Stray(kind, name) => write!(f, "{} {name}", kind.kind),
        }
    }
}

impl Key {
    fn of(service: Option<ObjectName>, kind: ResourceKind, name: &ObjectName) -> Self {
        service.map_or_else(|| Self::Stray(kind, name.clone()), Self::Service)
    }
}

/// Marks the keys that own what changed, before and after the change.
pub(super) fn dirty(old: &MemberSnapshot, new: &MemberSnapshot, mark: &mut dyn FnMut(Key)) {
    each_touched(&old.services, &new.services, |service| mark(Key::Service(service.name.clone())));
    each_touched(&old.service_exports, &new.service_exports, |export| {
        mark(Key::Service(export.name.clone()));
    });
    each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
        if let Some(service) = slice.backs(&slice.name.namespace) {
            mark(Key::Service(service));
        }
    });
    each_touched(&old.internal_exports, &new.internal_exports, |export| {
        let service = export.reference.object().cloned();
        mark(Key::of(service, kinds::INTERNAL_SERVICE_EXPORT, &export.name));
    });
    each_touched(&old.slice_exports, &new.slice_exports, |slice| {
        let service = slice.spec.owner_service_reference.object();
        mark(Key::of(service, kinds::ENDPOINT_SLICE_EXPORT, &slice.name));
    });
}

/// What lies in our namespace on the hub and names no Service exports nothing: it goes.
pub(super) fn stray(kind: ResourceKind, name: &ObjectName, snapshot: &MemberSnapshot) -> Plan {
    let mut plan = Plan::default();
    if kind == kinds::INTERNAL_SERVICE_EXPORT {
        let stray = snapshot
            .internal_exports
            .get(name)
            .filter(|export| export.reference.object().is_none() && !export.meta.is_terminating());
        if let Some(export) = stray {
            remove(export, &mut plan);
        }
    } else {
        let stray = snapshot.slice_exports.get(name).filter(|slice| {
            slice.spec.owner_service_reference.object().is_none() && !slice.meta.is_terminating()
        });
        if let Some(slice) = stray {
            remove(slice, &mut plan);
        }
    }
    plan
}

fn remove<T: Tracked>(stray: &Object<T>, plan: &mut Plan) {
    plan.push(HUB.delete(stray));
    let note = "removed: its reference names no Service";
    plan.events.push(HUB.warning(stray, events::REFERENCE_REFUSED, note));
}
