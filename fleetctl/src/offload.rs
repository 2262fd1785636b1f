//! `fleetctl offload`: what members offer to each other, and accept. Each decision is written in the cluster whose administrators
//! make it; no other agent acts on it.

mod allowance;
mod args;
mod cluster;
mod consent;
mod policy;
mod ranges;
mod read;
mod status;
mod waiting;
mod write;

use std::process::ExitCode;

use anyhow::Result;

pub(crate) use allowance::RANGES;
pub use args::OffloadCommand;
pub(crate) use ranges::has_open;
pub(crate) use read::read;
pub(crate) use status::offload_table;
pub use status::{IdleOffer, Offered, OffloadStatus, offload_status};
pub use waiting::{Exports, Waiting};

use crate::args::Cli;

/// Runs one of the commands.
pub(crate) async fn run(cli: &Cli, command: &OffloadCommand) -> Result<ExitCode> {
    match command {
        OffloadCommand::Offer(args) => write::offer(cli, args).await,
        OffloadCommand::Accept(args) => write::accept(cli, args).await,
        OffloadCommand::Withdraw(args) => write::withdraw(cli, args).await,
        OffloadCommand::Status => read::run(cli).await,
    }
}
