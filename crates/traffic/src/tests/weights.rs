//! docs/design/traffic.md#weights

use proptest::prelude::*;

use crate::tests::given::{first, secs, seed, source};
use crate::{
    Encoding, Part, Policy, Reason, Sizes, Slot, Source, Subset, Weighting, apportion, shares,
};

fn subset((cluster, weight, ready): (&str, u64, usize)) -> Subset {
    Subset { cluster: cluster.to_owned(), weight, ready }
}

fn subsets(parts: &[(u64, usize)]) -> Vec<Subset> {
    let named = parts.iter().zip(["a", "b", "c", "d"]);
    named.map(|((weight, ready), name)| subset((name, *weight, *ready))).collect()
}

/// Sizes and reason of each.
fn computed(parts: &[(u64, usize)], min_percent: u8) -> Vec<(usize, Reason)> {
    let subsets = subsets(parts);
    let sizes = Sizes::next(None, &subsets, min_percent, secs(0));
    let of = |one: &Subset| (sizes.of(&one.cluster), sizes.reason(&one.cluster).unwrap());
    subsets.iter().map(of).collect()
}

/// Weight and ready endpoints of each cluster, least percentage, sizes and reasons.
type Row = (&'static [(u64, usize)], u8, &'static [(usize, Reason)]);

#[test]
fn sizes_and_reasons() {
    use Reason::{Bounded, Capped, Coarse, Exact, TooManyEndpoints};
    let rows: [Row; 8] = [
        (&[(50, 10), (50, 10)], 50, &[(10, Exact), (10, Exact)]),
        (&[(90, 10), (10, 10)], 50, &[(10, Exact), (1, Exact)]),
        (&[(75, 20), (25, 5)], 50, &[(15, Exact), (5, Exact)]),
        (&[(90, 3), (10, 3)], 50, &[(3, Coarse), (1, Coarse)]),
        (&[(1, 10), (1, 1)], 50, &[(5, Bounded), (1, Bounded)]),
        (&[(1, 10), (1, 1)], 10, &[(1, Exact), (1, Exact)]),
        (&[(1, 4), (1, 0)], 50, &[(4, Exact), (0, Capped)]),
        (&[(1, 5000), (9, 1)], 50, &[(5000, TooManyEndpoints), (1, TooManyEndpoints)]),
    ];
    for (parts, min_percent, expected) in rows {
        assert_eq!(computed(parts, min_percent), expected, "{parts:?} at {min_percent} %");
    }
}

#[test]
fn sizes_stay_while_they_are_close_and_for_ten_seconds() {
    let before = Sizes::next(None, &subsets(&[(90, 10), (10, 10)]), 50, secs(0));
    // Ready endpoints of the first cluster, second, sizes.
    let rows = [
        (9, 1, [9, 1]),
        (8, 3600, [8, 1]),
        (7, 9, [7, 1]),
        (7, 10, [7, 2]),
        (30, 9, [10, 1]),
        (30, 10, [30, 3]),
        (0, 1, [0, 1]),
    ];
    for (ready, at, expected) in rows {
        let sizes = Sizes::next(Some(&before), &subsets(&[(90, ready), (10, 10)]), 50, secs(at));
        assert_eq!([sizes.of("a"), sizes.of("b")], expected, "{ready} ready at {at} s");
    }
}

#[test]
fn a_cluster_that_comes_gets_its_share_after_ten_seconds_or_at_once_where_it_is_alone() {
    let before = Sizes::next(None, &subsets(&[(1, 4), (1, 0)]), 50, secs(0));
    let next = |first, at| {
        let sizes = Sizes::next(Some(&before), &subsets(&[(1, first), (1, 4)]), 50, secs(at));
        [sizes.of("a"), sizes.of("b")]
    };
    assert_eq!([next(4, 9), next(4, 10), next(0, 1)], [[4, 0], [4, 4], [0, 4]]);
}

#[test]
fn endpoints_left_out_are_last_resort() {
    let sources = [
        Source { weight: 9, ..source("east", 0, 10, 0) },
        Source { weight: 1, ..source("far", 0, 10, 2) },
    ];
    let weighting = Weighting::Clusters { min_subset_percent: 50 };
    let policy = Policy { weighting, ..Policy::default() };
    let decision = first(Encoding::Hints, policy, &sources);
    let last = |at: usize| decision.slots[at].iter().filter(|one| **one == Slot::LastResort);
    assert_eq!([last(0).count(), last(1).count()], [0, 9]);
    let percent = |at: usize| shares(&sources, &decision.slots)[at].percent;
    assert_eq!([percent(0), percent(1)], [91, 9]);
    assert_eq!(decision.again_at, None, "nothing is due while nothing changes");
}

