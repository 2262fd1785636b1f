//! One write of a provider.

use fleet_api::{ObjectName, ResourceKind};
use serde_json::Value;

/// What is sent to an API server about one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Kind of the object.
    pub kind: ResourceKind,
    /// Its name.
    pub name: ObjectName,
    /// What is sent.
    pub action: WriteAction,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteAction {
    /// A new object. If there is one of that name, it is the same: the name follows from the uid of the Pod.
    Create(Value),
    /// Fields that are ours, whatever else the object has; it is created if it does not exist.
    Apply(Value),
    /// Operations of a JSON patch.
    Patch(Vec<Value>),
    /// The deletion, with this time for containers to end if the object is a Pod.
    Delete {
        /// Seconds.
        grace_seconds: Option<i64>,
    },
}
