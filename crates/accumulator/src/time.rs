//! The clock of the accumulator.

use std::time::Instant;

use jiff::Timestamp;

/// Monotonic time that tests can stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The wall clock of this machine, for what contents note of their own changes. No decision is made here.
#[expect(
    clippy::disallowed_methods,
    reason = "fleet_runtime, which has the clock, depends on this crate"
)]
pub(crate) fn wall_clock() -> Timestamp {
    Timestamp::now()
}
