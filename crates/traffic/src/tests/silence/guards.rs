//! Who is silent, and what holds a verdict.

use proptest::prelude::*;

use super::fleet::{Fleet, name};
use crate::tests::given::secs;
use crate::{Instruction, Verdict};

const SILENT: Verdict = Verdict::Silent { by_domain: false };

#[test]
fn one_silent_member_is_ejected_after_silent_after() {
    let mut fleet = Fleet::new(10);
    fleet.pass(50, |at| at == 3);
    assert_eq!((fleet.verdict(3), fleet.moved()), (Verdict::Heard, 0));
    fleet.pass(15, |at| at == 3);
    assert_eq!((fleet.verdict(3), fleet.of(3).percent, fleet.moved()), (SILENT, 100, 1));
    assert!(!fleet.last.mass_silence);
}

#[test]
fn forty_of_a_hundred_at_once_move_nothing() {
    let mut fleet = Fleet::new(100);
    for _ in 0..300 {
        fleet.pass(1, |at| at < 40);
        assert_eq!(fleet.moved(), 0);
    }
    assert!(fleet.last.mass_silence);
    assert!((0..40).all(|at| fleet.verdict(at) == Verdict::Held));
    // They recover one by one.
    for _ in 0..60 {
        fleet.pass(1, |_| false);
        assert_eq!(fleet.moved(), 0);
    }
    assert!(!fleet.last.mass_silence && fleet.verdict(0) == Verdict::Heard);
}

#[test]
fn up_to_the_bound_are_ejected_and_no_more() {
    // Members, silent ones, how many move.
    for (members, silent, moved) in
        [(100, 20, 20), (100, 21, 0), (9, 1, 1), (9, 2, 0), (2, 1, 1), (2, 2, 0), (1, 1, 0)]
    {
        let mut fleet = Fleet::new(members);
        fleet.pass(120, |at| at < silent);
        assert_eq!(fleet.moved(), moved, "{silent} of {members}");
        assert_eq!(fleet.last.mass_silence, moved == 0);
    }
}

#[test]
fn a_second_wave_counts_those_that_are_silent_already() {
    let mut fleet = Fleet::new(100);
    fleet.pass(120, |at| at < 15);
    assert_eq!(fleet.moved(), 15);
    fleet.pass(300, |at| at < 30);
    assert_eq!(fleet.moved(), 15, "old verdicts stay, no new one is passed");
    assert!(fleet.last.mass_silence);
}

/// A Lease that is deleted makes no bound smaller: its silent member still counts as a failure.
#[test]
fn silent_members_without_a_lease_are_members() {
    let mut fleet = Fleet::new(10);
    fleet.pass(120, |at| at == 0);
    fleet.member(0).last_seen = None;
    fleet.pass(120, |at| at < 2);
    assert_eq!([fleet.verdict(0), fleet.verdict(1)], [SILENT, SILENT]);
    assert!(!fleet.last.mass_silence);
}

#[test]
fn half_of_the_members_have_to_renew() {
    let mut fleet = Fleet::new(10);
    fleet.settings.max_silent_percent = 100;
    fleet.pass(120, |at| at < 6);
    assert_eq!((fleet.moved(), fleet.last.mass_silence), (0, true));
}

#[test]
fn confirmed_members_are_ejected_and_exactly_these() {
    let mut fleet = Fleet::new(100);
    for at in [7, 8, 90] {
        fleet.member(at).instruction = Instruction::Confirmed;
    }
    fleet.pass(120, |at| at < 50);
    assert_eq!(fleet.moved(), 2);
    assert_eq!([fleet.verdict(7), fleet.verdict(8)], [SILENT, SILENT]);
    assert_eq!(fleet.verdict(9), Verdict::Held);
    assert!(fleet.of(90).confirmation_lapsed && !fleet.of(7).confirmation_lapsed);
}

#[test]
fn members_of_one_failure_domain_count_as_one() {
    let mut fleet = Fleet::new(100);
    for at in 0..30 {
        fleet.member(at).domain = Some("eu-1".to_owned());
    }
    fleet.pass(120, |at| at < 30);
    assert_eq!(fleet.moved(), 30);
    assert_eq!(fleet.verdict(0), Verdict::Silent { by_domain: true });
    let mut fleet = Fleet::new(100);
    for at in 0..30 {
        fleet.member(at).domain = Some(format!("eu-{}", at / 29));
    }
    fleet.pass(120, |at| at < 30);
    assert_eq!(fleet.moved(), 0, "two domains");
}

