//! The bills of materials of the images of this workspace.

use std::fs;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::certificates;
use crate::sbom::{self, Part, Subject};

/// What cargo knows of this workspace.
#[derive(Debug)]
pub struct Bills {
    metadata: Metadata,
    lock: String,
    parts: Vec<Part>,
    certificates: bool,
}

impl Bills {
    /// Asks cargo for the crates of programs for musl. `parts` are linked into each, and `certificates` is whether images have
    /// Mozilla's certificates.
    ///
    /// # Errors
    /// If cargo fails, or an architecture has no such programs.
    pub fn read<'a>(
        architectures: impl Iterator<Item = &'a str>,
        parts: Vec<Part>,
        certificates: bool,
    ) -> Result<Self> {
        let mut options = vec!["--locked".to_owned()];
        for architecture in architectures {
            options.extend(["--filter-platform".to_owned(), triple(architecture)?.to_owned()]);
        }
        let metadata = MetadataCommand::new().other_options(options).exec()?;
        let lock = metadata.workspace_root.join("Cargo.lock");
        let lock = fs::read_to_string(&lock).with_context(|| format!("reading {lock}"))?;
        Ok(Self { metadata, lock, parts, certificates })
    }

    /// The bill of one program's image, or of the images of several.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn of(&self, programs: &[&str]) -> Result<Vec<u8>> {
        let data: &[&str] = if self.certificates { &[certificates::CRATE] } else { &[] };
        let subject = Subject {
            name: if let [one] = programs { one } else { "fleet-networking" },
            version: env!("CARGO_PKG_VERSION"),
            programs,
            data,
            parts: &self.parts,
        };
        let bill = sbom::of(&subject, &self.metadata, &self.lock)?;
        Ok(format!("{bill:#}\n").into_bytes())
    }
}

/// Rust's name of the platform of an architecture's programs.
fn triple(architecture: &str) -> Result<&'static str> {
    match architecture {
        "amd64" => Ok("x86_64-unknown-linux-musl"),
        "arm64" => Ok("aarch64-unknown-linux-musl"),
        _ => bail!("no programs are built for {architecture}"),
    }
}
