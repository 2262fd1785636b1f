//! A release: what users get, as files and as the content of repositories of a registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::blobs::Content;
use crate::chart::{self, Chart};
use crate::digest::sha256;
use crate::layer::{File, Layer};
use crate::layout::{Kind, Layout};
use crate::oci::{self, Image, Metadata};
use crate::signature::{Key, sign};

/// Programs; each gets an image.
pub const PROGRAMS: [&str; 3] = ["hub-agent", "member-agent", "fleetctl"];

/// The program that users run where no image does.
const CLI: &str = "fleetctl";
/// Repository of its packages.
const CLI_REPOSITORY: &str = "cli";
/// Type of a package of it.
const CLI_TYPE: &str = "application/vnd.fleet-networking.cli.v1";
/// Type of a bill of materials.
const BILL_TYPE: &str = "application/vnd.cyclonedx+json";
/// File name of the bill of materials.
const BILL: &str = "sbom.cdx.json";

/// What a release is made of.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Version of everything.
    pub version: String,
    /// SPDX expression.
    pub licenses: String,
    /// Text of the licence.
    pub license: Vec<u8>,
    /// Prefix of the names under which the release is published.
    pub repository: String,
    /// What goes into each image beside its program.
    pub certificates: File,
    /// Architectures, each with the folder of its programs.
    pub programs: Vec<(String, PathBuf)>,
    /// Folders of the charts.
    pub charts: Vec<PathBuf>,
    /// The bill of materials of the programs.
    pub bill: Vec<u8>,
}

/// What a release consists of.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// Files by their name.
    files: BTreeMap<String, Vec<u8>>,
    /// Repositories by their name.
    layouts: BTreeMap<String, Layout>,
    /// Names with tag, and the digests of what they stand for.
    digests: BTreeMap<String, String>,
}

/// Assembles a release.
struct Builder<'a> {
    sources: &'a Sources,
    key: Option<&'a Key>,
    release: Release,
}

impl Release {
    /// Assembles a release from its sources, signed if there is a key. Without one the same sources give the same bytes.
    ///
    /// # Errors
    /// If a program or a chart cannot be read.
    pub fn assemble(sources: &Sources, key: Option<&Key>) -> Result<Self> {
        let mut builder = Builder { sources, key, release: Self::default() };
        PROGRAMS.iter().try_for_each(|program| builder.add_image(program))?;
        sources.charts.iter().try_for_each(|folder| builder.add_chart(folder))?;
        builder.add_cli()?;
        let mut release = builder.release;
        release.files.insert(BILL.to_owned(), sources.bill.clone());
        if let Some(key) = key {
            release.files.insert("cosign.pub".to_owned(), key.public().into_bytes());
        }
        release.files.insert("LICENSE".to_owned(), sources.license.clone());
        Ok(release)
    }

    /// Digests of all that has a tag, a line each, as `sha256sum` prints them.
    pub fn digests(&self) -> String {
        lines(self.digests.iter().map(|(name, digest)| (name.as_str(), digest.clone())))
    }

    /// Writes everything below a folder: files, `oci/` with a layout for each repository, and the digests of both.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), sha256(bytes)));
        let checksums = lines(files).into_bytes();
        let digests = self.digests().into_bytes();
        let lists = [("SHA256SUMS", &checksums), ("OCI-DIGESTS", &digests)];
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), bytes)).chain(lists);
        for (name, bytes) in files {
            let path = folder.join(name);
            fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        }
        let oci = folder.join("oci");
        self.layouts.iter().try_for_each(|(name, layout)| layout.write(&oci.join(name)))
    }
}

