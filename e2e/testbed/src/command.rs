//! The command `fleet-testbed`.

mod common;
mod down;
mod env;
mod status;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

/// A fleet of real Kubernetes control planes on this machine: one hub and its members, joined, on loopback.
#[derive(Debug, Parser)]
#[command(name = "fleet-testbed", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a fleet and keep it until Ctrl-C (or until `down`, with --detach).
    Up(up::Up),
    /// List the running fleets.
    Status,
    /// Print shell lines that point kubectl at a cluster, or that an agent is started with.
    ///
    /// `hub` and `member-1` are clusters, as their admin; `hub-agent` and `member-1-agent` are agents.
    /// Use it as `eval "$(fleet-testbed env member-1)"`.
    Env(env::Env),
    /// Stop a fleet.
    Down(down::Down),
}

/// Parses the arguments, runs the command and reports an error in one line.
pub async fn main() -> ExitCode {
    // The client reports each refused look at a server that is about to be ready.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let result = match CommandLine::parse().command {
        Command::Up(up) => up.run().await,
        Command::Status => status::run(),
        Command::Env(env) => env.run(),
        Command::Down(down) => down.run().await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-testbed: {error:#}");
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
