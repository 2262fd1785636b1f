//! `fleet-oracle`: judges the record of a run.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleet_oracle::main()
}
