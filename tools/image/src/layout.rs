//! An image layout in a folder: what one repository of a registry has, with its tags.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::blobs::{Blobs, index, to_bytes};

/// Annotation of an entry with its tag.
const TAG: &str = "org.opencontainers.image.ref.name";

/// What an entry of a layout is for cosign, which reads layouts by this annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One manifest.
    Image,
    /// A list of manifests.
    ImageIndex,
    /// Signatures of the one or the other.
    Signatures,
    /// Nothing that cosign looks for.
    Other,
}

/// The content of one repository.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// All contents.
    pub blobs: Blobs,
    entries: Vec<Value>,
}

impl Layout {
    /// Reads which manifests a layout in a folder lists; its contents stay there.
    ///
    /// # Errors
    /// If the folder has no layout.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("index.json");
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut index: Value =
            serde_json::from_slice(&bytes).with_context(|| format!("in {}", path.display()))?;
        let Value::Array(entries) = index["manifests"].take() else {
            bail!("{} lists no manifests", path.display());
        };
        Ok(Self { blobs: Blobs::default(), entries })
    }

    /// The manifests that are listed, each with its tag if it has one.
    pub fn listed(&self) -> impl Iterator<Item = (&Value, Option<&str>)> {
        self.entries.iter().map(|entry| (entry, entry["annotations"][TAG].as_str()))
    }

    /// Lists a manifest, with a tag if it gets one.
    pub fn list(&mut self, descriptor: &Value, tag: Option<&str>, kind: Kind) {
        let mut entry = descriptor.clone();
        let mut annotations = json!({});
        if let Some(tag) = tag {
            annotations[TAG] = json!(tag);
        }
        if let Some(kind) = kind.annotation() {
            annotations["kind"] = json!(kind);
        }
        entry["annotations"] = annotations;
        self.entries.push(entry);
    }

    /// Writes the layout into a folder, which has nothing else in it but what was there when it was opened; the list last.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs).with_context(|| format!("creating {}", blobs.display()))?;
        let write = |path: &Path, bytes: &[u8]| {
            fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
        };
        for (digest, bytes) in self.blobs.iter() {
            write(&blobs.join(digest), bytes)?;
        }
        let version = json!({ "imageLayoutVersion": "1.0.0" });
        write(&folder.join("oci-layout"), &to_bytes(&version))?;
        write(&folder.join("index.json"), &to_bytes(&index(&self.entries)))
    }
}

impl Kind {
    fn annotation(self) -> Option<&'static str> {
        match self {
            Self::Image => Some("dev.cosignproject.cosign/image"),
            Self::ImageIndex => Some("dev.cosignproject.cosign/imageIndex"),
            Self::Signatures => Some("dev.cosignproject.cosign/sigs"),
            Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_all_blobs_and_the_tags() {
        let mut layout = Layout::default();
        let descriptor = layout.blobs.index(&[]);
        layout.list(&descriptor, Some("1.2.3"), Kind::ImageIndex);
        layout.list(&descriptor, None, Kind::Other);
        let folder = std::env::temp_dir().join(format!("fleet-layout-{}", std::process::id()));
        layout.write(&folder).unwrap();
        let read = |name: &str| -> Value {
            serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
        };
        let entries = read("index.json")["manifests"].clone();
        let annotations = json!({
            "org.opencontainers.image.ref.name": "1.2.3",
            "kind": "dev.cosignproject.cosign/imageIndex",
        });
        assert_eq!(entries[0]["annotations"], annotations);
        assert_eq!(entries[1]["annotations"], json!({}));
        let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
        assert_eq!(read(&format!("blobs/{digest}"))["manifests"], json!([]));
        assert_eq!(read("oci-layout")["imageLayoutVersion"], "1.0.0");
        let opened = Layout::open(&folder).unwrap();
        let tags: Vec<_> = opened.listed().map(|(_, tag)| tag).collect();
        assert_eq!(tags, [Some("1.2.3"), None]);
        fs::remove_dir_all(folder).unwrap();
    }
}
