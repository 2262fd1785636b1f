//! What images are made of, as options of both programs of this crate.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::bills::Bills;
use crate::certificates;
use crate::layer::File;
use crate::oci::{CERTIFICATES, Origin};
use crate::sbom::Part;

/// Options of what images are made of.
#[derive(Debug, Args)]
pub struct Inputs {
    /// Architecture and folder of its programs, as `amd64=FOLDER`; may be repeated
    #[arg(long = "programs", value_parser = by_architecture, required = true)]
    pub programs: Vec<(String, PathBuf)>,
    /// What is linked into the programs and is no crate, as `NAME@VERSION`; may be repeated
    #[arg(long = "part", value_parser = Part::parse)]
    parts: Vec<Part>,
    /// File with the certificates that verify servers unless a program is configured with others; Mozilla's by default
    #[arg(long)]
    certificates: Option<PathBuf>,
    /// Commit of the source
    #[arg(long)]
    revision: Option<String>,
    /// URL of the source
    #[arg(long)]
    source: Option<String>,
}

impl Inputs {
    /// The bills of materials of the images.
    ///
    /// # Errors
    /// Those of [`Bills::read`].
    pub fn bills(&self) -> Result<Bills> {
        let architectures = self.programs.iter().map(|(architecture, _)| architecture.as_str());
        Bills::read(architectures, self.parts.clone(), self.certificates.is_none())
    }

    /// The certificates, at their place in an image.
    ///
    /// # Errors
    /// Those of [`certificates::of`].
    pub fn certificates(&self) -> Result<File> {
        let bytes = certificates::of(self.certificates.as_deref())?;
        Ok(File { path: CERTIFICATES.to_owned(), bytes, executable: false })
    }

    /// Where the source is from.
    pub fn origin(&self) -> Origin {
        Origin { revision: self.revision.clone(), source: self.source.clone() }
    }
}

/// Parses an architecture and the folder of its programs, as `amd64=FOLDER`.
fn by_architecture(text: &str) -> Result<(String, PathBuf), String> {
    let (architecture, folder) = text.split_once('=').ok_or("must be of the form amd64=FOLDER")?;
    Ok((architecture.to_owned(), folder.into()))
}
