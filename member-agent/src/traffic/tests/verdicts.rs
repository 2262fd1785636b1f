use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::{Object, SourceState, Tracked as _, View};
use fleet_api::ObjectName;
use fleet_model::objects::traffic::MemberTraffic;
use serde_json::json;

use crate::traffic::verdicts::Verdicts;

/// A silent member, its object and the serial of the verdict.
fn members(uid: &str, serial: i64, percent: i64) -> View<MemberTraffic> {
    let silence = json!({ "state": "Silent", "percent": percent, "serial": serial });
    let wire = json!({
        "metadata": { "name": "a", "uid": uid },
        "spec": {},
        "status": { "serial": serial + 7, "silence": silence },
    });
    let member = MemberTraffic::project(serde_json::from_value(wire).unwrap()).unwrap();
    View::of([Object::new(ObjectName::cluster("a"), uid.into(), "1".into(), member)])
}

/// Bytes that a note may have.
const MOST: usize = 100_000;

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn next(before: &Verdicts, members: &View<MemberTraffic>, now: u64) -> Verdicts {
    before.next(BTreeSet::from(["a".to_owned()]), members, secs(now))
}

/// As of a process that has applied the verdict with serial 5 for a hundred seconds.
fn noted() -> String {
    let first = next(&Verdicts::default(), &members("u", 5, 100), 1000);
    first.hand_on(MOST, secs(1100)).unwrap()
}

fn taken_over() -> Verdicts {
    Verdicts::default().taking_over(&noted()).unwrap()
}

#[test]
fn the_next_process_goes_on_with_the_same_verdict_alone() {
    let cases = [
        ("the same", members("u", 5, 100), 103),
        ("the same, as the member returns", members("u", 5, 50), 103),
        ("what an old view shows", members("u", 4, 100), 103),
        ("a later silence", members("u", 8, 100), 3),
        ("a member that has joined anew", members("v", 5, 100), 3),
        ("one that is missing", View::of([]), 3),
    ];
    for (case, members, known_for) in cases {
        let here = next(&taken_over(), &members, 10);
        assert_eq!(here.known_for("a", secs(13)), Some(secs(known_for)), "{case}");
        let third =
            here.hand_on(MOST, secs(20)).map(|noted| Verdicts::default().taking_over(&noted));
        let third = third.transpose().unwrap().unwrap_or_default();
        let known_for = if members.is_empty() { 0 } else { known_for + 7 };
        let third = next(&third, &members, 0).known_for("a", secs(0));
        assert_eq!(third, Some(secs(known_for)), "{case}, for the process after it");
    }
}

#[test]
fn what_was_noted_is_not_lost_before_it_is_looked_at() {
    let known = taken_over();
    assert_eq!(
        known.hand_on(MOST, secs(5)),
        Some(noted()),
        "this process ends before its first plan"
    );
    let unlisted = View::of([]).in_state(SourceState::Pending);
    let known = known.next(BTreeSet::new(), &unlisted, secs(1));
    assert_eq!(known.hand_on(MOST, secs(5)), Some(noted()), "no member was listed yet");
    let beyond = known.next(BTreeSet::new(), &members("u", 5, 100), secs(2));
    assert_eq!(beyond.hand_on(MOST, secs(5)), Some(noted()), "it is beyond the bound at present");
    let old = known.next(BTreeSet::new(), &members("u", -3, 0), secs(2));
    assert_eq!(old.hand_on(MOST, secs(5)), Some(noted()), "the watch shows what was before");
    let ended = known.next(BTreeSet::new(), &members("u", 5, 0), secs(2));
    assert_eq!(ended.hand_on(MOST, secs(5)), None, "the member has returned");
    let over = known.next(BTreeSet::new(), &View::of([]), secs(2));
    assert_eq!(over.hand_on(MOST, secs(5)), None, "the member has left");
}

#[test]
fn verdicts_of_before_are_those_that_still_stand() {
    let before = |members: &View<MemberTraffic>| taken_over().before(members).contains("a");
    assert!(before(&members("u", 5, 25)));
    assert!(!before(&members("u", 5, 0)) && !before(&members("u", 6, 100)));
}

#[test]
fn a_process_that_leads_again_trusts_the_one_between() {
    let first = next(&Verdicts::default(), &members("u", 5, 100), 0);
    let alone = first.of_new_term(secs(50));
    let alone = next(&alone, &members("u", 5, 100), 60);
    assert_eq!(alone.known_for("a", secs(60)), Some(secs(50)), "none has led between");
    let between = next(&Verdicts::default(), &members("u", 9, 100), 0);
    let again = first.taking_over(&between.hand_on(MOST, secs(30)).unwrap()).unwrap();
    let again = next(&again.of_new_term(secs(50)), &members("u", 9, 100), 60);
    assert_eq!(again.known_for("a", secs(60)), Some(secs(30)), "a later verdict");
}

