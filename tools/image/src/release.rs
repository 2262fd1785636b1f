//! A release: what users get, as files and as the content of repositories of a registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::blobs::Content;
use crate::chart::{self, Chart};
use crate::digest::sha256;
use crate::layer::{File, Layer};
use crate::layout::{Kind, Layout};
use crate::oci::{self, Image, Metadata, Origin};
use crate::signature::{self, PUBLIC_KEY, Signer};

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
/// File name of the digests of everything that has a tag.
const DIGESTS: &str = "OCI-DIGESTS";
/// File name of the digests of all files, that one included.
const CHECKSUMS: &str = "SHA256SUMS";
/// Folder of the layouts.
const LAYOUTS: &str = "oci";

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
    /// Where the programs are from.
    pub origin: Origin,
    /// What goes into each image beside its program.
    pub certificates: File,
    /// Architectures, each with the folder of its programs.
    pub programs: Vec<(String, PathBuf)>,
    /// Folders of the charts.
    pub charts: Vec<PathBuf>,
    /// The bill of materials of each program's image.
    pub bills: BTreeMap<&'static str, Vec<u8>>,
    /// The bill of materials of all programs.
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
    release: Release,
}

impl Release {
    /// Assembles a release from its sources. The same sources give the same bytes.
    ///
    /// # Errors
    /// If a program or a chart cannot be read.
    pub fn assemble(sources: &Sources) -> Result<Self> {
        let mut builder = Builder { sources, release: Self::default() };
        PROGRAMS.iter().try_for_each(|program| builder.add_image(program))?;
        sources.charts.iter().try_for_each(|folder| builder.add_chart(folder))?;
        builder.add_cli()?;
        let mut release = builder.release;
        release.files.insert(BILL.to_owned(), sources.bill.clone());
        release.files.insert("LICENSE".to_owned(), sources.license.clone());
        let digests = release.digests();
        release.files.insert(DIGESTS.to_owned(), digests.into_bytes());
        Ok(release)
    }

    /// Digests of all that has a tag, a line each, as `sha256sum` prints them.
    pub fn digests(&self) -> String {
        lines(self.digests.iter().map(|(name, digest)| (name.as_str(), digest.clone())))
    }

    /// Writes everything below a folder, which must not exist: files, `oci/` with a layout for each repository, and at last the
    /// digests of both.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir(folder).with_context(|| format!("creating {}", folder.display()))?;
        let layouts = folder.join(LAYOUTS);
        self.layouts.iter().try_for_each(|(name, layout)| layout.write(&layouts.join(name)))?;
        let (lists, files): (Vec<_>, _) = self.files.iter().partition(|(name, _)| *name == DIGESTS);
        files
            .into_iter()
            .chain(lists)
            .try_for_each(|(name, bytes): (&String, &Vec<u8>)| write(&folder.join(name), bytes))?;
        let checksums = self.files.iter().map(|(name, bytes)| (name.as_str(), sha256(bytes)));
        write(&folder.join(CHECKSUMS), lines(checksums).as_bytes())
    }
}

