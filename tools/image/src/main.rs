//! Builds the images of the agents and the CLI, and their bill of materials, from existing programs.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use fleet_image::bills::Bills;
use fleet_image::chart::DEFAULT_REPOSITORY;
use fleet_image::layer::{File, Layer};
use fleet_image::oci::{self, CERTIFICATES, Image, Metadata, Origin};
use fleet_image::release::PROGRAMS;
use fleet_image::sbom::Part;
use fleet_image::{by_architecture, certificates, reference};

/// Builds OCI images of the agents and the CLI, without a container daemon.
#[derive(Debug, Parser)]
struct Args {
    /// Architecture and folder of its programs, as `amd64=FOLDER`; may be repeated.
    #[arg(long = "programs", value_parser = by_architecture, required = true)]
    programs: Vec<(String, PathBuf)>,
    /// Prefix of the images' names.
    #[arg(long, value_parser = reference::repository, default_value = DEFAULT_REPOSITORY)]
    repository: String,
    /// Tag of the images.
    #[arg(long, value_parser = reference::tag, default_value = env!("CARGO_PKG_VERSION"))]
    tag: String,
    /// What is linked into the programs and is no crate, as `NAME@VERSION`; may be repeated.
    #[arg(long = "part", value_parser = Part::parse)]
    parts: Vec<Part>,
    /// File with the certificates that verify servers unless a program is configured with others; Mozilla's by default.
    #[arg(long)]
    certificates: Option<PathBuf>,
    /// Commit of the source.
    #[arg(long)]
    revision: Option<String>,
    /// URL of the source.
    #[arg(long)]
    source: Option<String>,
    /// Output folder for one tar per image, its bill of materials, and `sbom.cdx.json` with that of all.
    #[arg(long, default_value = "target/image")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-image: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let own = args.certificates.is_none();
    let bytes = certificates::of(args.certificates.as_deref())?;
    let certificates = File { path: CERTIFICATES.to_owned(), bytes, executable: false };
    fs::create_dir_all(&args.out).with_context(|| format!("creating {}", args.out.display()))?;
    let architectures = args.programs.iter().map(|(architecture, _)| architecture.as_str());
    let bills = Bills::read(architectures, args.parts.clone(), own)?;
    for program in PROGRAMS {
        let images = args.programs.iter().map(|(architecture, folder)| {
            let bytes = read(&folder.join(program))?;
            eprintln!("{program} for {architecture}: {}", megabytes(bytes.len()));
            let program = File { path: format!("/{program}"), bytes, executable: true };
            let layer = Layer::pack(&[program, certificates.clone()])?;
            Ok(Image { architecture: architecture.clone(), layer })
        });
        let metadata = Metadata {
            program: program.to_owned(),
            reference: format!("{}/{program}:{}", args.repository, args.tag),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            licenses: env!("CARGO_PKG_LICENSE").to_owned(),
            origin: Origin { revision: args.revision.clone(), source: args.source.clone() },
        };
        let archive = oci::archive(&metadata, &images.collect::<Result<Vec<_>>>()?)?;
        write(args, &format!("{program}.tar"), &archive)?;
        write(args, &format!("{program}.cdx.json"), &bills.of(&[program])?)?;
    }
    write(args, "sbom.cdx.json", &bills.of(&PROGRAMS)?)
}

fn read(path: &PathBuf) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn write(args: &Args, name: &str, bytes: &[u8]) -> Result<()> {
    let path = args.out.join(name);
    fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    eprintln!("{} {}", path.display(), megabytes(bytes.len()));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "rounded for display")]
fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
