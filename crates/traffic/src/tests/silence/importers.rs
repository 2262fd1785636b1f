//! What importers make of verdicts.

use std::collections::BTreeSet;

use super::fleet::name;
use crate::tests::given::secs;
use crate::{Effect, SilenceAction, SilenceLimits, SilencePolicy, SilentMember, applied_verdicts};

fn silent(at: usize, serial: u64) -> SilentMember {
    SilentMember { name: name(at), serial, confirmed: false, domain: None }
}

fn names(all: &[usize]) -> BTreeSet<String> {
    all.iter().map(|at| name(*at)).collect()
}

fn applied(silent: &[SilentMember], before: &[usize], members: usize) -> BTreeSet<String> {
    let applied = applied_verdicts(silent, &names(before), members, 20);
    applied.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_hub_agent_that_marks_all_demotes_no_more_than_the_bound() {
    for (members, most) in [(1, 1), (4, 1), (10, 2), (100, 20)] {
        let all: Vec<_> = (0..members).map(|at| silent(at, 5)).collect();
        assert_eq!(applied(&all, &[], members).len(), most);
    }
}

#[test]
fn the_oldest_come_first_and_those_applied_stay() {
    let all = [silent(0, 9), silent(1, 3), silent(2, 7)];
    assert_eq!(applied(&all, &[], 10), names(&[1, 2]));
    assert_eq!(applied(&all, &[0], 10), names(&[0, 1]));
}

#[test]
fn confirmed_ones_are_not_counted() {
    let confirmed = SilentMember { confirmed: true, ..silent(0, 9) };
    let all = [confirmed, silent(1, 3), silent(2, 7), silent(3, 8)];
    assert_eq!(applied(&all, &[], 10), names(&[0, 1, 2]));
}

#[test]
fn one_failure_domain_counts_once() {
    let one = |at| SilentMember { domain: Some("eu".to_owned()), ..silent(at, 1) };
    let all: Vec<_> = (0..5).map(one).collect();
    assert_eq!(applied(&all, &[], 10).len(), 5);
}

#[test]
fn effects_of_the_policy_of_a_service() {
    use Effect::{LastResort, None, Removed};
    use SilenceAction::{Keep, Remove};
    // Action, hold, headless, removal allowed, effects at 0, 59, 60, 900 and 960 seconds.
    let rows = [
        (Keep, 0, false, true, [None, None, None, None, None]),
        (SilenceAction::LastResort, 0, false, true, [LastResort; 5]),
        (
            SilenceAction::LastResort,
            60,
            false,
            true,
            [None, None, LastResort, LastResort, LastResort],
        ),
        (Remove, 0, false, true, [LastResort, LastResort, LastResort, Removed, Removed]),
        (Remove, 60, false, true, [None, None, LastResort, LastResort, Removed]),
        (Remove, 0, false, false, [LastResort; 5]),
        (SilenceAction::LastResort, 0, true, true, [None; 5]),
        (Remove, 0, true, true, [None, None, None, Removed, Removed]),
    ];
    for (action, hold, headless, allow_remove, expected) in rows {
        let policy = SilencePolicy { action, hold: secs(hold), ..SilencePolicy::default() };
        let limits = SilenceLimits { headless, allow_remove };
        let effects = [0, 59, 60, 900, 960].map(|since| policy.effect(limits, secs(since)));
        assert_eq!(effects, expected, "{action:?}, hold {hold}, headless {headless}");
    }
}
