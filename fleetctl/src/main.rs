//! `fleetctl`, or `kubectl fleetnet`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use fleetctl::args::Cli;
use fleetctl::output::{UNASKED, report};
use fleetctl::run::run;

/// kubectl starts its plugins by the names of their files.
const PLUGIN: &str = "kubectl-";

/// Help and errors name the command as the user called it.
fn parse() -> Cli {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    let command = match name.and_then(|name| name.strip_prefix(PLUGIN)) {
        Some(name) => Cli::command().bin_name(format!("kubectl {name}")),
        None => Cli::command(),
    };
    Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

#[tokio::main]
async fn main() -> ExitCode {
    run(parse()).await.unwrap_or_else(|error| {
        report(&format!("fleetctl: {error:#}"));
        ExitCode::from(UNASKED)
    })
}
