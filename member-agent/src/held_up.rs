//! What users are told while the agent cannot work for them.

use fleet_accumulator::{ClusterId, Record, Tracked};
use fleet_api::events;
use fleet_runtime::plan::{Event, EventType};

/// The wish of a user has to wait.
pub(crate) fn held_up<T: Tracked>(wish: &Record<T>, reason: &str) -> Event {
    Event {
        cluster: ClusterId::Local,
        kind: T::KIND,
        name: wish.name.clone(),
        uid: wish.uid.clone(),
        event_type: EventType::Warning,
        reason: events::HELD_UP,
        note: format!("nothing changes for it until this works: {reason}"),
    }
}
