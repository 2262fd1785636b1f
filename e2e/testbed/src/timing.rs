//! How long what users wait for takes.

use std::env;
use std::time::Duration;

use anyhow::{Result, ensure};

/// With this variable a run has its machine for itself, so that its times mean something.
const TIMED: &str = "FLEET_TIMED";

/// Prints how long something took. That it took longer than was promised is an error of timed runs only: how much slower a machine
/// with other work is follows from nothing.
pub fn promised(what: &str, took: Duration, most: Duration) -> Result<()> {
    eprintln!("{what}: {:.1} s, at most {} s", took.as_secs_f64(), most.as_secs_f64());
    ensure!(took <= most || env::var_os(TIMED).is_none(), "{what}: it took {took:?}");
    Ok(())
}
