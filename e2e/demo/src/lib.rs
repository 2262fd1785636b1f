//! The command `fleet-demo`: starts a fleet of real control planes and its agents, exports a Service from one member
//! and imports it into the other, and shows each object as it appears, in which cluster and after which time.
//!
//! With `--nodes` the clusters have nodes, and a Pod of one calls Pods of the other (`whole`).
//!
//! `story` lists the user's actions and their expected effects; `stage` performs and watches them; `narrator` describes an
//! object; `screen` prints. What is shown comes from watches alone: the demo reads nothing from the agents.

mod narrator;
mod screen;
mod stage;
mod story;
mod text;
mod wanted;
mod whole;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use tracing_subscriber::EnvFilter;

use fleet_testbed::stop::Stop;
use screen::Screen;

/// Exit code of a program that Ctrl-C ended, as shells count it.
const INTERRUPTED: u8 = 130;

/// Shows a Service crossing from one cluster to another: one hub, two members, real control planes, on this machine.
#[derive(Debug, Parser)]
#[command(name = "fleet-demo", version)]
struct CommandLine {
    /// Leave everything running at the end, with a Service exported and imported, until Ctrl-C.
    #[arg(long)]
    keep: bool,
    /// Use clusters with nodes, and call Pods of one cluster from a Pod of the other. Needs root, and packages of Debian.
    #[arg(long, conflicts_with = "keep")]
    nodes: bool,
    /// How long any single step may take before the demo fails.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
}

/// Runs the demo. The exit code is 0 only if everything converged.
pub async fn main() -> ExitCode {
    let command = CommandLine::parse();
    // The client reports each refused look at a server that is about to be ready.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let screen = Screen::stdout();
    match run(&command, screen).await {
        Ok(Ending::Told) => ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => {
            eprintln!("fleet-demo: interrupted; everything is stopped");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            eprintln!("\nfleet-demo failed:");
            error.chain().for_each(|cause| eprintln!("  {cause}"));
            ExitCode::FAILURE
        }
    }
}

/// How a demo without an error ends.
enum Ending {
    Told,
    Interrupted,
}

async fn run(command: &CommandLine, screen: Screen) -> Result<Ending> {
    let mut stop = Stop::listen()?;
    let patience = Duration::from_secs(command.patience);
    if command.nodes {
        return tokio::select! {
            told = Box::pin(whole::tell(screen, patience)) => told.map(|()| Ending::Told),
            () = stop.wait() => Ok(Ending::Interrupted),
        };
    }
    let mut stage = tokio::select! {
        set = story::set_up(screen, patience, command.keep) => set?,
        () = stop.wait() => return Ok(Ending::Interrupted),
    };
    let told = tokio::select! {
        told = story::tell(&mut stage, command.keep) => told,
        () = stop.wait() => return Ok(Ending::Interrupted),
    };
    stage.explain(told).await?;
    if command.keep {
        stage.hold(&mut stop).await?;
    }
    Ok(Ending::Told)
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
