//! Random numbers that can be had again: `FLEET_SEED` sets where they begin.

use std::hash::{BuildHasher, RandomState};

/// Variable with the seed of an earlier run.
pub const SEED: &str = "FLEET_SEED";

/// xorshift64*, by Marsaglia and Vigna.
pub struct Random(u64);

impl Random {
    /// From the seed in the environment, else from a new one. Returns the seed too, to be printed.
    pub fn from_env() -> (Self, u64) {
        // The standard library seeds its hash maps from the operating system.
        Self::from_env_or(RandomState::new().hash_one(0_u8) >> 1)
    }

    /// [`Self::from_env`], where without one in the environment the seed is this.
    pub fn from_env_or(usual: u64) -> (Self, u64) {
        let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(usual);
        (Self(seed.max(1)), seed)
    }

    /// A number from 0 to `end`, without `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or(0) % end
    }
}
