//! Waiting for own writes.

use std::time::Duration;

use fleet_accumulator::{ClusterId, Expectation, ResourceVersion, Tracked, Until};
use tokio::time::Instant;

use crate::support::{Rig, Tap, Thing, name, record, terminating, thing};

fn expect(object: &str, until: Until) -> Vec<Expectation> {
    let (cluster, kind) = (ClusterId::Local, Thing::KIND);
    vec![Expectation { cluster, kind, name: name(object), until }]
}

fn at_least(uid: &str, version: &str) -> Until {
    Until::AtLeast { uid: uid.into(), version: version.into() }
}

async fn listed() -> (Rig, Tap) {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 9, "x")]);
    rig.until(|world| world.things.len() == 1).await;
    (rig, tap)
}

const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn what_is_there_already_is_not_waited_for() {
    let (rig, _tap) = listed().await;
    assert!(rig.accumulator.wait(expect("a", at_least("1", "9")), DEADLINE).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_version_even_if_nothing_else_changed() {
    let (rig, tap) = listed().await;
    let accumulator = rig.accumulator.clone();
    let wait = tokio::spawn(async move {
        let unmet = accumulator.wait(expect("a", at_least("1", "10")), DEADLINE).await;
        (unmet, record(&accumulator.snapshot().things, "a").version.clone())
    });
    rig.settle().await;
    assert!(!wait.is_finished());
    let before = Instant::now();
    // Content as before: consumers are not woken, the waiter is, and finds it published.
    tap.apply(thing("a", "1", 10, "x"));
    let (unmet, version) = wait.await.unwrap();
    assert!(unmet.is_empty());
    assert_eq!(version, ResourceVersion::from("10"));
    assert_eq!(Instant::now(), before);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_deadline_and_is_counted() {
    let (rig, tap) = listed().await;
    let registry = prometheus::Registry::new();
    rig.accumulator.register_metrics(&registry).unwrap();
    let before = Instant::now();
    let mut expected = expect("a", at_least("1", "10"));
    expected.extend(expect("a", at_least("1", "9")));
    tap.apply(thing("b", "2", 20, "other objects do not count"));
    let unmet = rig.accumulator.wait(expected, DEADLINE).await;
    assert_eq!(unmet, expect("a", at_least("1", "10")));
    assert_eq!(before.elapsed(), DEADLINE);
    let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    assert!(text.contains("fleet_accumulator_expectation_timeouts_total 1"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_waited_for_until_the_object_is_gone_or_another() {
    let (rig, tap) = listed().await;
    for (round, recreated) in [false, true].into_iter().enumerate() {
        let version = 20 + 10 * round as u64;
        let uid = format!("{round}");
        tap.apply(thing("x", &uid, version, "x"));
        rig.until(|world| {
            world.things.get(&name("x")).is_some_and(|x| x.uid == uid.as_str().into())
        })
        .await;
        let accumulator = rig.accumulator.clone();
        let expected = expect("x", Until::Gone { uid: uid.as_str().into() });
        let wait = tokio::spawn(async move { accumulator.wait(expected, DEADLINE).await });
        rig.settle().await;
        assert!(!wait.is_finished());
        if recreated {
            tap.apply(thing("x", "another", version + 2, "x"));
        } else {
            tap.delete(thing("x", &uid, version + 1, "x"));
        }
        assert!(wait.await.unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_finalizer_holds_is_seen_by_its_version() {
    let (rig, tap) = listed().await;
    let accumulator = rig.accumulator.clone();
    let expected = expect("a", at_least("1", "10"));
    let wait = tokio::spawn(async move { accumulator.wait(expected, DEADLINE).await });
    rig.settle().await;
    tap.apply(terminating(thing("a", "1", 10, "x")));
    assert!(wait.await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_list_ends_waits_too() {
    let (rig, tap) = listed().await;
    let accumulator = rig.accumulator.clone();
    let mut expected = expect("a", at_least("1", "10"));
    expected.extend(expect("new", Until::Present));
    let wait = tokio::spawn(async move { accumulator.wait(expected, DEADLINE).await });
    rig.settle().await;
    tap.list([thing("a", "1", 12, "x"), thing("new", "2", 11, "x")]);
    assert!(wait.await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_watches_is_not_waited_for() {
    let (rig, _tap) = listed().await;
    let mut expected = expect("missing", at_least("1", "10"));
    expected[0].kind = fleet_api::kinds::SERVICE;
    assert!(rig.accumulator.wait(expected, DEADLINE).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn waits_that_were_given_up_leave_nothing_behind() {
    let (rig, tap) = listed().await;
    for _ in 0..100 {
        let wait = rig.accumulator.wait(expect("a", at_least("1", "100")), DEADLINE);
        assert!(tokio::time::timeout(Duration::from_millis(1), wait).await.is_err());
    }
    tap.apply(thing("a", "1", 100, "x"));
    assert!(rig.accumulator.wait(expect("a", at_least("1", "100")), DEADLINE).await.is_empty());
}
