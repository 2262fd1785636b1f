//! Changes of bare relays and of the agents in turns, beside others in the fleet.

use anyhow::Result;

use super::change_path::ChangePath;
use super::latency::{Course, Series};

/// Changes in a row of the relays, then of the agents.
const BLOCK: usize = 10;

/// Changes of bare relays and of the agents, in turns.
pub(super) struct Beside {
    /// What was beside them.
    pub(super) name: &'static str,
    pub(super) chain: Series,
    pub(super) steady: Series,
}

/// What takes turns.
pub(super) struct Turns<'a> {
    pub(super) path: &'a ChangePath,
    pub(super) chain: Course,
    pub(super) steady: Course,
    /// Changes of each kind that are measured beside the same.
    pub(super) samples: usize,
}

impl Turns<'_> {
    /// Measures the samples.
    pub(super) async fn beside(&mut self, name: &'static str) -> Result<Beside> {
        self.chain.warm_up(self.path).await?;
        self.steady.warm_up(self.path).await?;
        for _ in 0..self.samples.div_ceil(BLOCK) {
            self.chain.block(self.path, BLOCK).await?;
            self.steady.block(self.path, BLOCK).await?;
        }
        let (chain, steady) = (self.chain.take_series()?, self.steady.take_series()?);
        Ok(Beside { name, chain, steady })
    }
}
