//! How long a key that failed stays away.

use std::time::Duration;

use fastrand::Rng;

/// Delay after the first failure.
const BASE: Duration = Duration::from_millis(100);

/// Longest delay.
pub(super) const MAX: Duration = Duration::from_mins(1);

/// A change shortens a delay to this at most.
pub(super) const CHANGE_FLOOR: Duration = Duration::from_secs(1);

/// Doubles with each of the `failures` before this one.
pub(super) fn delay(failures: u32) -> Duration {
    BASE.saturating_mul(2_u32.saturating_pow(failures)).min(MAX)
}

/// Between 80 % and 100 % of `delay`, so that keys which failed together do not come back together.
pub(super) fn spread(delay: Duration, rng: &mut Rng) -> Duration {
    delay / 1000 * rng.u32(800..=1000)
}
