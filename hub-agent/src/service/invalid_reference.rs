//! Objects that belong to no Service: refused, reported, and let go.

use fleet_accumulator::View;
use fleet_api::conditions::{self, reasons};
use fleet_api::names::member_of_namespace;
use fleet_api::{ObjectName, ResourceKind, events, finalizers, kinds};
use fleet_model::objects::{HasMeta, named};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::conditions::{Wanted, apply};
use fleet_plan::text::truncate;
use jiff::Timestamp;
use serde_json::json;

use super::keys::{FromMember, Key, key_of, key_of_copy};
use crate::snapshot::HubSnapshot;

/// Longest claim that is repeated, in bytes.
const CLAIM: usize = 128;

/// Reports an object whose reference is refused; a deletion of it gets through.
pub(super) fn plan(
    kind: ResourceKind,
    name: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    if kind == kinds::INTERNAL_SERVICE_EXPORT {
        refuse(&snapshot.internal_exports, name, finalizers::INTERNAL_SERVICE_EXPORT, &mut plan);
        mark(name, snapshot, now, &mut plan);
    } else if kind == kinds::INTERNAL_SERVICE_IMPORT {
        refuse(&snapshot.internal_imports, name, finalizers::INTERNAL_SERVICE_IMPORT, &mut plan);
    } else if kind == kinds::ENDPOINT_SLICE_EXPORT {
        refuse(&snapshot.slice_exports, name, finalizers::ENDPOINT_SLICE_EXPORT, &mut plan);
    } else {
        remove_copy(name, snapshot, &mut plan);
    }
    plan
}

fn refuse<T: FromMember + HasMeta>(
    view: &View<T>,
    name: &ObjectName,
    finalizer: &str,
    plan: &mut Plan,
) {
    let stray = view.get(name).filter(|object| matches!(key_of(object), Key::InvalidReference(..)));
    let Some(object) = stray else {
        return; // Gone, or its reference has become readable.
    };
    if !object.meta().is_terminating() {
        let note = format!(
            "ignored: it refers to {:?} of cluster {:?}, which does not fit its own place {name}",
            truncate(&object.stands_for(), CLAIM),
            truncate(object.claims(), CLAIM),
        );
        plan.events.push(HUB.warning(object, events::REFERENCE_REFUSED, note));
        return;
    }
    plan.steps.extend(HUB.remove_finalizer(object, finalizer));
}

/// An export has conditions, so its owner can read there, too, that it is refused. Other kinds have
/// none.
fn mark(name: &ObjectName, snapshot: &HubSnapshot, now: Timestamp, plan: &mut Plan) {
    let Some(event) = plan.events.first() else { return };
    let Some(export) = snapshot.internal_exports.get(name) else { return };
    let wanted = Wanted {
        type_: conditions::VALID,
        status: conditions::FALSE.to_owned(),
        reason: reasons::REFERENCE_REFUSED.to_owned(),
        message: event.note.clone(),
        generation: export.meta.generation,
    };
    // What was said of it as part of a Service is true no more.
    let mut told = export.conditions.clone();
    told.retain(|told| told.type_ != conditions::CONFLICT);
    let conditions = apply(&told, [wanted], now).unwrap_or(told);
    if conditions != export.conditions {
        plan.push(HUB.status(export, &json!({ "conditions": conditions })));
    }
}

/// A copy that names no Service has been altered: only the hub makes copies. One of a slice that is
/// still exported is that slice's Service to restore; of any other nobody knows what it was.
fn remove_copy(name: &ObjectName, snapshot: &HubSnapshot, plan: &mut Plan) {
    let copy = snapshot.slice_imports.get(name);
    let copy = copy.filter(|_| member_of_namespace(&name.namespace).is_some());
    let Some(copy) = copy.filter(|copy| matches!(key_of_copy(copy), Key::InvalidReference(..)))
    else {
        return;
    };
    if snapshot.slice_exports.by(&named(&name.name)).next().is_some() {
        return;
    }
    if !copy.meta.is_terminating() {
        let note = "deleted: it names no Service";
        plan.events.push(HUB.warning(copy, events::REFERENCE_REFUSED, note));
        plan.push(HUB.delete(copy).urgent());
    }
}
