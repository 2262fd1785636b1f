use std::time::Duration;

use fleet_traffic::{SilenceAction, SilencePolicy};

use crate::traffic::standing::{Drained, Silenced, Standing, standing};

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn policy(action: SilenceAction) -> SilencePolicy {
    SilencePolicy { action, hold: secs(10), remove_after: secs(300) }
}

fn silenced(percent: u8, known_for: u64) -> Silenced {
    Silenced { percent, known_for: secs(known_for), may_remove: true }
}

/// Action, headless or not, seconds since the verdict: last resort percent, removed, seconds until that changes.
#[test]
fn a_verdict_means_what_the_policy_makes_of_it() {
    use SilenceAction::{Keep, LastResort, Remove};
    let table = [
        (Keep, false, 1000, 0, false, None),
        (LastResort, false, 0, 0, false, Some(10)),
        (LastResort, false, 9, 0, false, Some(1)),
        (LastResort, false, 10, 100, false, None),
        (LastResort, false, 100_000, 100, false, None),
        (LastResort, true, 1000, 0, false, None),
        (Remove, false, 0, 0, false, Some(10)),
        (Remove, false, 10, 100, false, Some(300)),
        (Remove, false, 309, 100, false, Some(1)),
        (Remove, false, 310, 0, true, None),
        (Remove, true, 10, 0, false, Some(300)),
        (Remove, true, 310, 0, true, None),
    ];
    for (action, headless, known_for, percent, removed, again) in table {
        let found =
            standing(Drained::default(), Some(silenced(100, known_for)), policy(action), headless);
        let again_in = again.map(secs);
        let expected = Standing { last_resort_percent: percent, removed, again_in };
        assert_eq!(found, expected, "{action:?} {headless} {known_for}");
    }
}

#[test]
fn a_member_that_returns_is_not_removed() {
    let found = standing(
        Drained::default(),
        Some(silenced(75, 1000)),
        policy(SilenceAction::Remove),
        false,
    );
    assert_eq!((found.last_resort_percent, found.removed), (75, false));
    let headless =
        standing(Drained::default(), Some(silenced(75, 1000)), policy(SilenceAction::Remove), true);
    assert_eq!((headless.last_resort_percent, headless.removed), (0, false));
}

#[test]
fn the_greater_of_drain_and_verdict_holds() {
    let drained = |percent| Drained { percent, removed: false };
    let policy = SilencePolicy::default();
    let percent = |drain, verdict| {
        standing(drained(drain), Some(silenced(verdict, 0)), policy, false).last_resort_percent
    };
    assert_eq!((percent(30, 75), percent(80, 75), percent(0, 100)), (75, 80, 100));
}

#[test]
fn a_drain_with_removal_is_last_resort_until_its_last_step() {
    let policy = SilencePolicy::default();
    let removed = Drained { percent: 100, removed: true };
    assert!(standing(removed, None, policy, false).removed);
    assert_eq!(standing(removed, None, policy, true), Standing::default(), "headless");
}

#[test]
fn a_fleet_that_forbids_removal_has_last_resort() {
    let verdict = Silenced { percent: 100, known_for: secs(5000), may_remove: false };
    let found = standing(Drained::default(), Some(verdict), policy(SilenceAction::Remove), false);
    assert_eq!((found.last_resort_percent, found.removed, found.again_in), (100, false, None));
}
