//! `fleet-oracle`: judges the record of a run.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleet_e2e::oracle::main()
}