impl Builder<'_> {
    /// One image for all architectures, and its bill of materials.
    fn add_image(&mut self, program: &str) -> Result<()> {
        let sources = self.sources;
        let images = sources.programs.iter().map(|(architecture, folder)| {
            let file = File {
                path: format!("/{program}"),
                bytes: read(&folder.join(program))?,
                executable: true,
            };
            let layer = Layer::pack(&[file, sources.certificates.clone()])?;
            Ok(Image { architecture: architecture.clone(), layer })
        });
        let metadata = Metadata {
            program: program.to_owned(),
            reference: format!("{}/{program}:{}", sources.repository, sources.version),
            version: sources.version.clone(),
            licenses: sources.licenses.clone(),
        };
        let images = images.collect::<Result<Vec<_>>>()?;
        let mut layout = Layout::default();
        let index = oci::add_index(&metadata, &images, &mut layout.blobs);
        self.publish(&mut layout, program, &index, Kind::ImageIndex)?;
        let bill = layout.blobs.add(BILL_TYPE, sources.bill.clone());
        let bill = layout.blobs.manifest(Content {
            artifact_type: Some(BILL_TYPE),
            layers: vec![named(bill, BILL)],
            annotations: self.annotations(&format!("bill of materials of {program}")),
            subject: Some(&index),
            ..Content::default()
        });
        self.tag(&mut layout, (program, "-sbom"), &bill, Kind::Other)?;
        self.release.layouts.insert(program.to_owned(), layout);
        Ok(())
    }

    fn add_chart(&mut self, folder: &Path) -> Result<()> {
        let chart = Chart::pack(folder)?;
        let name = format!("charts/{}", chart.name);
        let mut layout = Layout::default();
        let config = layout.blobs.add(chart::CONFIG, chart.metadata.to_string().into_bytes());
        let layer = layout.blobs.add(chart::CONTENT, chart.package.clone());
        let manifest = layout.blobs.manifest(Content {
            config: Some(config),
            layers: vec![layer],
            annotations: self.annotations(&chart.name),
            ..Content::default()
        });
        self.publish(&mut layout, &name, &manifest, Kind::Image)?;
        self.release.files.insert(chart.file_name(), chart.package);
        self.release.layouts.insert(name, layout);
        Ok(())
    }

    /// The CLI for each architecture, packed with the licence.
    fn add_cli(&mut self) -> Result<()> {
        let sources = self.sources;
        let mut layout = Layout::default();
        let mut manifests = Vec::new();
        for (architecture, folder) in &sources.programs {
            let program =
                File { path: CLI.to_owned(), bytes: read(&folder.join(CLI))?, executable: true };
            let license = File {
                path: "LICENSE".to_owned(),
                bytes: sources.license.clone(),
                executable: false,
            };
            let package = Layer::pack(&[program, license])?.bytes;
            let name = format!("{CLI}-{}-linux-{architecture}.tar.gz", sources.version);
            let layer = layout.blobs.add("application/gzip", package.clone());
            let mut manifest = layout.blobs.manifest(Content {
                artifact_type: Some(CLI_TYPE),
                layers: vec![named(layer, &name)],
                annotations: self.annotations(CLI),
                ..Content::default()
            });
            manifest["platform"] = json!({ "architecture": architecture, "os": "linux" });
            manifests.push(manifest);
            self.release.files.insert(name, package);
        }
        let index = layout.blobs.index(&manifests);
        self.publish(&mut layout, CLI_REPOSITORY, &index, Kind::ImageIndex)?;
        self.release.layouts.insert(CLI_REPOSITORY.to_owned(), layout);
        Ok(())
    }

    /// Tags a manifest with the version.
    fn publish(&mut self, layout: &mut Layout, name: &str, it: &Value, kind: Kind) -> Result<()> {
        self.tag(layout, (name, ""), it, kind)
    }

    /// Tags a manifest with the version and what follows it, and signs it.
    fn tag(
        &mut self,
        layout: &mut Layout,
        (name, suffix): (&str, &str),
        manifest: &Value,
        kind: Kind,
    ) -> Result<()> {
        let tag = format!("{}{suffix}", self.sources.version);
        layout.list(manifest, Some(&tag), kind);
        let digest = manifest["digest"].as_str().context("a manifest has a digest")?;
        let digest = digest.trim_start_matches("sha256:").to_owned();
        self.release.digests.insert(format!("{name}:{tag}"), digest);
        match self.key {
            Some(key) => {
                sign(layout, manifest, &format!("{}/{name}", self.sources.repository), key)
            }
            None => Ok(()),
        }
    }

    fn annotations(&self, title: &str) -> Value {
        json!({
            "org.opencontainers.image.title": title,
            "org.opencontainers.image.version": self.sources.version,
            "org.opencontainers.image.licenses": self.sources.licenses,
        })
    }
}

/// A layer with the name that its file gets.
fn named(mut layer: Value, name: &str) -> Value {
    layer["annotations"] = json!({ "org.opencontainers.image.title": name });
    layer
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn lines<'a>(digests: impl Iterator<Item = (&'a str, String)>) -> String {
    digests.fold(String::new(), |mut text, (name, digest)| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{digest}  {name}");
        text
    })
}

#[cfg(test)]
mod tests;
