//! `fleetctl`, or `kubectl fleet`.

use std::process::ExitCode;

use clap::Parser as _;
use fleetctl::args::Cli;
use fleetctl::run::{UNASKED, run};

#[tokio::main]
async fn main() -> ExitCode {
    run(Cli::parse()).await.unwrap_or_else(|error| {
        eprintln!("fleetctl: {error:#}");
        ExitCode::from(UNASKED)
    })
}