#[test]
fn who_is_never_judged() {
    let mut fleet = Fleet::new(10);
    fleet.member(0).last_seen = None;
    fleet.member(1).instruction = Instruction::Never;
    fleet.pass(120, |at| at < 2);
    assert_eq!(fleet.verdict(0), Verdict::Unmanaged);
    assert_eq!((fleet.verdict(1), fleet.moved()), (Verdict::Heard, 0));
}

#[test]
fn a_hub_agent_that_does_not_see_decides_nothing() {
    type Break = fn(&mut Fleet);
    let breaks: [Break; 3] = [
        |fleet| fleet.observer.leads_since = fleet.now,
        |fleet| fleet.observer.watches_since = Some(fleet.now),
        |fleet| fleet.observer.watches_since = None,
    ];
    for break_it in breaks {
        let mut fleet = Fleet::new(10);
        fleet.pass(40, |at| at == 0);
        break_it(&mut fleet);
        fleet.pass(55, |at| at == 0);
        assert_eq!(fleet.moved(), 0);
    }
    // Its own renewals are not acknowledged: the hub is away, and no Lease changes.
    let mut fleet = Fleet::new(10);
    for _ in 0..600 {
        fleet.tick(|_| true, false);
        assert_eq!((fleet.moved(), fleet.last.mass_silence), (0, false));
    }
}

#[test]
fn members_that_come_back_with_the_hub_are_not_silent() {
    for members in [1, 2, 3, 10] {
        let mut fleet = Fleet::new(members);
        for _ in 0..120 {
            fleet.tick(|_| true, false);
        }
        for _ in 0..120 {
            fleet.pass(1, |_| false);
            assert_eq!((fleet.moved(), fleet.last.mass_silence), (0, false));
        }
    }
}

#[test]
fn members_that_fail_at_once_are_suspected_whatever_the_heartbeat() {
    let mut fleet = Fleet::new(100);
    fleet.settings.silent_after = fleet.settings.heartbeat * 3;
    for _ in 0..200 {
        fleet.pass(1, |at| at < 40);
        assert_eq!(fleet.moved(), 0);
    }
}

#[test]
fn verdicts_stay_while_the_hub_agent_does_not_see() {
    let mut fleet = Fleet::new(10);
    fleet.pass(120, |at| at == 0);
    fleet.observer.watches_since = None;
    fleet.pass(600, |_| false);
    assert_eq!((fleet.verdict(0), fleet.of(0).percent), (SILENT, 100));
}

#[test]
fn a_member_that_flaps_each_second_changes_nothing() {
    let mut fleet = Fleet::new(10);
    for second in 0..600 {
        fleet.pass(1, |at| at == 0 && second % 2 == 0);
        // Its renewals come at seconds of its own, so that some are lost.
        assert_eq!(fleet.moved(), 0);
    }
}

#[test]
fn the_next_judgement_is_named() {
    let mut fleet = Fleet::new(2);
    let seen = fleet.member(0).last_seen.unwrap();
    fleet.pass(1, |at| at == 0);
    assert_eq!(fleet.last.again_at, Some(seen + secs(60)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn guards_hold_in_any_history(
        count in 1_usize..30,
        history in prop::collection::vec((any::<u32>(), 1_u64..100, any::<bool>()), 1..8),
    ) {
        let mut fleet = Fleet::new(count);
        let most = (count / 5).max(1);
        for (silent, seconds, hub_renews) in history {
            for _ in 0..seconds {
                let before = fleet.last.clone();
                fleet.tick(|at| silent & (1 << at) != 0, hub_renews);
                let by_verdict = |judgement: &crate::Judgement| {
                    let all = judgement.verdicts.values();
                    all.filter(|one| matches!(one.verdict, Verdict::Silent { .. })).count()
                };
                prop_assert!(by_verdict(&fleet.last) <= most);
                prop_assert!(fleet.last.again_at.is_none_or(|at| at > fleet.now));
                for at in 0..count {
                    let is_new = before.verdicts[&name(at)].percent < fleet.of(at).percent;
                    let seen = fleet.members[&name(at)].last_seen.unwrap();
                    prop_assert!(!is_new || fleet.now >= seen + secs(60));
                }
            }
        }
    }
}
