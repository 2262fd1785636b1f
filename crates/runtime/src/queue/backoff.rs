//! How long a key that failed stays away.

use std::time::Duration;

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

/// Spreads retries, so that keys which failed together do not come back together.
///
/// Scheduling only: nothing about it has to be hard to guess.
#[derive(Debug)]
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        // The generator below stays at zero forever if it starts there.
        Self(seed | 1)
    }

    /// Between 80 % and 100 % of `delay`.
    pub(super) fn spread(&mut self, delay: Duration) -> Duration {
        // xorshift64, Marsaglia 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let permille = u32::try_from(800 + self.0 % 201).expect("at most 1000");
        delay / 1000 * permille
    }
}
