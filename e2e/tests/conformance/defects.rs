//! Defects that a model may have. Each distorts what the model answered and did.

use fleet_runtime::writer::Class;
use serde_json::{Value, json};

use crate::transcript::{Change, Transcript};

/// What a model with the defect does, and what becomes of its words.
type Defect = (&'static str, fn(Transcript) -> Transcript);

pub(super) const ALL: [Defect; 11] = [
    ("ignores preconditions", |told| answers(told, Class::Conflict, None)),
    ("takes a name twice", |told| answers(told, Class::AlreadyExists, None)),
    ("writes what is not there", |told| answers(told, Class::NotFound, None)),
    ("takes finalizers for what is being deleted", |told| answers(told, Class::Invalid, None)),
    ("calls a taken name a conflict", |told| {
        answers(told, Class::AlreadyExists, Some(Class::Conflict))
    }),
    ("never counts generations", |told| versions(told, |one| one["generation"] = json!(1))),
    ("keeps no status", |told| versions(told, |one| one["status"] = Value::Null)),
    ("forgets labels", |told| versions(told, |one| one["labels"] = Value::Null)),
    ("lets finalizers hold nothing", |told| {
        changes(told, |change| match change {
            Change::Written(object) if object["deleted"] == true => Change::Gone,
            other => other,
        })
    }),
    ("shows writes without a change", |mut told| {
        for changes in told.versions.values_mut() {
            if let Some(Change::Written(last)) = changes.last().cloned() {
                changes.push(Change::Written(last));
            }
        }
        told
    }),
    ("changes the order of events", |mut told| {
        told.versions.values_mut().for_each(|changes| changes.reverse());
        told
    }),
];

fn answers(mut told: Transcript, from: Class, to: Option<Class>) -> Transcript {
    let wrong = told.answers.iter_mut().filter(|answer| **answer == Some(from));
    wrong.for_each(|answer| *answer = to);
    told
}

fn changes(mut told: Transcript, distort: impl Fn(Change) -> Change) -> Transcript {
    for changes in told.versions.values_mut() {
        *changes = std::mem::take(changes).into_iter().map(&distort).collect();
    }
    told
}

fn versions(told: Transcript, distort: impl Fn(&mut Value)) -> Transcript {
    changes(told, |change| match change {
        Change::Added(mut object) => {
            distort(&mut object);
            Change::Added(object)
        }
        Change::Written(mut object) => {
            distort(&mut object);
            Change::Written(object)
        }
        Change::Gone => Change::Gone,
    })
}
