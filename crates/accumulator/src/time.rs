//! The clock of the accumulator.

use std::time::Instant;

/// Monotonic time that tests can stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
