//! One elector, step by step.

use super::*;

const WALL: Timestamp = Timestamp::UNIX_EPOCH;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn elector() -> Elector {
    Elector::new("me".to_owned(), Timing::default())
}

fn found(version: &str, holder: &str, renewed: i64) -> Found {
    let record = Object {
        holder: holder.to_owned(),
        duration: at(30),
        acquired: Some(WALL),
        renewed: Some(Timestamp::from_second(renewed).unwrap()),
        transitions: 4,
    };
    Found { version: version.to_owned(), record }
}

/// The version that is replaced; empty for a new object.
#[track_caller]
fn writes(elector: &Elector, now: u64) -> (String, Object) {
    match elector.decide(at(now), WALL) {
        NextAction::Write { at, record } => (at.unwrap_or_default(), record),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_free_lease_is_taken_at_once() {
    let mut elector = elector();
    assert_eq!(elector.decide(at(1), WALL), NextAction::Read);
    elector.read(at(1), None);
    let (version, record) = writes(&elector, 1);
    assert_eq!((version.as_str(), record.holder.as_str(), record.transitions), ("", "me", 0));
    elector.read(at(1), Some(found("7", "", 0)));
    let (version, record) = writes(&elector, 1);
    assert_eq!((version.as_str(), record.transitions), ("7", 5));
}

#[test]
fn who_leads_counts_from_before_the_request() {
    let mut elector = elector();
    elector.read(at(1), None);
    elector.wrote(at(1), found("8", "me", 1));
    assert_eq!(elector.leads_until(), at(11));
    let (version, record) = writes(&elector, 3);
    assert_eq!((version.as_str(), record.transitions, record.acquired), ("8", 4, Some(WALL)));
}

#[test]
fn a_lease_expires_when_it_was_not_seen_to_change() {
    let mut elector = elector();
    elector.read(at(100), Some(found("7", "other", 0)));
    assert_eq!(elector.decide(at(129), WALL), NextAction::Wait);
    // Whatever the time in it is: the other one's date may be wrong.
    elector.read(at(129), Some(found("8", "other", -5000)));
    assert_eq!(elector.decide(at(158), WALL), NextAction::Wait);
    // A label is no sign of life.
    elector.read(at(158), Some(found("9", "other", -5000)));
    assert_eq!(elector.decide(at(158), WALL), NextAction::Wait);
    assert_eq!(writes(&elector, 159).0, "9");
}

#[test]
fn a_record_that_claims_little_or_much_is_not_believed() {
    for (claimed, expires) in [(0, 30), (1, 30), (60, 60), (1_000_000, 600)] {
        let mut elector = elector();
        let mut found = found("7", "other", 0);
        found.record.duration = at(claimed);
        elector.read(at(0), Some(found));
        assert_eq!(elector.decide(at(expires - 1), WALL), NextAction::Wait, "{claimed}");
        assert_eq!(writes(&elector, expires).0, "7", "{claimed}");
    }
}

#[test]
fn a_deleted_lease_is_not_a_free_one() {
    let mut elector = elector();
    elector.read(at(0), Some(found("7", "other", 0)));
    elector.read(at(10), None);
    elector.read(at(20), None);
    assert_eq!(elector.decide(at(39), WALL), NextAction::Wait);
    assert_eq!(writes(&elector, 40).0, "");
}

#[test]
fn a_deleted_lease_of_ours_is_made_again() {
    let mut elector = elector();
    elector.wrote(at(0), found("7", "me", 0));
    elector.forget();
    elector.read(at(2), None);
    assert_eq!(writes(&elector, 2).0, "");
    assert_eq!(elector.leads_until(), at(10));
    // Once it has expired, another process may have had it since.
    assert_eq!(elector.decide(at(10), WALL), NextAction::Wait);
    assert_eq!(elector.decide(at(31), WALL), NextAction::Wait);
    assert_eq!(writes(&elector, 32).0, "");
}

#[test]
fn another_holder_ends_the_term_at_once() {
    let mut elector = elector();
    elector.wrote(at(0), found("7", "me", 0));
    elector.forget();
    elector.read(at(2), Some(found("8", "other", 1)));
    assert_eq!(elector.leads_until(), Duration::ZERO);
    assert_eq!(elector.decide(at(2), WALL), NextAction::Wait);
}

#[test]
fn an_answer_that_was_lost_is_no_reason_to_lead() {
    let mut elector = elector();
    elector.read(at(0), None);
    elector.forget();
    // The claim has arrived, but it is unknown when it was made.
    elector.read(at(2), Some(found("7", "me", 0)));
    assert_eq!(elector.leads_until(), Duration::ZERO);
    assert_eq!(writes(&elector, 2).0, "7");
}

#[test]
fn a_lease_is_given_back_only_by_its_holder() {
    assert_eq!(elector().release(at(0), WALL), None);
    let mut elector = elector();
    elector.wrote(at(0), found("7", "me", 0));
    let mut late = elector.clone();
    assert_eq!(late.release(at(10), WALL), None);

    let Some(NextAction::Write { at: version, record }) = elector.release(at(9), WALL) else {
        panic!()
    };
    assert_eq!((version.as_deref(), record.holder.as_str()), (Some("7"), ""));
    assert_eq!(elector.leads_until(), Duration::ZERO);
}
