use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::apportion::{Part, apportion};
use crate::assignment::{Index, Order, available, ready_tiers, slots, tiers};
use crate::encoding::Encoding;
use crate::found::Found;
use crate::layout::Layout;
use crate::promotion::Promotion;
use crate::rendezvous::Seed;
use crate::slot::Slot;
use crate::source::Source;
use crate::spill::{Fill, Spill, SpillPolicy};
use crate::subset::{Sizes, Subset, Weighting};
use crate::tier::Tier;

/// What the owner of a Service and the importer ask for, ranks aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What shares follow.
    pub weighting: Weighting,
    /// When own endpoints are helped out.
    pub spill: Option<SpillPolicy>,
}

/// What a decision keeps of the ones before. Slots of ranks, drains and weights follow from the input alone: a decider that starts
/// anew starts with the default, or with [`State::begun`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    promotion: Promotion,
    spill: Spill,
    sizes: BTreeMap<usize, Sizes>,
    /// What there is, before a first decision.
    found: Found,
}

impl State {
    /// That of a decider which remembers nothing, where endpoints are somewhere already: what is promoted or lent is read from
    /// that, and not begun anew.
    pub fn begun(found: Found) -> Self {
        Self { found, ..Self::default() }
    }

    /// The tier in use in place of better ones.
    pub fn promoted(&self) -> Option<Tier> {
        self.promotion.tier()
    }

    /// How close the share of a cluster in a rank position comes to its weight.
    pub fn sizes(&self, position: usize) -> Option<&Sizes> {
        self.sizes.get(&position)
    }
}

/// Where all endpoints go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In the order of the sources and their endpoints.
    pub slots: Vec<Vec<Slot>>,
    /// Whether endpoints name zones.
    pub has_hints: bool,
    /// For the next decision.
    pub state: State,
    /// The time at which the decision may change although nothing else does.
    pub again_at: Option<Duration>,
}

/// Decides the slots of one port and address family of a Service.
///
/// `now` is on the decider's own monotonic clock, the one that the times in `before` are on. Costs the logarithm of the number of
/// endpoints times that number, and with weights that of the clusters times that of the endpoints.
pub fn decide(
    seed: &Seed,
    encoding: Encoding,
    policy: Policy,
    sources: &[Source],
    before: &State,
    now: Duration,
) -> Decision {
    let layout = Layout::new(encoding, sources);
    let order = Order::new(seed, sources);
    let available: Vec<_> =
        sources.iter().enumerate().map(|(at, source)| available(at, source, &order)).collect();
    let ground = Ground { policy, layout, order, sources, available };
    ground.decide(before, now)
}

/// What does not depend on earlier decisions.
struct Ground<'a> {
    policy: Policy,
    layout: Layout,
    order: Order,
    sources: &'a [Source],
    available: Vec<Vec<Index>>,
}

