//! Labels and annotations that a ServiceExport asks for on the imports of its Service.

use std::collections::BTreeMap;

use fleet_accumulator::{Object, Texts};
use fleet_api::events;
use fleet_api::limits::exported::{ANNOTATION, ANNOTATIONS, KEY, LABELS, METADATA};
use fleet_model::multicluster::metadata::{is_allowed_key, is_allowed_label};
use fleet_model::objects::multicluster::standard;
use fleet_model::steps::LOCAL;
use fleet_plan::Event;
use fleet_plan::text::truncate;

use super::state::ServiceState;
use crate::Settings;

/// How many refused keys the note names.
const NAMED: usize = 3;
/// How much of a key it quotes, in bytes: a ServiceExport can have any.
const MAX_KEY: usize = 64;

/// What is exported, and what is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exported {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    /// What is left out.
    pub(super) refused: Refused,
}

/// Keys that are left out: a ServiceExport can have thousands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refused {
    /// The first ones, with the reasons.
    named: Vec<String>,
    count: usize,
}

impl Refused {
    fn add(&mut self, key: &str, what: &str, problem: &str) {
        self.count += 1;
        if self.named.len() < NAMED {
            let key = truncate(key, MAX_KEY);
            self.named.push(format!("{key:?} of the {what}: {problem}"));
        }
    }

    /// The note about them, if there are any.
    fn note(&self) -> Option<String> {
        let more = self.count - self.named.len();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        (self.count > 0).then(|| format!("not exported: {}{more}", self.named.join("; ")))
    }
}

impl Exported {
    /// What is exported of a ServiceExport.
    pub(super) fn of(settings: &Settings, export: &standard::ServiceExport) -> Self {
        if !settings.multicluster.exported_metadata {
            return Self::default();
        }
        let (labels, annotations) = (&export.exported_labels, &export.exported_annotations);
        let mut taken = Taken { left: METADATA, refused: Refused::default() };
        Self {
            labels: taken.take(labels, label, LABELS.accepted, "labels"),
            annotations: taken.take(annotations, annotation, ANNOTATIONS.accepted, "annotations"),
            refused: taken.refused,
        }
    }
}

/// Reports keys that are left out.
pub(super) fn event(
    state: &ServiceState<'_>,
    export: &Object<standard::ServiceExport>,
) -> Option<Event> {
    let note = Exported::of(state.settings, export).refused.note()?;
    Some(LOCAL.warning(export, events::EXPORTED_METADATA_REFUSED, note))
}

/// What there is still room for, and what is left out.
struct Taken {
    /// Bytes.
    left: usize,
    refused: Refused,
}

impl Taken {
    /// The entries that can be exported: the first by key, up to a number, as far as they have room.
    fn take(
        &mut self,
        asked: &Texts,
        problem: fn(&str, &str) -> Option<String>,
        most: usize,
        what: &str,
    ) -> BTreeMap<String, String> {
        let mut taken = BTreeMap::new();
        for (key, value) in asked.iter() {
            let size = key.len() + value.len();
            let problem = problem(key, value)
                .or_else(|| {
                    let full = taken.len() == most;
                    full.then(|| format!("no more than {most} {what} are exported"))
                })
                .or_else(|| {
                    let over = size > self.left;
                    over.then(|| format!("no more than {METADATA} bytes are exported together"))
                });
            if let Some(problem) = problem {
                self.refused.add(key, what, &problem);
            } else {
                self.left -= size;
                taken.insert(key.to_string(), value.to_string());
            }
        }
        taken
    }
}

fn label(key: &str, value: &str) -> Option<String> {
    let is_bad = is_allowed_key(key) && !is_allowed_label(key, value);
    self::key(key).or_else(|| is_bad.then(|| "its value cannot be that of a label".to_owned()))
}

fn annotation(key: &str, value: &str) -> Option<String> {
    let most = ANNOTATION.accepted;
    let is_long = value.chars().count() > most;
    self::key(key)
        .or_else(|| is_long.then(|| format!("its value is longer than {most} characters")))
}

fn key(key: &str) -> Option<String> {
    let refused =
        "it is no key of labels and annotations, or its prefix is reserved for Kubernetes";
    (key.len() > KEY || !is_allowed_key(key)).then(|| refused.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_first_keys_and_counts_the_others() {
        let mut refused = Refused::default();
        assert_eq!(refused.note(), None);
        refused.add("a", "labels", "reserved");
        let one = r#"not exported: "a" of the labels: reserved"#;
        assert_eq!(refused.note().as_deref(), Some(one));
        for _ in 0..10_000 {
            refused.add(&"k".repeat(10_000), "annotations", "reserved");
        }
        let note = refused.note().unwrap();
        assert!(note.starts_with(one) && note.ends_with("; and 9998 more"), "{note}");
        assert!(note.len() < 512, "{} bytes", note.len());
    }
}
