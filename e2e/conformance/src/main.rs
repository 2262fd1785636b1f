//! `fleet-conformance`: the conformance suite of the MCS API, run against whole clusters with both agents.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fleet_conformance::main().await
}
