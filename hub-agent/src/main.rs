//! The hub agent.

use std::process::ExitCode;

use clap::Parser;
use hub_agent::app;
use hub_agent::args::Args;

#[tokio::main]
async fn main() -> ExitCode {
    app::run(Args::parse()).await.unwrap_or_else(|error| {
        // Every error says all of it in one line.
        eprintln!("hub-agent: {error}");
        ExitCode::FAILURE
    })
}
