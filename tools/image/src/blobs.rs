//! Contents by their digest, and the manifests that list them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::digest::sha256;

/// Media type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Media type of a list of manifests.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Media type of a configuration that has nothing in it.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// Blobs by their digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blobs(BTreeMap<String, Vec<u8>>);

/// What is in a manifest beside its layers.
#[derive(Clone, Debug, Default)]
pub struct Content<'a> {
    /// What the artefact is; `None` where the configuration's type states it.
    pub artifact_type: Option<&'a str>,
    /// The configuration, as its descriptor; an empty one by default.
    pub config: Option<Value>,
    /// The layers, as descriptors.
    pub layers: Vec<Value>,
    /// For people.
    pub annotations: Value,
    /// The descriptor of what this is about.
    pub subject: Option<&'a Value>,
}

impl Blobs {
    /// Adds a blob and returns its descriptor.
    pub fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = sha256(&bytes);
        let descriptor = json!({
            "mediaType": media_type,
            "digest": format!("sha256:{digest}"),
            "size": bytes.len(),
        });
        self.0.insert(digest, bytes);
        descriptor
    }

    /// Adds a manifest and returns its descriptor.
    pub fn manifest(&mut self, content: Content<'_>) -> Value {
        let Content { artifact_type, config, layers, annotations, subject } = content;
        let config = config.unwrap_or_else(|| self.add(EMPTY, b"{}".to_vec()));
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": layers,
        });
        if let Some(artifact_type) = artifact_type {
            manifest["artifactType"] = json!(artifact_type);
        }
        if let Some(subject) = subject {
            let parts = ["mediaType", "digest", "size"].map(|part| (part, subject[part].clone()));
            manifest["subject"] = parts.into_iter().collect();
        }
        if !annotations.is_null() {
            manifest["annotations"] = annotations;
        }
        // Without the artefact's type, which a descriptor may leave out: skopeo of Debian 12 copies no list with one.
        self.add(MANIFEST, to_bytes(&manifest))
    }

    /// Adds a list of manifests and returns its descriptor.
    pub fn index(&mut self, manifests: &[Value]) -> Value {
        self.add(INDEX, to_bytes(&index(manifests)))
    }

    /// Adds a list of manifests with annotations and returns its descriptor.
    pub fn annotated_index(&mut self, manifests: &[Value], annotations: &Value) -> Value {
        let mut index = index(manifests);
        index["annotations"] = annotations.clone();
        self.add(INDEX, to_bytes(&index))
    }

    /// All blobs, with the hexadecimal digits of their SHA-256.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(digest, bytes)| (digest.as_str(), bytes.as_slice()))
    }
}

/// A list of manifests.
pub fn index(manifests: &[Value]) -> Value {
    json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests })
}

/// Its bytes, which depend on nothing else.
pub fn to_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(blobs: &Blobs, descriptor: &Value) -> Value {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let (_, bytes) = blobs.iter().find(|(one, _)| *one == digest).unwrap();
        assert_eq!(descriptor["size"], bytes.len());
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn a_manifest_lists_what_it_is_made_of_and_what_it_is_about() {
        let mut blobs = Blobs::default();
        let subject = blobs.index(&[]);
        let layer = blobs.add("text/plain", b"bill".to_vec());
        let content = Content {
            artifact_type: Some("application/x"),
            layers: vec![layer.clone()],
            subject: Some(&subject),
            ..Content::default()
        };
        let descriptor = blobs.manifest(content);
        assert_eq!(descriptor.get("artifactType"), None);
        let manifest = parsed(&blobs, &descriptor);
        assert_eq!(manifest["artifactType"], "application/x");
        assert_eq!(manifest["subject"], subject);
        assert_eq!(manifest["layers"], json!([layer]));
        assert_eq!(manifest["config"]["mediaType"], EMPTY);
        assert_eq!(manifest.get("annotations"), None);
        assert_eq!(blobs.iter().count(), 4);
    }
}
