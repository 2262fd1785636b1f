use std::collections::BTreeMap;
use std::time::Duration;

use crate::apportion::{Part, apportion};

/// Endpoints of one rank above which weights are not applied: choosing sizes costs their number times that of the clusters.
pub const MAX_WEIGHTED_ENDPOINTS: usize = 5000;

/// Sizes are computed again at most this often.
const RECOMPUTE_AFTER: Duration = Duration::from_secs(10);

/// Greatest error of a share, in percentage points, that counts as exact.
const EXACT: u128 = 1;
/// Greatest error up to which sizes stay.
const KEPT: u128 = 2;

/// What the share of a cluster follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// The number of its ready endpoints.
    #[default]
    Endpoints,
    /// Its weight, as closely as subsets of endpoints allow.
    Clusters {
        /// Least percentage of the endpoints of a rank that stays in use, 10 to 100.
        min_subset_percent: u8,
    },
}

/// How close the share achieved is to the requested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Within one percentage point.
    Exact,
    /// There are too few endpoints to come closer.
    Coarse,
    /// A smaller subset would come closer than the least percentage allows.
    Bounded,
    /// The cluster has no ready endpoint.
    Capped,
    /// More endpoints than weights are applied to.
    TooManyEndpoints,
}

/// A cluster of a rank: its weight, and how many of its endpoints are ready and not last resort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset {
    /// Name of the cluster.
    pub cluster: String,
    /// Proportion among the clusters of the rank.
    pub weight: u64,
    /// Endpoints to choose from.
    pub ready: usize,
}

/// How many endpoints of each cluster of a rank are in use, and when that was computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    in_use: BTreeMap<String, usize>,
    reasons: BTreeMap<String, Reason>,
    /// What they were computed from.
    basis: Vec<Subset>,
    min_percent: u8,
    computed: Duration,
}

impl Sizes {
    /// Of a cluster; none for one that had no ready endpoint when sizes were computed.
    pub fn of(&self, cluster: &str) -> usize {
        self.in_use.get(cluster).copied().unwrap_or(0)
    }

    /// How close the share of a cluster is to its target.
    pub fn reason(&self, cluster: &str) -> Option<Reason> {
        self.reasons.get(cluster).copied()
    }

    /// The sizes to use now. Those of before stay while the shares that they give are within two points, and for ten seconds
    /// after they were computed, so that readiness alone moves few endpoints.
    pub fn next(before: Option<&Self>, subsets: &[Subset], min_percent: u8, now: Duration) -> Self {
        let kept = before.map(|before| before.limited_to(subsets));
        match kept {
            Some(kept) if kept.stays(subsets, min_percent, now) => kept,
            _ => Self::compute(subsets, min_percent, now),
        }
    }

    /// When the caller has to ask again, if the sizes of before are kept only for the pause between two computations.
    pub(crate) fn retry_at(&self, subsets: &[Subset], min_percent: u8) -> Option<Duration> {
        (!self.is_good(subsets, min_percent)).then_some(self.computed + RECOMPUTE_AFTER)
    }

    /// Fewer where endpoints are gone.
    fn limited_to(&self, subsets: &[Subset]) -> Self {
        let mut limited = Self { in_use: BTreeMap::new(), ..self.clone() };
        for Subset { cluster, ready, .. } in subsets {
            limited.in_use.insert(cluster.clone(), self.of(cluster).min(*ready));
            if *ready == 0 {
                limited.reasons.insert(cluster.clone(), Reason::Capped);
            }
        }
        limited
    }

    fn stays(&self, subsets: &[Subset], min_percent: u8, now: Duration) -> bool {
        let is_recent = now < self.computed + RECOMPUTE_AFTER;
        let serves = subsets.iter().any(|one| self.of(&one.cluster) > 0);
        serves && (is_recent || self.is_good(subsets, min_percent))
    }

    /// Whether computing them again gains nothing.
    fn is_good(&self, subsets: &[Subset], min_percent: u8) -> bool {
        let same = self.basis == subsets && self.min_percent == min_percent;
        same || self.is_close(subsets, min_percent)
    }