/// Signatures of a release in a folder.
#[derive(Debug)]
pub struct Signed {
    layouts: BTreeMap<String, Layout>,
    files: [(&'static str, Vec<u8>); 2],
}

impl Signed {
    /// Signs everything that has a tag, and the digests of the files. Nothing is written.
    ///
    /// # Errors
    /// If the folder has no release, its files or manifests have other digests than its lists, it is signed already, or there is
    /// no signature.
    pub fn of(folder: &Path, repository: &str, signer: &mut impl Signer) -> Result<Self> {
        ensure!(!folder.join(PUBLIC_KEY).exists(), "{} is signed", folder.display());
        let checksums = read(&folder.join(CHECKSUMS))?;
        for (digest, name) in listed(&checksums)? {
            ensure!(Path::new(name).file_name().is_some_and(|it| it == name), "a file {name}");
            ensure!(sha256(&read(&folder.join(name))?) == digest, "{name} has another digest");
        }
        let digests = read(&folder.join(DIGESTS))?;
        let mut layouts = BTreeMap::new();
        for (digest, name) in listed(&digests)? {
            let (within, tag) = name.rsplit_once(':').context("a name without tag")?;
            ensure!(within.split('/').all(|part| !part.starts_with('.')), "a repository {within}");
            let place = folder.join(LAYOUTS).join(within);
            if !layouts.contains_key(within) {
                layouts.insert(within.to_owned(), Layout::open(&place)?);
            }
            let layout: &mut Layout = layouts.get_mut(within).context("was inserted")?;
            let entry = layout.listed().find(|(_, found)| *found == Some(tag));
            let entry = entry.with_context(|| format!("{name} is missing"))?.0.clone();
            let blob = read(&place.join("blobs/sha256").join(digest))?;
            ensure!(
                entry["digest"] == format!("sha256:{digest}") && sha256(&blob) == digest,
                "{name} has another digest"
            );
        }
        // What is in no list is not signed either.
        let all: usize = layouts.values().map(|layout| layout.listed().count()).sum();
        ensure!(all == listed(&digests)?.len(), "the layouts have more than {DIGESTS}");
        // In the order of each layout: for cosign, the first signature in a folder is the one of the first image.
        for (name, layout) in &mut layouts {
            let entries: Vec<_> = layout.listed().map(|(entry, _)| entry.clone()).collect();
            for entry in entries {
                signature::sign(layout, &entry, &format!("{repository}/{name}"), signer)?;
            }
        }
        let signature = format!("{}\n", signer.sign(&checksums)?).into_bytes();
        let public = signer.public().as_bytes().to_vec();
        Ok(Self { layouts, files: [("SHA256SUMS.sig", signature), (PUBLIC_KEY, public)] })
    }

    /// Writes the signatures into the folder of the release; the public key last.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let layouts = folder.join(LAYOUTS);
        self.layouts.iter().try_for_each(|(name, layout)| layout.write(&layouts.join(name)))?;
        self.files.iter().try_for_each(|(name, bytes)| write(&folder.join(name), bytes))
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
            origin: sources.origin.clone(),
        };
        let images = images.collect::<Result<Vec<_>>>()?;
        let mut layout = Layout::default();
        let (index, manifests) = oci::add_index(&metadata, &images, &mut layout.blobs);
        self.publish(&mut layout, program, (&index, &manifests), Kind::ImageIndex)?;
        let bill = sources.bills.get(program).with_context(|| format!("no bill of {program}"))?;
        let name = format!("{program}-{}.cdx.json", sources.version);
        self.release.files.insert(name.clone(), bill.clone());
        let bill = layout.blobs.add(BILL_TYPE, bill.clone());
        let bill = layout.blobs.manifest(Content {
            artifact_type: Some(BILL_TYPE),
            layers: vec![named(bill, &name)],
            annotations: self.annotations(&format!("bill of materials of {program}")),
            subject: Some(&index),
            ..Content::default()
        });
        self.tag(&mut layout, (program, "-sbom"), &bill, Kind::Other)?;
        self.release.layouts.insert(program.to_owned(), layout);
        Ok(())
    }

    fn add_chart(&mut self, folder: &Path) -> Result<()> {
        let Sources { repository, version, .. } = self.sources;
        let chart = Chart::released(folder, repository, version)?;
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
        self.publish(&mut layout, &name, (&manifest, &[]), Kind::Image)?;
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
        let index = layout.blobs.annotated_index(&manifests, &self.annotations(CLI));
        self.publish(&mut layout, CLI_REPOSITORY, (&index, &manifests), Kind::ImageIndex)?;
        self.release.layouts.insert(CLI_REPOSITORY.to_owned(), layout);
        Ok(())
    }

    /// Tags an image with the version, and the image for each architecture with that, too: who has its digest alone finds it in
    /// the list of digests, and its signature.
    fn publish(
        &mut self,
        layout: &mut Layout,
        name: &str,
        (it, manifests): (&Value, &[Value]),
        kind: Kind,
    ) -> Result<()> {
        self.tag(layout, (name, ""), it, kind)?;
        manifests.iter().try_for_each(|manifest| {
            let architecture = manifest["platform"]["architecture"].as_str();
            let architecture = architecture.context("the manifest is of no architecture")?;
            self.tag(layout, (name, &format!("-{architecture}")), manifest, Kind::Other)
        })
    }

    /// Tags a manifest with the version and what follows it.
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
        Ok(())
    }

    fn annotations(&self, title: &str) -> Value {
        let Sources { version, licenses, origin, .. } = self.sources;
        oci::annotations(title, version, licenses, origin)
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

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Digests and names of a list.
fn listed(list: &[u8]) -> Result<Vec<(&str, &str)>> {
    let lines = std::str::from_utf8(list)?.lines();
    let lines = lines.map(|line| line.split_once("  ").context("a line without digest"));
    lines.collect()
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
