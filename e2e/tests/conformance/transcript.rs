//! What a server answered and did, so that it can be compared with what another did.

use std::collections::BTreeMap;

use fleet_runtime::writer::Class;
use serde_json::{Value, json};

use crate::operations::Operation;

/// What happened to an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// It was made.
    Added(Value),
    /// It was written.
    Written(Value),
    /// It is gone.
    Gone,
}

/// Versions by kind and name, in order.
pub(super) type Versions = BTreeMap<(&'static str, String), Vec<Change>>;

/// One sequence at one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Transcript {
    /// To each operation, why it failed, if it did.
    pub(super) answers: Vec<Option<Class>>,
    /// What a watch showed.
    pub(super) versions: Versions,
}

impl Transcript {
    /// The first thing that is not the same.
    pub(super) fn difference(&self, real: &Self, sequence: &[Operation]) -> Option<String> {
        let answers = self.answers.iter().zip(&real.answers).enumerate();
        for (at, (model, real)) in answers {
            if model != real {
                let before = &sequence[..=at];
                return Some(format!(
                    "the model says {model:?}, the server {real:?}:\n{before:#?}"
                ));
            }
        }
        let keys = self.versions.keys().chain(real.versions.keys());
        for key in keys {
            let (model, real) = (self.versions.get(key), real.versions.get(key));
            if model != real {
                let at = model.into_iter().flatten().zip(real.into_iter().flatten());
                let same = at.take_while(|(model, real)| model == real).count();
                let nth =
                    |changes: Option<&Vec<Change>>| changes.and_then(|all| all.get(same).cloned());
                let (model, real) = (nth(model), nth(real));
                return Some(format!("{key:?}, change {same}: {model:#?}, the server: {real:#?}"));
            }
        }
        None
    }
}

/// An object without what is different on every server: identity, versions, times, and what servers fill in.
pub(super) fn normal(kind: &str, object: &Value) -> Value {
    let metadata = &object["metadata"];
    let list = |field: &str| match &metadata[field] {
        Value::Array(list) if list.is_empty() => Value::Null,
        other => other.clone(),
    };
    let mut normal = json!({
        "labels": metadata["labels"],
        "annotations": metadata["annotations"],
        "finalizers": list("finalizers"),
        "deleted": !metadata["deletionTimestamp"].is_null(),
        // Services have none.
        "generation": if kind == "Service" { Value::Null } else { metadata["generation"].clone() },
        "status": if kind == "Service" { Value::Null } else { object["status"].clone() },
    });
    match kind {
        "Service" => {
            let port = |port: &Value| json!([port["name"], port["port"], port["protocol"]]);
            let ports = object["spec"]["ports"].as_array().into_iter().flatten();
            normal["ports"] = ports.map(port).collect();
        }
        "EndpointSlice" => {
            let addresses = object["endpoints"].as_array().into_iter().flatten();
            normal["endpoints"] = addresses.map(|one| one["addresses"].clone()).collect();
        }
        _ => normal["spec"] = object["spec"].clone(),
    }
    normal
}
