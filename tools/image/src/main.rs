//! Builds the images of the agents and the CLI, and their bill of materials, from existing programs.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use fleet_image::chart::DEFAULT_REPOSITORY;
use fleet_image::inputs::Inputs;
use fleet_image::layer::{File, Layer};
use fleet_image::oci::{self, Image, Metadata};
use fleet_image::reference;
use fleet_image::release::PROGRAMS;

/// Builds OCI images of the agents and the CLI, without a container daemon.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Prefix of the images' names.
    #[arg(long, value_parser = reference::repository, default_value = DEFAULT_REPOSITORY)]
    repository: String,
    /// Tag of the images.
    #[arg(long, value_parser = reference::tag, default_value = env!("CARGO_PKG_VERSION"))]
    tag: String,
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
    let certificates = args.inputs.certificates()?;
    fs::create_dir_all(&args.out).with_context(|| format!("creating {}", args.out.display()))?;
    let bills = args.inputs.bills()?;
    for program in PROGRAMS {
        let images = args.inputs.programs.iter().map(|(architecture, folder)| {
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
            origin: args.inputs.origin(),
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
