//! Kubernetes Events about the objects that plans look at.

use fleet_accumulator::{Object, Tracked};
use fleet_api::events;
use fleet_plan::{Event, EventType};

use crate::steps::Target;

impl Target {
    /// An Event of type `Normal`. `reason` is one of [`fleet_api::events`], `note` a clause for users.
    pub fn normal<T: Tracked>(
        self,
        object: &Object<T>,
        reason: &'static str,
        note: impl Into<String>,
    ) -> Event {
        self.event(object, EventType::Normal, reason, note)
    }

    /// An Event of type `Warning`, for what a user has to know or change.
    pub fn warning<T: Tracked>(
        self,
        object: &Object<T>,
        reason: &'static str,
        note: impl Into<String>,
    ) -> Event {
        self.event(object, EventType::Warning, reason, note)
    }

    /// An Event of either type.
    pub fn event<T: Tracked>(
        self,
        object: &Object<T>,
        event_type: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) -> Event {
        Event {
            cluster: self.cluster,
            kind: T::KIND,
            name: object.name.clone(),
            uid: object.uid.clone(),
            event_type,
            reason,
            note: note.into(),
        }
    }

    /// The agent cannot reconcile this object, because it cannot read all that it needs.
    pub fn blocked<T: Tracked>(self, object: &Object<T>, why: &str) -> Event {
        let note = format!("cannot reconcile: {why}");
        self.warning(object, events::BLOCKED, note)
    }

    /// An API server rejects a write that this object requires.
    pub fn rejected<T: Tracked>(self, object: &Object<T>, why: &str) -> Event {
        self.warning(
            object,
            events::WRITE_REFUSED,
            format!("the API server rejects a required write: {why}"),
        )
    }
}
