use std::collections::BTreeSet;

use crate::encoding::Encoding;
use crate::slot::Slot;
use crate::source::Source;
use crate::tier::Tier;

/// Slots of the ranks that have an accepted exporter (docs/design/traffic.md#ranks).
///
/// Readiness does not enter, so that an endpoint that becomes ready or unready moves no other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    encoding: Encoding,
    ranks: Vec<usize>,
}

impl Layout {
    pub(crate) fn new(encoding: Encoding, sources: &[Source]) -> Self {
        let ranks: BTreeSet<_> = sources.iter().filter_map(|source| source.rank).collect();
        Self { encoding, ranks: ranks.into_iter().collect() }
    }

    /// Position of a rank among those with an exporter.
    pub(crate) fn position(&self, rank: usize) -> Option<usize> {
        self.ranks.iter().position(|one| *one == rank)
    }

    /// Whether kube-proxy brings the tier into use by itself while its endpoints are ready.
    pub(crate) fn is_native(&self, tier: Tier) -> bool {
        matches!(tier, Tier::Rank(position) if position < self.encoding.native_ranks())
    }

    /// Where a tier is that nothing has promoted.
    pub(crate) fn slot(&self, tier: Tier) -> Slot {
        match (tier, self.has_hints()) {
            (Tier::Rank(0), true) => Slot::First,
            (Tier::Rank(1), true) => Slot::Second,
            (Tier::Rank(0), false) => Slot::Pool,
            _ => Slot::LastResort,
        }
    }

    /// Where a promoted tier goes.
    pub(crate) fn promoted(&self) -> Slot {
        if self.has_hints() { Slot::Second } else { Slot::Pool }
    }

    /// Where endpoints go that the second rank lends to the first.
    pub(crate) fn lent(&self) -> Slot {
        self.slot(Tier::Rank(0))
    }

    /// Whether endpoints name zones. Those of a single rank need not.
    pub(crate) fn has_hints(&self) -> bool {
        self.encoding == Encoding::Hints && self.ranks.len() > 1
    }
}