impl Ground<'_> {
    fn decide(&self, before: &State, now: Duration) -> Decision {
        let (sizes, sizes_at) = self.sizes(&before.sizes, now);
        let tiers = tiers(&self.layout, self.sources, &self.available, &sizes);
        let ready = ready_tiers(self.sources, &tiers);
        let promotion = self.promotion(before, &tiers, &ready);
        let promotion = promotion.next(&ready, |tier| self.layout.is_native(tier), now);
        let (spill, lent, spill_at) = self.spill(before, &tiers, now);
        let slots = slots(&self.layout, &tiers, promotion.tier(), &lent);
        let again_at = [sizes_at, spill_at, promotion.retry_at()].into_iter().flatten().min();
        Decision {
            slots,
            has_hints: self.layout.has_hints(),
            state: State { promotion, spill, sizes, found: Found::default() },
            again_at,
        }
    }

    /// Sizes of the ranks, and when they may change by themselves.
    fn sizes(
        &self,
        before: &BTreeMap<usize, Sizes>,
        now: Duration,
    ) -> (BTreeMap<usize, Sizes>, Option<Duration>) {
        let Weighting::Clusters { min_subset_percent } = self.policy.weighting else {
            return (BTreeMap::new(), None);
        };
        let mut sizes = BTreeMap::new();
        let mut again_at = None;
        for (position, subsets) in self.subsets() {
            let next = Sizes::next(before.get(&position), &subsets, min_subset_percent, now);
            let retry = next.retry_at(&subsets, min_subset_percent).filter(|at| *at > now);
            again_at = [again_at, retry].into_iter().flatten().min();
            sizes.insert(position, next);
        }
        (sizes, again_at)
    }

    /// Clusters by rank position. A cluster that drains gives its share up with its endpoints: the few that are left would
    /// otherwise get all of it.
    fn subsets(&self) -> BTreeMap<usize, Vec<Subset>> {
        let mut ranks: BTreeMap<usize, Vec<Subset>> = BTreeMap::new();
        let sources = self.sources.iter().zip(&self.available);
        for (source, available) in sources.filter(|(source, _)| !source.is_out()) {
            let Some(position) = self.position(source) else { continue };
            ranks.entry(position).or_default().push(Subset {
                cluster: source.cluster.clone(),
                weight: u64::from(source.weight) * source.staying_percent(),
                ready: available.len(),
            });
        }
        for subsets in ranks.values_mut() {
            // Ties are met in this order, whatever the order of the input.
            subsets.sort_by(|a, b| a.cluster.cmp(&b.cluster));
        }
        ranks
    }

    fn position(&self, source: &Source) -> Option<usize> {
        source.rank.and_then(|rank| self.layout.position(rank))
    }

    /// What was promoted. Where better endpoints are ready, what is found in use was so for another reason.
    fn promotion(
        &self,
        before: &State,
        tiers: &[Vec<Option<Tier>>],
        ready: &BTreeSet<Tier>,
    ) -> Promotion {
        let best = ready.first().filter(|best| !self.layout.is_native(**best));
        let Some(best) = best.filter(|_| !before.found.is_empty()) else {
            return before.promotion;
        };
        let is_in_use = |slot: Slot| slot.is_ready();
        let found = self.found(before, tiers, *best, is_in_use);
        if found > 0 { Promotion::of(*best) } else { before.promotion }
    }

    /// Ready endpoints of a tier that are in such a slot at present.
    fn found(
        &self,
        before: &State,
        tiers: &[Vec<Option<Tier>>],
        tier: Tier,
        is_in: impl Fn(Slot) -> bool,
    ) -> usize {
        let of_source = |(source, tiers): (&Source, &Vec<Option<Tier>>)| {
            let endpoints = source.endpoints.iter().zip(tiers);
            let ready = endpoints.filter(|(one, of)| one.conditions.ready && **of == Some(tier));
            let slots =
                ready.filter_map(|(one, _)| before.found.slot(&source.cluster, &one.address));
            slots.filter(|slot| is_in(*slot)).count()
        };
        self.sources.iter().zip(tiers).map(of_source).sum()
    }

    /// Endpoints of the second rank that join own ones, where the own cluster alone is the first.
    fn spill(
        &self,
        before: &State,
        tiers: &[Vec<Option<Tier>>],
        now: Duration,
    ) -> (Spill, BTreeSet<Index>, Option<Duration>) {
        let (Some(policy), Some(own)) = (self.policy.spill, self.alone_in_first_rank()) else {
            return (Spill::default(), BTreeSet::new(), None);
        };
        let in_use = self.in_tier(own, tiers, 0);
        let endpoints = self.sources[own].endpoints.iter();
        let present = endpoints.filter(|one| !one.conditions.terminating).count();
        let fill = Fill { ready: in_use.len(), present };
        let lenders: Vec<Vec<Index>> =
            (0..self.sources.len()).map(|at| self.in_tier(at, tiers, 1)).collect();
        let before = if before.found.is_empty() {
            before.spill
        } else {
            let lent = self.found(before, tiers, Tier::Rank(1), |slot| slot == Slot::First);
            Spill::of(lent, fill.ready, lenders.iter().map(Vec::len).sum(), now)
        };
        let spill = before.next(policy, fill, now);
        let lent = self.lend(spill, fill.ready, lenders);
        (spill, lent, spill.retry_at(policy, fill))
    }

    fn alone_in_first_rank(&self) -> Option<usize> {
        let first = |source: &Source| self.position(source) == Some(0);
        let mut sources = self.sources.iter().enumerate().filter(|(_, source)| first(source));
        let (at, source) = sources.next()?;
        (source.own && sources.next().is_none()).then_some(at)
    }

    /// Ready endpoints of a source in a rank position, in order.
    fn in_tier(&self, source: usize, tiers: &[Vec<Option<Tier>>], position: usize) -> Vec<Index> {
        let in_tier = |(source, at): &Index| tiers[*source][*at] == Some(Tier::Rank(position));
        self.available[source].iter().copied().filter(in_tier).collect()
    }

    fn lend(&self, spill: Spill, own: usize, lenders: Vec<Vec<Index>>) -> BTreeSet<Index> {
        let all: usize = lenders.iter().map(Vec::len).sum();
        let count = spill.lent(own, all);
        match self.policy.weighting {
            Weighting::Endpoints => self.first_of_all(count, lenders),
            Weighting::Clusters { .. } => self.by_weight(count, &lenders),
        }
    }

    fn first_of_all(&self, count: usize, lenders: Vec<Vec<Index>>) -> BTreeSet<Index> {
        let mut all: Vec<_> = lenders.into_iter().flatten().collect();
        all.sort_by_key(|at| self.order.place(*at));
        all.into_iter().take(count).collect()
    }

    fn by_weight(&self, count: usize, lenders: &[Vec<Index>]) -> BTreeSet<Index> {
        let mut named: Vec<_> = self.sources.iter().zip(lenders).collect();
        named.sort_by(|(a, _), (b, _)| a.cluster.cmp(&b.cluster));
        // In proportion to what is in use of each cluster, which follows the weights already.
        let part = |(_, ready): &(&Source, &Vec<Index>)| Part {
            weight: ready.len() as u64,
            least: 0,
            most: ready.len(),
        };
        let counts = apportion(count, &named.iter().map(part).collect::<Vec<_>>());
        let lent = named.iter().zip(counts);
        lent.flat_map(|((_, ready), count)| ready.iter().take(count)).copied().collect()
    }
}
