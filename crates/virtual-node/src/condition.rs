//! Conditions of Pods and nodes.

use jiff::Timestamp;
use serde_json::{Value, json};

/// A condition of a Pod or a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub type_: String,
    /// Whether it is met. A status that is unknown is not.
    pub status: bool,
    /// Why.
    pub reason: String,
    /// The same, for a person.
    pub message: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

impl Condition {
    /// Reads a condition of a Pod or Node as the API server has it.
    pub fn read(condition: &Value) -> Self {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        Self {
            type_: text("type"),
            status: condition["status"] == "True",
            reason: text("reason"),
            message: text("message"),
            since: text("lastTransitionTime").parse().ok(),
        }
    }

    /// A condition without a time.
    pub(crate) fn new(type_: &str, status: bool, reason: &str, message: String) -> Self {
        let (type_, reason) = (type_.to_owned(), reason.to_owned());
        Self { type_, status, reason, message, since: None }
    }

    /// A condition that was met or not met since `now`, or since the present one of its type has the same status.
    pub(crate) fn since(mut self, present: &[Self], now: Timestamp) -> Self {
        let same = present.iter().find(|old| old.type_ == self.type_ && old.status == self.status);
        let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
        self.since = same.and_then(|old| old.since).or(Some(whole));
        self
    }

    /// The condition as Kubernetes has it.
    pub(crate) fn document(&self) -> Value {
        let mut fields = json!({
            "type": self.type_,
            "status": if self.status { "True" } else { "False" },
        });
        for (name, value) in [("reason", &self.reason), ("message", &self.message)] {
            if !value.is_empty() {
                fields[name] = value.clone().into();
            }
        }
        if let Some(since) = self.since {
            fields["lastTransitionTime"] = since.to_string().into();
        }
        fields
    }
}
