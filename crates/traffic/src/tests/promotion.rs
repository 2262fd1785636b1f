//! docs/design/traffic.md#promotion

use std::collections::BTreeSet;
use std::time::Duration;

use crate::tests::given::{after, common_slots, secs, source};
use crate::{Encoding, Promotion, Slot, Source, Tier};

use Slot::{First, LastResort, Pool, Second};

const RANKS: [Tier; 4] = [Tier::Rank(0), Tier::Rank(1), Tier::Rank(2), Tier::Rank(3)];

/// By hints: the first two ranks need no promotion.
fn next(promotion: Promotion, ready: &[Tier], now: Duration) -> Promotion {
    let ready: BTreeSet<_> = ready.iter().copied().collect();
    promotion.next(&ready, |tier| tier < Tier::Rank(2), now)
}

#[test]
fn what_is_promoted_and_when() {
    // Tiers that are ready from the start, and what is promoted after a second.
    let rows: [(&[Tier], Option<Tier>); 8] = [
        (&[RANKS[0], RANKS[1], RANKS[2], Tier::Last], None),
        (&[RANKS[0]], None),
        (&[RANKS[1], Tier::Last], None),
        (&[RANKS[2]], Some(RANKS[2])),
        (&[RANKS[2], RANKS[3], Tier::Last], Some(RANKS[2])),
        (&[RANKS[3], Tier::Last], Some(RANKS[3])),
        (&[Tier::Last], Some(Tier::Last)),
        (&[], None),
    ];
    for (ready, expected) in rows {
        let start = next(Promotion::default(), ready, secs(7));
        assert_eq!(start.tier(), None, "{ready:?} at once");
        let early = next(start, ready, Duration::from_millis(7999));
        assert_eq!(early.tier(), None, "{ready:?} before a second");
        assert_eq!(next(early, ready, secs(8)).tier(), expected, "{ready:?}");
    }
}

#[test]
fn a_promoted_tier_goes_back_when_a_better_one_is_ready_for_thirty_seconds() {
    let promoted = next(next(Promotion::default(), &[RANKS[3]], secs(0)), &[RANKS[3]], secs(1));
    for better in [&[RANKS[0], RANKS[3]], &[RANKS[1], RANKS[3]]] {
        let waiting = next(promoted, better, secs(10));
        assert_eq!(next(waiting, better, secs(39)).tier(), Some(RANKS[3]));
        assert_eq!(next(waiting, better, secs(40)).tier(), None);
    }
    let better = [RANKS[2], RANKS[3]];
    assert_eq!(next(next(promoted, &better, secs(10)), &better, secs(40)).tier(), Some(RANKS[2]));
    // A better one that was not ready without a break starts again.
    let waiting = next(promoted, &better, secs(10));
    let waiting = next(next(waiting, &[RANKS[3]], secs(20)), &better, secs(21));
    assert_eq!(next(waiting, &better, secs(50)).tier(), Some(RANKS[3]));
    assert_eq!(next(waiting, &better, secs(51)).tier(), Some(RANKS[2]));
}

#[test]
fn a_promoted_tier_that_fails_is_replaced_after_a_second() {
    let promoted = next(next(Promotion::default(), &[RANKS[2]], secs(0)), &[RANKS[2]], secs(1));
    let failed = next(promoted, &[Tier::Last], secs(5));
    assert_eq!(next(failed, &[Tier::Last], secs(6)).tier(), Some(Tier::Last));
    assert_eq!(next(promoted, &[], secs(500)).tier(), Some(RANKS[2]), "nothing is ready");
}

#[test]
fn a_promoted_tier_takes_the_second_slot_or_the_pool() {
    let sources = [source("west", 0, 0, 1), source("east", 1, 0, 1), source("far", 2, 1, 0)];
    // Seconds, slots by hints, slots by conditions.
    let rows = [
        (0, [First, Second, LastResort], [Pool, LastResort, LastResort]),
        (1, [First, Second, Second], [Pool, LastResort, Pool]),
    ];
    for (seconds, hints, conditions) in rows {
        let slots = |encoding| common_slots(&after(encoding, &sources, seconds));
        assert_eq!(slots(Encoding::Hints), hints);
        assert_eq!(slots(Encoding::Conditions), conditions);
    }
}

#[test]
fn a_drained_cluster_serves_when_it_is_the_only_one() {
    let drained = [Source { last_resort_percent: 100, ..source("east", 0, 2, 0) }];
    assert_eq!(common_slots(&after(Encoding::Hints, &drained, 0)), [LastResort]);
    assert_eq!(common_slots(&after(Encoding::Hints, &drained, 1)), [Pool]);
    let beside = [drained[0].clone(), source("west", 1, 1, 0)];
    assert_eq!(common_slots(&after(Encoding::Hints, &beside, 60)), [LastResort, Second]);
}

#[test]
fn a_decision_names_when_the_next_one_is_due() {
    let sources = [source("west", 0, 0, 1), source("east", 1, 0, 1), source("far", 2, 1, 0)];
    assert_eq!(after(Encoding::Hints, &sources, 0).again_at, Some(secs(1)));
    assert_eq!(after(Encoding::Hints, &sources, 1).again_at, None);
}
