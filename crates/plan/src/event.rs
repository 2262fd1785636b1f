//! Kubernetes Events that a plan asks for.

use fleet_accumulator::{ClusterId, Uid};
use fleet_api::{ObjectName, ResourceKind};

/// Severity of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Something went as it should.
    Normal,
    /// A user should look.
    Warning,
}

/// A Kubernetes Event about a user's object.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Cluster of the object.
    pub cluster: ClusterId,
    /// Kind of the object.
    pub kind: ResourceKind,
    /// The object.
    pub name: ObjectName,
    /// Its uid.
    pub uid: Uid,
    /// Severity.
    pub event_type: EventType,
    /// Machine-readable reason, `UpperCamelCase`.
    pub reason: &'static str,
    /// One sentence for a person.
    pub note: String,
}
