//! Kubernetes Events about the objects that plans look at.

use fleet_accumulator::{Object, Tracked};
use fleet_api::events;
use fleet_plan::{Event, EventType};

use crate::steps::Target;

impl Target {
    /// Something went as it should. `reason` is one of [`fleet_api::events`], `note` a sentence for a person.
    pub fn normal<T: Tracked>(
        self,
        record: &Object<T>,
        reason: &'static str,
        note: impl Into<String>,
    ) -> Event {
        self.event(record, EventType::Normal, reason, note)
    }

    /// A user should look.
    pub fn warning<T: Tracked>(
        self,
        record: &Object<T>,
        reason: &'static str,
        note: impl Into<String>,
    ) -> Event {
        self.event(record, EventType::Warning, reason, note)
    }

    /// Either of both.
    pub fn event<T: Tracked>(
        self,
        record: &Object<T>,
        event_type: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) -> Event {
        Event {
            cluster: self.cluster,
            kind: T::KIND,
            name: record.name.clone(),
            uid: record.uid.clone(),
            event_type,
            reason,
            note: note.into(),
        }
    }

    /// The agent cannot work for this object until something outside of it changes.
    pub fn blocked<T: Tracked>(self, record: &Object<T>, why: &str) -> Event {
        let note = format!("nothing changes for it until this works: {why}");
        self.warning(record, events::BLOCKED, note)
    }

    /// An API server refuses what the agent writes for this object.
    pub fn rejected<T: Tracked>(self, record: &Object<T>, why: &str) -> Event {
        self.warning(record, events::WRITE_REFUSED, format!("what it needs is refused: {why}"))
    }
}
