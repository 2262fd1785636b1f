//! The condition of an export that is part of no Service, or does not count for it.

use fleet_accumulator::Object;
use fleet_api::conditions;
use fleet_model::objects::InternalServiceExport;
use fleet_model::steps::HUB;
use fleet_plan::conditions::{Wanted, apply};
use fleet_plan::{Event, Step};
use jiff::Timestamp;
use serde_json::json;

/// Sets the condition `Valid` of an export to what an Event about it reports, unless it is set already.
pub(super) fn condition(
    export: &Object<InternalServiceExport>,
    event: &Event,
    now: Timestamp,
) -> Option<Step> {
    let invalid = Wanted {
        type_: conditions::VALID,
        status: conditions::FALSE.to_owned(),
        reason: event.reason.to_owned(),
        message: event.note.clone(),
        generation: export.meta.generation,
    };
    // The condition `Conflict` is outdated.
    let mut present = export.conditions.clone();
    present.retain(|condition| condition.type_ != conditions::CONFLICT);
    let conditions = apply(&present, [invalid], now).unwrap_or(present);
    let differs = conditions != export.conditions;
    differs.then(|| HUB.status(export, &json!({ "conditions": conditions })))
}