/// The watch may have missed that a member was back.
#[test]
fn a_later_silence_begins_anew_in_the_same_term() {
    let first = next(&Verdicts::default(), &members("u", 5, 100), 0);
    for (case, members, known_for) in [
        ("an old view", members("u", 4, 100), 50),
        ("no verdict at present", View::of([]), 50),
        ("a later silence", members("u", 9, 100), 0),
        ("a member that has joined anew", members("v", 1, 100), 0),
    ] {
        let here = next(&first, &members, 50);
        assert_eq!(here.known_for("a", secs(50)), Some(secs(known_for)), "{case}");
    }
    let missing = next(&first, &View::of([]), 50);
    let found = next(&missing, &members("v", 1, 100), 60);
    assert_eq!(found.known_for("a", secs(60)), Some(secs(60)), "it is silent on either hub");
}

/// A member beyond the bound is in use, and stays so as it returns.
#[test]
fn a_first_look_decides_what_was_applied_before() {
    let known = taken_over();
    let unlisted = View::of([]).in_state(SourceState::Pending);
    let known = known.next(BTreeSet::new(), &unlisted, secs(1));
    assert!(known.before(&members("u", 5, 100)).contains("a"), "nothing was listed");
    let known = known.next(BTreeSet::new(), &members("u", 5, 100), secs(1));
    assert!(!known.before(&members("u", 5, 75)).contains("a"));
}

#[test]
fn of_too_many_those_applied_for_longest_are_noted() {
    let noted = (0..4000)
        .map(|at| (format!("member-{at}"), json!({ "uid": "u", "serial": 5, "seconds": at })));
    let noted = noted.collect::<serde_json::Value>().to_string();
    let known = Verdicts::default().taking_over(&noted).unwrap();
    let handed_on = known.hand_on(MOST, secs(0)).unwrap();
    assert!((MOST / 4..=MOST).contains(&handed_on.len()), "{}", handed_on.len());
    assert!(handed_on.contains("member-3999") && !handed_on.contains("\"member-7\""));
    assert_eq!(known.hand_on(10, secs(0)), None);
}

#[test]
fn what_cannot_be_read_is_passed_over() {
    let noted = json!({
        "a": { "uid": "u", "serial": 5, "seconds": 9 },
        "b": { "uid": "u", "serial": 5, "seconds": -9 },
        "c": [],
    });
    let known = Verdicts::default().taking_over(&noted.to_string()).unwrap();
    let only = known.hand_on(MOST, secs(0)).unwrap();
    assert_eq!(only, r#"{"a":{"uid":"u","serial":5,"seconds":9}}"#);
    assert_eq!(known.taking_over("{}").unwrap(), Verdicts::default(), "the last note counts");
    assert!(known.taking_over("[]").is_err());
}

/// After a renewal that failed, the process that leads reads what it has noted.
#[test]
fn what_is_applied_is_known_better_than_what_was_noted() {
    let first = next(&Verdicts::default(), &members("u", 5, 100), 0);
    let noted = first.hand_on(MOST, secs(10)).unwrap();
    assert_eq!(first.taking_over(&noted).unwrap(), first);
    let later = first.next(BTreeSet::new(), &members("u", 5, 0), secs(20));
    let later = next(&later, &members("u", 9, 100), 30).taking_over(&noted).unwrap();
    assert_eq!(later.known_for("a", secs(35)), Some(secs(5)));
    let handed_on =
        Verdicts::default().taking_over(&later.hand_on(MOST, secs(35)).unwrap()).unwrap();
    let handed_on = next(&handed_on, &members("u", 9, 100), 0);
    assert_eq!(handed_on.known_for("a", secs(0)), Some(secs(5)));
}

#[test]
fn times_beyond_all_bounds_are_long() {
    let noted = json!({ "a": { "uid": "u", "serial": 5, "seconds": u64::MAX } }).to_string();
    let known = Verdicts::default().taking_over(&noted).unwrap();
    let known = next(&known, &members("u", 5, 100), 1);
    assert!(known.known_for("a", Duration::MAX) > Some(secs(1 << 40)));
    assert!(known.hand_on(MOST, Duration::MAX).is_some());
}
