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

/// Maximum length of the note about refused keys, in bytes.
const MAX_NOTE: usize = 512;

/// What is exported, and what is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exported {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    /// Each key that is left out, with the reason.
    pub(super) refused: Vec<String>,
}

impl Exported {
    /// What is exported of a ServiceExport.
    pub(super) fn of(settings: &Settings, export: &standard::ServiceExport) -> Self {
        if !settings.multicluster.exported_metadata {
            return Self::default();
        }
        let (labels, annotations) = (&export.exported_labels, &export.exported_annotations);
        let mut taken = Taken { left: METADATA, refused: Vec::new() };
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
    let refused = Exported::of(state.settings, export).refused;
    let note = format!("not exported: {}", refused.join("; "));
    let note = truncate(&note, MAX_NOTE).to_owned();
    let reason = events::EXPORTED_METADATA_REFUSED;
    (!refused.is_empty()).then(|| LOCAL.warning(export, reason, note))
}

/// What there is still room for, and what is left out.
struct Taken {
    /// Bytes.
    left: usize,
    refused: Vec<String>,
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
                self.refused.push(format!("{key:?} of the {what}: {problem}"));
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
