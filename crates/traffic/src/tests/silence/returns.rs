//! The return of a member that renews again.

use super::fleet::{Fleet, name};
use crate::{MemberState, Verdict};

/// Seconds until the percentage of the first member differs from `from`, while all renew.
fn until_change(fleet: &mut Fleet, from: u8) -> u64 {
    for second in 1..2000 {
        fleet.pass(1, |_| false);
        if fleet.of(0).percent != from {
            return second;
        }
    }
    panic!("stays at {from} %");
}

fn ejected() -> Fleet {
    let mut fleet = Fleet::new(10);
    fleet.pass(70, |at| at == 0);
    assert_eq!(fleet.of(0).percent, 100);
    fleet
}

#[test]
fn returns_in_four_steps() {
    let mut fleet = ejected();
    // The first renewal is within ten seconds.
    let waited = until_change(&mut fleet, 100);
    assert!((30..=41).contains(&waited), "{waited} s");
    assert_eq!((fleet.of(0).percent, fleet.verdict(0)), (75, Verdict::Heard));
    for (from, to) in [(75, 50), (50, 25), (25, 0)] {
        assert_eq!(until_change(&mut fleet, from), 20);
        assert_eq!(fleet.of(0).percent, to);
    }
}

#[test]
fn waits_twice_as_long_after_each_ejection_in_an_hour() {
    let mut fleet = Fleet::new(10);
    for earlier in 0..=5 {
        fleet.pass(70, |at| at == 0);
        assert_eq!(fleet.of(0).percent, 100);
        let waited = until_change(&mut fleet, 100);
        let damping = (30 << earlier).min(600);
        assert!((damping..=damping + 11).contains(&waited), "{waited} s after {earlier} earlier");
    }
    fleet.pass(3600, |_| false);
    fleet.pass(70, |at| at == 0);
    let waited = until_change(&mut fleet, 100);
    assert!((30..=41).contains(&waited), "{waited} s after an hour");
}

#[test]
fn silences_of_seventy_seconds_every_two_minutes_eject_at_most_once_per_damping() {
    let mut fleet = Fleet::new(10);
    let mut ejections = 0;
    for second in 0..3600 {
        let before = fleet.of(0).percent;
        fleet.pass(1, |at| at == 0 && second % 120 < 70);
        ejections += usize::from(before < 100 && fleet.of(0).percent == 100);
    }
    // The waits grow from half a minute to two, for which such a member never renews.
    assert!((1..=3).contains(&ejections), "{ejections} ejections");
}

#[test]
fn a_gap_starts_the_wait_again() {
    let mut fleet = ejected();
    fleet.pass(15, |_| false);
    fleet.pass(30, |at| at == 0);
    fleet.pass(25, |_| false);
    assert_eq!(fleet.of(0).percent, 100);
}

#[test]
fn a_member_returns_only_with_a_new_mark() {
    let mut fleet = ejected();
    fleet.marks = false;
    fleet.pass(300, |_| false);
    assert_eq!(fleet.of(0).percent, 100);
    fleet.marks = true;
    assert!(until_change(&mut fleet, 100) <= 10);
}

#[test]
fn a_new_leader_goes_on_from_what_the_old_one_wrote() {
    for percent in [0, 25, 50, 75, 100] {
        let mut fleet = Fleet::new(10);
        let state = MemberState::restored(percent, false, fleet.now);
        fleet.last.states.insert(name(0), state);
        fleet.judge();
        assert_eq!(fleet.of(0).percent, percent);
        fleet.pass(200, |_| false);
        assert_eq!(fleet.of(0).percent, 0, "from {percent} %");
    }
}
