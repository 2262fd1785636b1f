//! The command `fleet-testbed`.

mod down;
mod env;
mod status;
mod up;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::description::Description;
use crate::state;

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

/// Which fleet a command is about.
#[derive(Clone, Debug, Args)]
struct Named {
    /// Name of the fleet.
    #[arg(long, default_value = "default", env = "FLEET_TESTBED_NAME", value_parser = fleet_name)]
    name: String,
}

impl Named {
    /// What the running fleet of this name wrote about itself.
    fn describe(&self) -> Result<Description> {
        Description::read(&state::root()?.join(&self.name))
    }
}

/// Names become folder names and must not leave the run folder.
fn fleet_name(text: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || !text.chars().all(legal) {
        return Err("use letters, digits, - and _".to_owned());
    }
    Ok(text.to_owned())
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

/// Writes to stdout; a reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
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

    #[test]
    fn a_name_cannot_leave_the_run_folder() {
        assert!(fleet_name("demo-1").is_ok());
        for name in ["", "..", "a/b", "/etc"] {
            assert!(fleet_name(name).is_err(), "{name}");
        }
    }
}
