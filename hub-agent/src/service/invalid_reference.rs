//! Objects that are part of no Service, because they cannot be decoded, because their reference is invalid or because
//! they exceed a bound: they are rejected and reported, and their deletion is not blocked.

use fleet_accumulator::{Object, View};
use fleet_api::names::member_of_namespace;
use fleet_api::{ObjectName, ResourceKind, events, finalizers, kinds};
use fleet_model::objects::{HasMeta, named};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::text::truncate;
use jiff::Timestamp;

use super::keys::{FromMember, Key, has_valid_reference, key_of, key_of_copy};
use super::{notice, rejection};
use crate::snapshot::HubSnapshot;

/// Maximum length of a referenced name in an Event, in bytes: members can write any length.
const MAX_NAME: usize = 128;
/// Maximum length of what is reported about an object that cannot be decoded, in bytes: it quotes the object.
const MAX_DEFECT: usize = 256;

/// Reports an object that is rejected, or releases it if it is being deleted.
pub(super) fn plan(
    kind: ResourceKind,
    name: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    if kind == kinds::INTERNAL_SERVICE_EXPORT {
        reject(&snapshot.internal_exports, name, finalizers::INTERNAL_SERVICE_EXPORT, &mut plan);
        set_invalid_condition(name, snapshot, now, &mut plan);
    } else if kind == kinds::INTERNAL_SERVICE_IMPORT {
        reject(&snapshot.internal_imports, name, finalizers::INTERNAL_SERVICE_IMPORT, &mut plan);
        annotate(&snapshot.internal_imports, name, &mut plan);
    } else if kind == kinds::ENDPOINT_SLICE_EXPORT {
        reject(&snapshot.slice_exports, name, finalizers::ENDPOINT_SLICE_EXPORT, &mut plan);
        annotate(&snapshot.slice_exports, name, &mut plan);
    } else {
        remove_copy(name, snapshot, &mut plan);
    }
    plan
}

fn reject<T: FromMember + HasMeta>(
    view: &View<T>,
    name: &ObjectName,
    finalizer: &str,
    plan: &mut Plan,
) {
    let object =
        view.get(name).filter(|object| matches!(key_of(object), Key::InvalidReference(..)));
    let Some(object) = object else {
        return; // Deleted, or it has become valid.
    };
    if !object.meta().is_terminating() {
        let (reason, note) = why(object);
        plan.events.push(HUB.warning(object, reason, note));
        return;
    }
    plan.steps.extend(HUB.remove_finalizer(object, finalizer));
}

/// Reason and note of the Event about a rejected object.
fn why<T: FromMember>(object: &Object<T>) -> (&'static str, String) {
    if let Some(defect) = object.unreadable() {
        let note = format!("rejected: it cannot be decoded: {}", truncate(defect, MAX_DEFECT));
        return (events::REFERENCE_REFUSED, note);
    }
    if let Some(excess) = object.excess().filter(|_| has_valid_reference(object)) {
        return (events::LIMIT_EXCEEDED, format!("rejected: {excess}"));
    }
    let note = format!(
        "rejected: it refers to {:?} of cluster {:?}, which contradicts its own namespace or name {}",
        truncate(&object.referenced_name(), MAX_NAME),
        truncate(object.referenced_member(), MAX_NAME),
        object.name,
    );
    (events::REFERENCE_REFUSED, note)
}

/// Annotates a rejected object of a kind without conditions.
fn annotate<T: FromMember + HasMeta>(view: &View<T>, name: &ObjectName, plan: &mut Plan) {
    let Some(event) = plan.events.first() else { return };
    let step = view.get(name).and_then(|object| notice::annotate(object, Some(&event.note)));
    plan.steps.extend(step);
}

/// Sets the condition `Valid` of a rejected export. The other kinds have no conditions.
fn set_invalid_condition(
    name: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let Some(event) = plan.events.first() else { return };
    let Some(export) = snapshot.internal_exports.get(name) else { return };
    let step = rejection::condition(export, event, now);
    plan.steps.extend(step);
}

/// Deletes a copy of a slice that names no Service: only the hub agent creates copies, so it was altered. If a
/// slice of its name is exported, the Service of that slice restores the copy.
fn remove_copy(name: &ObjectName, snapshot: &HubSnapshot, plan: &mut Plan) {
    let copy = snapshot.slice_imports.get(name);
    let copy = copy.filter(|_| member_of_namespace(&name.namespace).is_some());
    let Some(copy) = copy.filter(|copy| matches!(key_of_copy(copy), Key::InvalidReference(..)))
    else {
        return;
    };
    if snapshot.slice_exports.by(&named(&copy.slice_name(name))).next().is_some() {
        return;
    }
    if !copy.meta.is_terminating() {
        let note = "deleted: its reference does not name a Service";
        plan.events.push(HUB.warning(copy, events::REFERENCE_REFUSED, note));
        plan.push(HUB.delete(copy).urgent());
    }
}
