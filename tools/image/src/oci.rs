//! Image configuration, manifest and index (OCI Image Format Specification 1.1) in one tar.

use anyhow::Result;
use serde_json::{Value, json};
use tar::{EntryType, Header};

use crate::blobs::{self, Blobs, Content, to_bytes};
use crate::layer::Layer;

/// User and group of the programs, which do not exist on the node.
pub const USER: &str = "65532:65532";

/// Path at which programs look for the system's certificates.
pub const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Setting of the programs' allocator, mimalloc. With huge pages it returns memory in pieces of 2 MiB, which are rarely
/// free as a whole, so agents would keep the memory that their first lists needed.
const ALLOCATOR: &str = "MIMALLOC_ALLOW_THP=0";

/// The image for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Name of the architecture in the specification: `amd64`, `arm64`.
    pub architecture: String,
    /// File system of the image.
    pub layer: Layer,
}

/// Where programs are from, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Commit of the source.
    pub revision: Option<String>,
    /// URL of the source.
    pub source: Option<String>,
}

/// Metadata of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Program that the image runs.
    pub program: String,
    /// Name with tag, by which the image is pulled.
    pub reference: String,
    /// Version of the programs.
    pub version: String,
    /// SPDX expression.
    pub licenses: String,
    /// Where the program is from.
    pub origin: Origin,
}

/// Annotations of an image, a chart or a package.
pub fn annotations(title: &str, version: &str, licenses: &str, origin: &Origin) -> Value {
    let mut annotations = json!({
        "org.opencontainers.image.title": title,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": licenses,
    });
    if let Some(revision) = &origin.revision {
        annotations["org.opencontainers.image.revision"] = json!(revision);
    }
    if let Some(source) = &origin.source {
        annotations["org.opencontainers.image.source"] = json!(source);
    }
    annotations
}

/// Builds an image layout with one image for all given architectures.
///
/// # Errors
/// If a size does not fit into a tar header.
pub fn archive(metadata: &Metadata, images: &[Image]) -> Result<Vec<u8>> {
    let mut blobs = Blobs::default();
    let (mut index, _) = add_index(metadata, images, &mut blobs);
    // The first annotation is the specification's, the second one containerd's.
    let tag = metadata.reference.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    index["annotations"] = json!({
        "org.opencontainers.image.ref.name": tag,
        "io.containerd.image.name": metadata.reference,
    });
    let mut tar = tar::Builder::new(Vec::new());
    add(&mut tar, "oci-layout", &to_bytes(&json!({ "imageLayoutVersion": "1.0.0" })))?;
    add(&mut tar, "index.json", &to_bytes(&blobs::index(&[index])))?;
    for (digest, bytes) in blobs.iter() {
        add(&mut tar, &format!("blobs/sha256/{digest}"), bytes)?;
    }
    Ok(tar.into_inner()?)
}

/// Adds one image for all given architectures. Returns the descriptor of its index, and those of the architectures in their order.
pub fn add_index(metadata: &Metadata, images: &[Image], blobs: &mut Blobs) -> (Value, Vec<Value>) {
    let labels = labels(metadata);
    let manifests: Vec<_> =
        images.iter().map(|image| manifest(metadata, image, &labels, blobs)).collect();
    (blobs.annotated_index(&manifests, &labels), manifests)
}

fn labels(metadata: &Metadata) -> Value {
    let Metadata { program, reference: _, version, licenses, origin } = metadata;
    annotations(program, version, licenses, origin)
}

fn manifest(metadata: &Metadata, image: &Image, labels: &Value, blobs: &mut Blobs) -> Value {
    let config = json!({
        "architecture": image.architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "WorkingDir": "/",
            "Entrypoint": [format!("/{}", metadata.program)],
            "Env": ["PATH=/", ALLOCATOR],
            "Labels": labels,
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", image.layer.diff_id)] },
    });
    let config = blobs.add("application/vnd.oci.image.config.v1+json", to_bytes(&config));
    let layer = blobs.add("application/vnd.oci.image.layer.v1.tar+gzip", image.layer.bytes.clone());
    let content = Content {
        config: Some(config),
        layers: vec![layer],
        annotations: labels.clone(),
        ..Content::default()
    };
    let mut manifest = blobs.manifest(content);
    manifest["platform"] = json!({ "architecture": image.architecture, "os": "linux" });
    manifest
}

fn add(tar: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes.len() as u64);
    Ok(tar.append_data(&mut header, path, bytes)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use super::*;
    use crate::digest::sha256;
    use crate::layer::File;

    fn unpack(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(archive);
        let files = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.path().unwrap().display().to_string(), bytes)
        });
        files.collect()
    }

    /// The blob of a descriptor, whose digest and size are right.
    fn follow<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Value) -> &'a [u8] {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let blob = &files[&format!("blobs/sha256/{digest}")];
        assert_eq!(sha256(blob), digest);
        assert_eq!(descriptor["size"], blob.len());
        blob
    }

    fn json_of(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn every_architecture_is_found_from_the_index() {
        let metadata = Metadata {
            program: "hub-agent".to_owned(),
            reference: "localhost/fleet-networking/hub-agent:1.2.3".to_owned(),
            version: "1.2.3".to_owned(),
            licenses: "Apache-2.0".to_owned(),
            origin: Origin { revision: Some("0123".to_owned()), source: None },
        };
        let image = |architecture: &str| {
            let bytes = architecture.as_bytes().to_vec();
            let file = File { path: "/hub-agent".to_owned(), bytes, executable: true };
            let layer = Layer::pack(&[file]).unwrap();
            Image { architecture: architecture.to_owned(), layer }
        };
        let archive = archive(&metadata, &[image("amd64"), image("arm64")]).unwrap();
        let files = unpack(&archive);
        assert_eq!(json_of(&files["oci-layout"])["imageLayoutVersion"], "1.0.0");
        let top = json_of(&files["index.json"]);
        let entry = &top["manifests"][0];
        assert_eq!(entry["annotations"]["org.opencontainers.image.ref.name"], "1.2.3");
        assert_eq!(entry["annotations"]["io.containerd.image.name"], metadata.reference);
        let index = json_of(follow(&files, entry));
        assert_eq!(index["annotations"]["org.opencontainers.image.revision"], "0123");
        assert_eq!(index["annotations"].get("org.opencontainers.image.source"), None);
        for (at, architecture) in ["amd64", "arm64"].into_iter().enumerate() {
            let descriptor = &index["manifests"][at];
            assert_eq!(descriptor["platform"]["architecture"], architecture);
            let manifest = json_of(follow(&files, descriptor));
            let config = json_of(follow(&files, &manifest["config"]));
            assert_eq!(manifest["annotations"], index["annotations"]);
            assert_eq!(config["config"]["Labels"], index["annotations"]);
            assert_eq!(config["architecture"], architecture);
            assert_eq!(config["config"]["User"], USER);
            assert_eq!(config["config"]["Entrypoint"], json!(["/hub-agent"]));
            let expected = image(architecture).layer;
            assert_eq!(follow(&files, &manifest["layers"][0]), expected.bytes);
            assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", expected.diff_id));
        }
        assert_eq!(files.len(), 2 + 1 + 2 * 3);
    }
}
