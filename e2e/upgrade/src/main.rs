//! `fleet-upgrade`: a fleet is upgraded from the last release and rolled back, in every order.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fleet_upgrade::main().await
}
