//! Builds the programs that are not ours and that tests start, so that no test runs beside such a build.

use anyhow::Result;
use fleet_nodes::programs::Programs;
use fleet_nodes::requirements;
use fleet_testbed::binaries::{Binaries, own};
use fleet_testbed::go_module::{HELMS, KUBECTL, OTLP_RECEIVER, SLICE_ORACLE};

fn main() -> Result<()> {
    Binaries::ensure()?;
    for program in HELMS.iter().chain([&KUBECTL, &OTLP_RECEIVER, &SLICE_ORACLE]) {
        own(program)?;
    }
    if requirements::missing().is_none() {
        Programs::ensure()?;
    }
    Ok(())
}