#[test]
fn a_cluster_that_drains_gives_its_share_up() {
    let east = |percent| Source { last_resort_percent: percent, ..source("east", 0, 10, 0) };
    let policy =
        Policy { weighting: Weighting::Clusters { min_subset_percent: 50 }, ..Policy::default() };
    for (percent, share) in [(0, 50), (50, 33), (90, 9), (100, 0)] {
        let sources = [east(percent), source("far", 0, 10, 0)];
        let decision = first(Encoding::Hints, policy, &sources);
        assert_eq!(shares(&sources, &decision.slots)[0].percent, share, "at {percent} %");
    }
}

#[test]
fn golden_order() {
    let sources = [source("east", 0, 8, 0)];
    let order = crate::assignment::Order::new(&seed(), &sources);
    let available = crate::assignment::available(0, &sources[0], &order);
    let places: Vec<_> = available.into_iter().map(|(_, at)| at).collect();
    assert_eq!(places, [3, 2, 7, 5, 6, 1, 4, 0]);
}

#[test]
fn each_importer_service_and_family_has_an_order_of_its_own() {
    let sources = [source("east", 0, 64, 0)];
    let order = |seed: &crate::Seed| {
        let order = crate::assignment::Order::new(seed, &sources);
        crate::assignment::available(0, &sources[0], &order)
    };
    let others = [
        crate::Seed { importer: "north".to_owned(), ..seed() },
        crate::Seed { namespace: "shopw".to_owned(), name: "eb".to_owned(), ..seed() },
        crate::Seed { family: crate::Family::V6, ..seed() },
    ];
    for other in others {
        assert_ne!(order(&other), order(&seed()));
    }
}

/// All ways to take between `least` and `most` for each part.
fn all_sizes(parts: &[Part]) -> Vec<Vec<usize>> {
    parts.iter().fold(vec![vec![]], |before, part| {
        let with = |sizes: Vec<usize>| {
            (part.least..=part.most).map(move |size| [&sizes[..], &[size]].concat())
        };
        before.into_iter().flat_map(with).collect()
    })
}

/// The greatest difference to the exact proportions of the total, as a fraction.
fn error(sizes: &[usize], parts: &[Part]) -> [u128; 2] {
    let total: u128 = sizes.iter().map(|size| *size as u128).sum();
    let weights: u128 = parts.iter().map(|part| u128::from(part.weight)).sum();
    let differences = sizes
        .iter()
        .zip(parts)
        .map(|(size, part)| (*size as u128 * weights).abs_diff(u128::from(part.weight) * total));
    [differences.max().unwrap(), total * weights]
}

fn is_at_most([a, b]: [u128; 2], [c, d]: [u128; 2]) -> bool {
    a * d <= c * b
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let part = (1_u64..100, 1_usize..6).prop_map(|(weight, most)| Part { weight, least: 1, most });
    prop::collection::vec(part, 1..4)
}

proptest! {
    #[test]
    fn no_split_of_the_same_total_is_closer(parts in parts(), total in 1_usize..15) {
        let got = apportion(total, &parts);
        for (size, part) in got.iter().zip(&parts) {
            prop_assert!((part.least..=part.most).contains(size));
        }
        let fits = |sizes: &&Vec<usize>| sizes.iter().sum::<usize>() == total;
        let all = all_sizes(&parts);
        for other in all.iter().filter(fits) {
            prop_assert_eq!(got.iter().sum::<usize>(), total);
            prop_assert!(is_at_most(error(&got, &parts), error(other, &parts)), "{:?}", other);
        }
    }

    #[test]
    fn sizes_are_exact_or_the_closest(parts in parts(), min_percent in 10_u8..=100) {
        let counts: Vec<_> = parts.iter().map(|part| (part.weight, part.most)).collect();
        let got: Vec<_> = computed(&counts, min_percent).into_iter().map(|(size, _)| size).collect();
        let all: usize = parts.iter().map(|part| part.most).sum();
        let enough = |sizes: &&Vec<usize>| {
            sizes.iter().sum::<usize>() * 100 >= all * usize::from(min_percent)
        };
        prop_assert!(enough(&&got));
        let best = error(&got, &parts);
        for other in all_sizes(&parts).iter().filter(enough) {
            let is_best = is_at_most(best, error(other, &parts));
            prop_assert!(is_best || is_at_most(best, [1, 100]), "{:?}", other);
        }
    }

    #[test]
    fn a_split_stays_within_its_bounds_whatever_is_asked_for(
        parts in prop::collection::vec((0_u64..=1 << 20, 0_usize..9, 0_usize..6000), 0..65),
        total in 0_usize..7000,
    ) {
        let part = |(weight, least, more)| Part { weight, least, most: least + more };
        let parts: Vec<_> = parts.into_iter().map(part).collect();
        let got = apportion(total, &parts);
        let least: usize = parts.iter().map(|part| part.least).sum();
        let most: usize = parts.iter().map(|part| part.most).sum();
        prop_assert_eq!(got.iter().sum::<usize>(), total.clamp(least, most));
    }
}
