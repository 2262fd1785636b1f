//! One step of an upgrade, and when it was.

use std::time::Duration;

use fleet_oracle::record::Micros;
use fleet_runtime::clock::Clock;

use crate::part::{Direction, Part};

/// A part was replaced.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Number of the way there or back, from 0.
    pub(crate) roll: usize,
    /// What was replaced.
    pub(crate) part: Part,
    /// By which version.
    pub(crate) direction: Direction,
    /// When it began; it lasts until the next begins.
    pub(crate) begin: Micros,
    /// When the fleet had settled.
    pub(crate) end: Micros,
    /// Endpoint changes meanwhile.
    pub(crate) changes: usize,
}

impl Step {
    /// How long the fleet took to settle.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.end - self.begin).unwrap_or_default())
    }
}

/// The clock of this machine, which all servers of a testbed share.
pub(crate) fn now() -> Micros {
    Clock::system().now().as_microsecond()
}
