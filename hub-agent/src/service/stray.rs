//! Objects that belong to no Service: refused, reported, and let go.

use fleet_accumulator::{ClusterId, Record, View};
use fleet_api::{ObjectName, ResourceKind, events, finalizers, kinds};
use fleet_model::records::HasMeta;
use fleet_model::steps::{HUB, remove_finalizer};
use fleet_runtime::plan::{Event, EventType, Plan};

use super::keys::{FromMember, Key, key_of};
use crate::snapshot::HubSnapshot;

/// Reports an object whose reference is refused; a deletion of it gets through.
pub(super) fn plan(kind: ResourceKind, name: &ObjectName, snapshot: &HubSnapshot) -> Plan {
    if kind == kinds::INTERNAL_SERVICE_EXPORT {
        refuse(&snapshot.internal_exports, name, finalizers::INTERNAL_SERVICE_EXPORT)
    } else if kind == kinds::INTERNAL_SERVICE_IMPORT {
        refuse(&snapshot.internal_imports, name, finalizers::INTERNAL_SERVICE_IMPORT)
    } else if kind == kinds::ENDPOINT_SLICE_EXPORT {
        refuse(&snapshot.slice_exports, name, finalizers::ENDPOINT_SLICE_EXPORT)
    } else {
        Plan::default() // The hub holds no finalizer on anything else.
    }
}

fn refuse<T: FromMember + HasMeta>(view: &View<T>, name: &ObjectName, finalizer: &str) -> Plan {
    let mut plan = Plan::default();
    let stray = view.get(name).filter(|record| matches!(key_of(record), Key::Stray(..)));
    let Some(record) = stray else {
        return plan; // Gone, or its reference has become readable.
    };
    if record.meta().is_terminating() {
        let operations = remove_finalizer(record.meta(), finalizer);
        if !operations.is_empty() {
            plan.push(HUB.patch(record, operations));
        }
        return plan;
    }
    plan.events.push(report(record));
    plan
}

fn report<T: FromMember>(record: &Record<T>) -> Event {
    let origin = record.origin();
    Event {
        cluster: ClusterId::Hub,
        kind: T::KIND,
        name: record.name.clone(),
        uid: record.uid.clone(),
        event_type: EventType::Warning,
        reason: events::REFERENCE_REFUSED,
        note: format!(
            "ignored: it refers to {} of cluster {:?}, which does not fit its own place {}",
            origin.namespaced_name, origin.cluster_id, record.name
        ),
    }
}
