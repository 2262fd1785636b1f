//! What is told while the agent cannot resolve what members export.

use fleet_accumulator::{ClusterId, Record};
use fleet_api::{events, kinds};
use fleet_model::records::InternalServiceExportRecord;
use fleet_runtime::plan::{Event, EventType};

/// An export has to wait. Its member cannot see why, but whoever looks for it on the hub can.
pub(super) fn event(export: &Record<InternalServiceExportRecord>, reason: &str) -> Event {
    Event {
        cluster: ClusterId::Hub,
        kind: kinds::INTERNAL_SERVICE_EXPORT,
        name: export.name.clone(),
        uid: export.uid.clone(),
        event_type: EventType::Warning,
        reason: events::HELD_UP,
        note: format!("nothing changes for it until this works: {reason}"),
    }
}
