//! Object metadata as snapshots keep it.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use parking_lot::Mutex;

use crate::shared::{Shared, known_text, shared_text};
use crate::texts::Texts;

/// Written by `kubectl apply`: a copy of the whole object, of no use to anybody here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Metadata that plans look at. Name, uid and resource version live in the
/// [`Object`](crate::Object): they do not take part in comparing contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Counts changes of the spec; 0 where the kind has none.
    pub generation: i64,
    /// When the API server stored the object first.
    pub created: Option<Timestamp>,
    shared: Arc<SharedMeta>,
}

/// The part of the metadata that most objects of a kind have in common: it is kept once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedMeta {
    /// `deletionTimestamp`: when deletion was asked for, while finalizers hold the object.
    pub deleted: Option<Timestamp>,
    /// Labels.
    pub labels: Texts,
    /// Annotations, without the copy of the object that kubectl leaves there.
    pub annotations: Texts,
    /// Finalizers, in the order of the object.
    pub finalizers: Box<[Arc<str>]>,
    /// Owner references, in the order of the object.
    pub owners: Box<[OwnerReference]>,
}

static SHARED: LazyLock<Mutex<Shared<SharedMeta>>> = LazyLock::new(Mutex::default);

// Owner references are compared field by field and hold text and flags only; the generated type
// merely lacks the marker.
impl Eq for Meta {}
impl Eq for SharedMeta {}

impl Hash for SharedMeta {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { deleted, labels, annotations, finalizers, owners } = self;
        (deleted, labels, annotations, finalizers).hash(state);
        owners.iter().for_each(|owner| owner.uid.hash(state));
    }
}

impl Deref for Meta {
    type Target = SharedMeta;

    fn deref(&self) -> &SharedMeta {
        &self.shared
    }
}

impl Meta {
    /// Copies what is kept.
    pub fn from_object(meta: &ObjectMeta) -> Self {
        let texts = |map: &Option<BTreeMap<String, String>>| {
            let entries = map.iter().flatten().filter(|(key, _)| key.as_str() != LAST_APPLIED);
            entries.map(|(key, value)| (shared_text(key), known_text(value))).collect()
        };
        let shared = SharedMeta {
            deleted: meta.deletion_timestamp.as_ref().map(|time| time.0),
            labels: texts(&meta.labels),
            annotations: texts(&meta.annotations),
            finalizers: meta.finalizers.iter().flatten().map(|name| shared_text(name)).collect(),
            owners: meta.owner_references.iter().flatten().cloned().collect(),
        };
        Self {
            generation: meta.generation.unwrap_or_default(),
            created: meta.creation_timestamp.as_ref().map(|time| time.0),
            shared: SHARED.lock().share(shared),
        }
    }

    /// Whether deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        self.deleted.is_some()
    }

    /// Whether `finalizer` holds the object.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|name| &**name == finalizer)
    }

    /// Value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(|value| &**value)
    }

    /// Value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(|value| &**value)
    }

    /// The one owner that controls the object, if any.
    pub fn controller_owner(&self) -> Option<&OwnerReference> {
        self.owners.iter().find(|owner| owner.controller == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_copied_without_the_copy_of_the_object() {
        let meta: ObjectMeta = serde_json::from_value(serde_json::json!({
            "name": "shop", "generation": 3, "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"app": "shop"},
            "annotations": {LAST_APPLIED: "{}", "note": "kept"},
            "finalizers": ["example.com/hold"],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"},
                {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true}
            ]
        }))
        .unwrap();
        let meta = Meta::from_object(&meta);
        assert_eq!(meta.generation, 3);
        assert!(meta.created.is_some());
        assert!(!meta.is_terminating());
        assert_eq!(meta.label("app"), Some("shop"));
        assert_eq!(meta.annotation("note"), Some("kept"));
        assert_eq!(meta.annotation(LAST_APPLIED), None);
        assert!(meta.has_finalizer("example.com/hold"));
        assert_eq!(meta.controller_owner().map(|owner| owner.name.as_str()), Some("b"));
    }
}
