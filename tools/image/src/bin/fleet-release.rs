//! Makes releases of programs that are built: images, charts, the CLI and the bill of materials, each as files and as image
//! layouts that can be copied to a registry. Signs them, or gives out what to sign and takes the signatures, so that the key is
//! nowhere near this program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Parser, Subcommand};
use fleet_image::chart::DEFAULT_REPOSITORY;
use fleet_image::inputs::Inputs;
use fleet_image::release::{PROGRAMS, Release, Signed, Sources};
use fleet_image::signature::{Documents, Key, Signatures};
use fleet_image::{certificates, reference};

/// Charts that are released.
const CHARTS: [&str; 2] = ["hub-agent", "member-agent"];

/// Makes and signs releases.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check what a release is made with, before minutes are spent on building it
    Check(Check),
    /// Assemble a release, unsigned, from programs that are built
    Assemble(Assemble),
    /// Sign a release
    Sign(Sign),
    /// Write what is to be signed, each document into a file that is named by its SHA-256
    Documents(ToSign),
    /// Put signatures into a release that were made elsewhere
    Attach(Attach),
}

/// What signatures and charts name.
#[derive(Debug, Args)]
struct Published {
    /// Prefix of the names under which the release is published; charts and signatures have it
    #[arg(long, value_parser = reference::repository, default_value = DEFAULT_REPOSITORY)]
    repository: String,
}

#[derive(Debug, Args)]
struct Check {
    #[command(flatten)]
    published: Published,
    /// File with certificates for the images
    #[arg(long)]
    certificates: Option<PathBuf>,
    /// File with the private key to sign with
    #[arg(long)]
    key: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Assemble {
    #[command(flatten)]
    published: Published,
    #[command(flatten)]
    inputs: Inputs,
    /// Folder of the charts
    #[arg(long, default_value = "charts")]
    charts: PathBuf,
    /// Licence that the CLI is packed with
    #[arg(long, default_value = "LICENSE")]
    license: PathBuf,
    /// Output folder, which must not exist
    #[arg(long)]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct Sign {
    #[command(flatten)]
    published: Published,
    /// Folder of the release
    folder: PathBuf,
    /// File with the private key: ECDSA over P-256 in PKCS#8, as PEM
    #[arg(long)]
    key: PathBuf,
}

#[derive(Debug, Args)]
struct ToSign {
    #[command(flatten)]
    published: Published,
    /// Folder of the release
    folder: PathBuf,
    /// Output folder, which must not exist
    #[arg(long)]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct Attach {
    #[command(flatten)]
    published: Published,
    /// Folder of the release
    folder: PathBuf,
    /// Folder with the public key in `cosign.pub`, and the signature of each document in DER in `SHA256.sig`
    #[arg(long)]
    signatures: PathBuf,
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-release: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Check(args) => {
            certificates::of(args.certificates.as_deref())?;
            args.key.as_deref().map(key).transpose()?;
            Ok(())
        }
        Command::Assemble(args) => assemble(args),
        Command::Sign(args) => {
            let Sign { published, folder, key: path } = args;
            Signed::of(folder, &published.repository, &mut key(path)?)?.write(folder)
        }
        Command::Documents(args) => {
            let mut documents = Documents::default();
            Signed::of(&args.folder, &args.published.repository, &mut documents)?;
            documents.write(&args.out)
        }
        Command::Attach(args) => {
            let Attach { published, folder, signatures } = args;
            let mut signatures = Signatures::open(signatures)?;
            Signed::of(folder, &published.repository, &mut signatures)?.write(folder)
        }
    }
}

fn assemble(args: &Assemble) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    reference::tag(version).map_err(|why| anyhow!(why))?;
    let certificates = args.inputs.certificates()?;
    let bills = args.inputs.bills()?;
    let programs = PROGRAMS.iter().map(|program| Ok((*program, bills.of(&[program])?)));
    let sources = Sources {
        version: version.to_owned(),
        licenses: env!("CARGO_PKG_LICENSE").to_owned(),
        license: read(&args.license)?,
        repository: args.published.repository.clone(),
        origin: args.inputs.origin(),
        certificates,
        programs: args.inputs.programs.clone(),
        charts: CHARTS.map(|name| args.charts.join(name)).to_vec(),
        bills: programs.collect::<Result<_>>()?,
        bill: bills.of(&PROGRAMS)?,
    };
    let release = Release::assemble(&sources)?;
    release.write(&args.out)?;
    eprint!("{}", release.digests());
    Ok(())
}

fn key(path: &Path) -> Result<Key> {
    // The error about text that is no UTF-8 has the text in it.
    let text = String::from_utf8(read(path)?).map_err(|_| anyhow!("the key is no text"));
    text.and_then(|text| Key::parse(&text)).context("reading the key")
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}
