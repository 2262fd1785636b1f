//! `fleet-testbed`: a fleet of real control planes on one machine, to try things out.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fleet_testbed::command::main().await
}
