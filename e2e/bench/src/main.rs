//! `fleet-bench`: how fast the fleet is on this machine, and what it costs.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fleet_bench::main().await
}