    /// Enough endpoints, one of each cluster at least, and shares close to the weights.
    fn is_close(&self, subsets: &[Subset], min_percent: u8) -> bool {
        let ready: Vec<_> = subsets.iter().filter(|one| one.ready > 0).collect();
        let sizes: Vec<_> = ready.iter().map(|one| self.of(&one.cluster)).collect();
        let enough = sizes.iter().sum::<usize>() >= least(&ready, min_percent);
        let error = Error::of(&ready, &sizes);
        enough && sizes.iter().all(|size| *size > 0) && error.is_within(KEPT)
    }

    fn compute(subsets: &[Subset], min_percent: u8, now: Duration) -> Self {
        let ready: Vec<_> = subsets.iter().filter(|one| one.ready > 0).collect();
        let (sizes, reason) = best_sizes(&ready, min_percent);
        let named = ready.iter().map(|one| one.cluster.clone());
        let reasons = subsets
            .iter()
            .map(|one| (one.cluster.clone(), if one.ready == 0 { Reason::Capped } else { reason }));
        Self {
            in_use: named.zip(sizes).collect(),
            reasons: reasons.collect(),
            basis: subsets.to_vec(),
            min_percent,
            computed: now,
        }
    }
}

/// The fewest endpoints of a rank that stay in use.
fn least(ready: &[&Subset], min_percent: u8) -> usize {
    let all: usize = ready.iter().map(|one| one.ready).sum();
    (all * usize::from(min_percent.clamp(10, 100))).div_ceil(100).max(ready.len())
}

/// The most endpoints whose shares are exact, else those with the least error.
fn best_sizes(ready: &[&Subset], min_percent: u8) -> (Vec<usize>, Reason) {
    let all: usize = ready.iter().map(|one| one.ready).sum();
    if all > MAX_WEIGHTED_ENDPOINTS {
        return (ready.iter().map(|one| one.ready).collect(), Reason::TooManyEndpoints);
    }
    let least = least(ready, min_percent);
    let (sizes, error) = best_between(ready, least, all);
    if error.is_within(EXACT) {
        return (sizes, Reason::Exact);
    }
    let fewer = best_between(ready, ready.len(), least - 1);
    let is_bound = !fewer.0.is_empty() && fewer.1.is_less_than(error);
    let reason = if is_bound { Reason::Bounded } else { Reason::Coarse };
    (sizes, reason)
}

fn best_between(ready: &[&Subset], least: usize, all: usize) -> (Vec<usize>, Error) {
    let part = |one: &&Subset| Part { weight: one.weight, least: 1, most: one.ready };
    let parts: Vec<_> = ready.iter().map(part).collect();
    let mut best: Option<(Vec<usize>, Error)> = None;
    for total in (least.max(1)..=all).rev() {
        let sizes = apportion(total, &parts);
        let error = Error::of(ready, &sizes);
        let is_exact = error.is_within(EXACT);
        if best.as_ref().is_none_or(|(_, least)| error.is_less_than(*least)) {
            best = Some((sizes, error));
        }
        if is_exact {
            break;
        }
    }
    best.unwrap_or_default()
}

/// The greatest difference between a share and its target, as an exact fraction.
#[derive(Clone, Copy, Debug, Default)]
struct Error {
    difference: u128,
    whole: u128,
}

impl Error {
    fn of(ready: &[&Subset], sizes: &[usize]) -> Self {
        let weights: u128 = ready.iter().map(|one| u128::from(one.weight)).sum();
        let total: u128 = sizes.iter().map(|size| *size as u128).sum();
        let pairs = ready.iter().zip(sizes);
        let differences = pairs
            .map(|(one, size)| (*size as u128 * weights).abs_diff(u128::from(one.weight) * total));
        Self { difference: differences.max().unwrap_or(0), whole: total * weights }
    }

    fn is_within(self, points: u128) -> bool {
        self.difference * 100 <= self.whole * points
    }

    fn is_less_than(self, other: Self) -> bool {
        self.difference * other.whole < other.difference * self.whole
    }
}
