//! The model's side.

use std::collections::BTreeMap;

use fleet_accumulator::ClusterId;
use fleet_api::ObjectName;
use fleet_model_server::{ModelServer, Refusal};
use fleet_plan::{Action, Precondition};
use fleet_runtime::writer::Class;
use serde_json::Value;

use crate::operations::Operation;
use crate::transcript::{Change, Transcript, normal};

/// Plays a sequence on a new model.
pub(super) fn play(namespace: &str, sequence: &[Operation]) -> Transcript {
    let mut model = ModelServer::new(ClusterId::Hub);
    let mut transcript = Transcript::default();
    let mut seen: BTreeMap<_, Vec<Precondition>> = BTreeMap::new();
    for operation in sequence {
        let seen = seen.entry((operation.kind, operation.name)).or_default();
        let step = operation.step(namespace, seen);
        let name = ObjectName::new(namespace, operation.name);
        let before = model.get(operation.kind, &name).cloned();
        let answer = model.execute(&step).err().map(|refusal| class(refusal, &step.action));
        transcript.answers.push(answer);
        let after = model.get(operation.kind, &name);
        let kind = operation.kind.kind;
        let change = match (&before, after) {
            (None, Some(after)) => Some(Change::Added(normal(kind, after))),
            (Some(before), Some(after)) if version(before) != version(after) => {
                Some(Change::Written(normal(kind, after)))
            }
            (Some(_), None) => Some(Change::Gone),
            _ => None,
        };
        if let (Some(after), Some(_)) = (after, &change) {
            seen.push(version(after));
        }
        let key = (kind, operation.name.to_owned());
        transcript.versions.entry(key).or_default().extend(change);
    }
    transcript.versions.retain(|_, changes| !changes.is_empty());
    transcript
}

fn version(object: &Value) -> Precondition {
    let text = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    Precondition { uid: text("uid").into(), version: text("resourceVersion").into() }
}

/// The writer's word for it. A server answers a patch that does not fit like one whose tests fail.
fn class(refusal: Refusal, action: &Action) -> Class {
    match refusal {
        Refusal::AlreadyExists => Class::AlreadyExists,
        Refusal::NotFound => Class::NotFound,
        Refusal::Misfit if matches!(action, Action::Patch { .. }) => Class::Conflict,
        Refusal::Conflict => Class::Conflict,
        Refusal::Misfit | Refusal::Invalid => Class::Invalid,
        Refusal::NamespaceMissing => Class::NamespaceMissing,
        Refusal::NamespaceTerminating => Class::NamespaceTerminating,
    }
}
