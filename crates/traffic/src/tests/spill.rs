//! docs/design/traffic.md#early-spill

use crate::tests::given::{first, secs, source};
use crate::{Encoding, Fill, Policy, Slot, Spill, SpillPolicy, shares};

const POLICY: SpillPolicy = SpillPolicy { below_percent: 80, size: 0 };

fn fill(ready: usize) -> Fill {
    Fill { ready, present: 10 }
}

#[test]
fn share_and_endpoints_lent_by_ready_own_endpoints() {
    // Ready of ten, tenths, endpoints lent of 20, share published.
    let rows = [(10, 0, 0, 0), (8, 0, 0, 0), (7, 2, 2, 22), (4, 5, 4, 50), (1, 9, 9, 90)];
    for (ready, tenths, lent, share) in rows {
        let spill = Spill::default().next(POLICY, fill(ready), secs(0));
        assert_eq!((spill.tenths(), spill.lent(ready, 20)), (tenths, lent), "{ready} ready");
        let sources = [source("west", 0, ready, 10 - ready), source("east", 1, 20, 0)];
        let policy = Policy { spill: Some(POLICY), ..Policy::default() };
        let decision = first(Encoding::Hints, policy, &sources);
        assert_eq!(shares(&sources, &decision.slots)[1].percent, share, "{ready} ready");
    }
}

#[test]
fn without_a_ready_own_endpoint_kube_proxy_uses_the_whole_second_rank() {
    let spill = Spill::default().next(POLICY, fill(0), secs(0));
    assert_eq!((spill.tenths(), spill.lent(0, 20)), (10, 0));
    let sources = [source("west", 0, 0, 10), source("east", 1, 20, 0)];
    let policy = Policy { spill: Some(POLICY), ..Policy::default() };
    let decision = first(Encoding::Hints, policy, &sources);
    assert!(decision.slots[1].iter().all(|slot| *slot == Slot::Second));
    assert_eq!(shares(&sources, &decision.slots)[1].percent, 100);
}

#[test]
fn a_declared_size_counts_what_is_not_there() {
    let policy = SpillPolicy { size: 20, ..POLICY };
    assert_eq!(policy.wanted(fill(10)), 4);
    assert_eq!(SpillPolicy { size: 5, ..POLICY }.wanted(fill(10)), 0);
    let scaled_down = Fill { ready: 2, present: 2 };
    assert_eq!(POLICY.wanted(scaled_down), 0, "a scale-down is no loss");
    assert_eq!(POLICY.wanted(Fill { ready: 0, present: 0 }), 10);
    assert_eq!(POLICY.wanted(Fill { ready: 2, present: 100 }), 9, "some own endpoints serve");
}

#[test]
fn rises_at_once_falls_by_tenths_and_ends_with_a_margin() {
    // Second, ready of ten, tenths.
    let rows = [
        (0, 7, 2),
        (1, 4, 2),
        (5, 4, 5),
        (6, 8, 5),
        (35, 8, 5),
        (36, 8, 4),
        (66, 8, 3),
        (96, 8, 2),
        (126, 8, 1),
        (500, 8, 1),
        (501, 9, 1),
        (531, 9, 0),
        (532, 7, 0),
        (536, 7, 2),
    ];
    let mut spill = Spill::default();
    for (second, ready, tenths) in rows {
        spill = spill.next(POLICY, fill(ready), secs(second));
        assert_eq!(spill.tenths(), tenths, "at {second} s");
    }
}

#[test]
fn one_endpoint_that_comes_and_goes_around_the_threshold_changes_little() {
    for period in [1, 5, 29, 30, 31, 60, 100] {
        let mut spill = Spill::default();
        let mut changes = 0;
        for second in 0..600 {
            let ready = if second / period % 2 == 0 { 7 } else { 9 };
            let next = spill.next(POLICY, fill(ready), secs(second));
            changes += usize::from(next.tenths() != spill.tenths());
            spill = next;
        }
        assert!((1..=20).contains(&changes), "{changes} changes, every {period} s");
    }
}

#[test]
fn at_most_what_is_ready_is_lent_and_one_at_least() {
    let at = |ready| Spill::default().next(POLICY, fill(ready), secs(0));
    assert_eq!(at(4).lent(4, 3), 3);
    assert_eq!(at(4).lent(4, 0), 0);
    let few = SpillPolicy { below_percent: 80, size: 2 };
    let one = Fill { ready: 1, present: 2 };
    assert_eq!(Spill::default().next(few, one, secs(0)).lent(1, 9), 1);
}
