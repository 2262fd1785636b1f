//! The command `fleet-upgrade`: starts a fleet with the agents and charts of the last release, upgrades it to this
//! checkout and rolls it back, in every order of its parts, while endpoints change; and fails if anything is lost on the
//! way.
//!
//! `install`, `gomade`, `services` and `quotas` set the fleet up; `roll` replaces one part after the other; `additions` is what
//! the last release does not have, `offload` the Pod of a virtual node among it; `settled` compares what importers have with what exists; `findings` reads the record of
//! the whole run.

mod additions;
mod changes;
mod charts;
mod findings;
mod gomade;
mod install;
mod judge;
mod lists;
mod members;
mod offload;
mod part;
mod pods;
mod quotas;
mod report;
mod roll;
mod run;
mod services;
mod settled;
mod step;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Upgrades a fleet of real control planes from the last release and rolls it back, in every order.
#[derive(Debug, Parser)]
#[command(name = "fleet-upgrade", version)]
struct CommandLine {
    /// Number of orders, of all 24
    #[arg(long, value_name = "NUMBER", default_value_t = usize::MAX, hide_default_value = true)]
    orders: usize,
    /// File for the table, in addition to standard output
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs the command. The exit code is 0 only if nothing was lost.
pub async fn main() -> ExitCode {
    let CommandLine { orders, report } = CommandLine::parse();
    // The client reports each refused look at a server that is about to be ready.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run::run(orders, report.as_deref()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nfleet-upgrade failed:");
            error.chain().for_each(|cause| eprintln!("  {cause}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }
}
