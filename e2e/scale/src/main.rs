//! `fleet-scale`: what a hub carries, and how the costs grow.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fleet_scale::main().await
}
