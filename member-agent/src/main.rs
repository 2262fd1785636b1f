//! The member agent.

use std::process::ExitCode;

use clap::Parser;
use member_agent::app;
use member_agent::args::Args;

#[tokio::main]
async fn main() -> ExitCode {
    app::run(Args::parse()).await.unwrap_or_else(|error| {
        // Every error is one line.
        eprintln!("member-agent: {error}");
        ExitCode::FAILURE
    })
}
