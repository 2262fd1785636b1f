//! `fleet-demo`: a Service crosses from one cluster to another, step by step, with the time of each hop.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    fleet_demo::main().await
}
