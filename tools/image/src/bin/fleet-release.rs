//! Assembles a release from programs that are built: images, charts, the CLI and the bill of materials, each as files and as image
//! layouts that can be copied to a registry, signed where there is a key.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use clap::Parser;
use fleet_image::layer::File;
use fleet_image::oci::CERTIFICATES;
use fleet_image::release::{PROGRAMS, Release, Sources};
use fleet_image::signature::Key;
use fleet_image::{by_architecture, sbom};

/// Charts that are released.
const CHARTS: [&str; 2] = ["hub-agent", "member-agent"];

/// Assembles a release from programs that are built.
#[derive(Debug, Parser)]
struct Args {
    /// Architecture and folder of its programs, as `amd64=FOLDER`; may be repeated.
    #[arg(long = "programs", value_parser = by_architecture, required = true)]
    programs: Vec<(String, PathBuf)>,
    /// Folder of the charts.
    #[arg(long, default_value = "charts")]
    charts: PathBuf,
    /// Licence that the CLI is packed with.
    #[arg(long, default_value = "LICENSE")]
    license: PathBuf,
    /// Prefix of the names under which the release is published; signatures have it.
    #[arg(long, default_value = "localhost/fleet-networking")]
    repository: String,
    /// File with the certificates that verify servers unless a program is configured with others.
    #[arg(long, default_value = CERTIFICATES)]
    certificates: PathBuf,
    /// File with the private key to sign with: ECDSA over P-256 in PKCS#8, as PEM. Nothing is signed without.
    #[arg(long)]
    key: Option<PathBuf>,
    /// Output folder, which must not exist.
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-release: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if args.out.exists() {
        bail!("{} exists: a release is made of nothing older", args.out.display());
    }
    let key = args.key.as_deref().map(|path| Key::parse(&String::from_utf8(read(path)?)?));
    let key = key.transpose().context("reading the key")?;
    let crates = MetadataCommand::new().other_options(vec!["--locked".to_owned()]).exec()?;
    let sources = Sources {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        licenses: env!("CARGO_PKG_LICENSE").to_owned(),
        license: read(&args.license)?,
        repository: args.repository.clone(),
        certificates: File {
            path: CERTIFICATES.to_owned(),
            bytes: read(&args.certificates).context("install the package ca-certificates")?,
            executable: false,
        },
        programs: args.programs.clone(),
        charts: CHARTS.map(|name| args.charts.join(name)).to_vec(),
        bill: format!("{:#}\n", sbom::of(&PROGRAMS, &crates)?).into_bytes(),
    };
    let release = Release::assemble(&sources, key.as_ref())?;
    release.write(&args.out)?;
    if key.is_none() {
        eprintln!("Not signed: no key is given");
    }
    eprint!("{}", release.digests());
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}
