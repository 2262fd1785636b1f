//! The hub agent.

use std::process::ExitCode;

use clap::Parser;
use hub_agent::app;
use hub_agent::args::Args;

#[tokio::main]
async fn main() -> ExitCode {
    app::run(Args::parse()).await.unwrap_or_else(|error| {
        // The text of an error contains its causes.
        eprintln!("hub-agent: {error}");
        ExitCode::FAILURE
    })
}
