//! Whether the status of a Pod is what it should be, and when it is written.

use std::net::IpAddr;

use fleet_accumulator::Object;
use fleet_model::objects::offload::PodDocument;
use fleet_model::steps::LOCAL;
use fleet_plan::{Action, Step};
use fleet_virtual_node::pod::LocalPod;
use fleet_virtual_node::status::{DesiredStatus, Pace, document, pace};
use serde_json::Value;

use crate::status_writes::StatusWrites;

/// What is to be done about the status of a Pod.
pub(super) enum StatusWrite {
    /// It is as it should be.
    None,
    /// It is written now.
    Now(Box<Step>),
    /// It is written after a while.
    After(std::time::Duration),
}

/// What is to be done about the status of a Pod that should have `desired`.
pub(super) fn status_write(
    object: &Object<PodDocument>,
    pod: &LocalPod,
    desired: &DesiredStatus,
    host: Option<IpAddr>,
    writes: &StatusWrites,
) -> StatusWrite {
    let body = document(pod, desired, host);
    if covers(&object.object.document["status"], &body["status"]) {
        return StatusWrite::None;
    }
    match pace(pod, desired, writes.since(&pod.uid)) {
        Pace::After(rest) => StatusWrite::After(rest),
        Pace::Now => {
            let action = Action::Apply { body: body.into(), status: true };
            let step = LOCAL.step::<PodDocument>(object.name.clone(), action);
            let was_ready = pod.conditions.iter().any(|one| one.type_ == "Ready" && one.status);
            let step = if was_ready && !desired.is_ready() { step.urgent() } else { step };
            StatusWrite::Now(Box::new(step))
        }
    }
}

/// Whether an object has all of what is wanted. What is there beside that belongs to other clients, or goes with the next write: a
/// field of ours that is not wanted any more always goes together with another one that changes.
pub(super) fn covers(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            let found = present.get(name).unwrap_or(&Value::Null);
            match (name.as_str(), found.as_array(), wanted.as_array()) {
                // Those of other types are of others.
                ("conditions" | "addresses", Some(found), Some(wanted)) => {
                    wanted.iter().all(|one| has_type(found, one))
                }
                _ => covers(found, wanted) || is_empty(wanted) && found.is_null(),
            }
        }),
        (Value::Array(present), Value::Array(wanted)) => {
            present.len() == wanted.len()
                && present.iter().zip(wanted).all(|(present, wanted)| covers(present, wanted))
        }
        _ => present == wanted,
    }
}

/// A server leaves out what is empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

fn has_type(present: &[Value], wanted: &Value) -> bool {
    present.iter().any(|one| one["type"] == wanted["type"] && covers(one, wanted))
}
