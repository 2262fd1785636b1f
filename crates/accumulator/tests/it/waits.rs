//! Waiting for own writes.

use std::time::Duration;

use fleet_accumulator::{
    ClusterId, Expectation, ResourceVersion, Snapshot as _, SourceSet, Tracked, Until,
};
use tokio::time::Instant;

use crate::support::{Rig, Tap, Thing, World, name, record, state, terminating, thing};

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

/// Two sources of the hub have the kind.
async fn listed_twice() -> (Rig, Tap, Tap) {
    let mut rig = Rig::new();
    let (imports, extras) = (rig.imports.tap().await, rig.extras.tap().await);
    for tap in [&imports, &extras] {
        tap.list([thing("a", "1", 9, "x")]);
        tap.watch_started();
    }
    let sources = [World::imports(), World::extras()];
    rig.until(|world| sources.iter().all(|id| state(world, *id) == "live")).await;
    (rig, imports, extras)
}

const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn what_is_there_already_is_not_waited_for() {
    let (rig, _tap) = listed().await;
    assert!(
        rig.accumulator
            .wait(World::all(), expect("a", at_least("1", "9")), DEADLINE)
            .await
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_version_even_if_nothing_else_changed() {
    let (rig, tap) = listed().await;
    let accumulator = rig.accumulator.clone();
    let wait = tokio::spawn(async move {
        let unmet =
            accumulator.wait(World::all(), expect("a", at_least("1", "10")), DEADLINE).await;
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
    let unmet = rig.accumulator.wait(World::all(), expected, DEADLINE).await;
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
        let wait =
            tokio::spawn(async move { accumulator.wait(World::all(), expected, DEADLINE).await });
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
    let wait =
        tokio::spawn(async move { accumulator.wait(World::all(), expected, DEADLINE).await });
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
    let wait =
        tokio::spawn(async move { accumulator.wait(World::all(), expected, DEADLINE).await });
    rig.settle().await;
    tap.list([thing("a", "1", 12, "x"), thing("new", "2", 11, "x")]);
    assert!(wait.await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_watches_is_not_waited_for() {
    let (rig, _tap) = listed().await;
    let mut expected = expect("missing", at_least("1", "10"));
    expected[0].kind = fleet_api::kinds::SERVICE;
    assert!(rig.accumulator.wait(World::all(), expected, DEADLINE).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn waits_that_were_given_up_leave_nothing_behind() {
    let (rig, tap) = listed().await;
    for _ in 0..100 {
        let wait = rig.accumulator.wait(World::all(), expect("a", at_least("1", "100")), DEADLINE);
        assert!(tokio::time::timeout(Duration::from_millis(1), wait).await.is_err());
    }
    tap.apply(thing("a", "1", 100, "x"));
    assert!(
        rig.accumulator
            .wait(World::all(), expect("a", at_least("1", "100")), DEADLINE)
            .await
            .is_empty()
    );
}

/// One of them is being listed anew, which takes a while where it reads all members.
#[tokio::test(start_paused = true)]
async fn only_sources_that_the_writer_reads_are_waited_for() {
    let (rig, imports, extras) = listed_twice().await;
    let mut expected = expect("a", at_least("1", "1001"));
    expected[0].cluster = ClusterId::Hub;
    imports.apply(thing("a", "1", 1001, "y"));
    extras.list_started();
    rig.until(|world| state(world, World::extras()) == "resyncing").await;
    let both = SourceSet::from([World::imports(), World::extras()]);
    let unmet = rig.accumulator.wait(both, expected.clone(), DEADLINE).await;
    assert_eq!(unmet, expected, "a plan may read the one that is behind");
    let begun = Instant::now();
    let own = SourceSet::from([World::imports()]);
    assert!(rig.accumulator.wait(own, expected.clone(), DEADLINE).await.is_empty());
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let unmet = rig.accumulator.wait(SourceSet::from([World::things()]), expected, DEADLINE).await;
    assert_eq!(unmet.len(), 1, "who reads none of them waits for all");
}

/// The same while the write is on its way: what the other source shows ends no wait, and keeps none.
#[tokio::test(start_paused = true)]
async fn a_source_that_the_writer_does_not_read_ends_no_wait() {
    let (rig, imports, extras) = listed_twice().await;
    let accumulator = rig.accumulator.clone();
    let mut expected = expect("a", at_least("1", "1001"));
    expected[0].cluster = ClusterId::Hub;
    let own = SourceSet::from([World::imports()]);
    let wait = tokio::spawn(async move { accumulator.wait(own, expected, DEADLINE).await });
    extras.apply(thing("a", "1", 1001, "y"));
    rig.until(|world| world.extras.get(&name("a")).is_some_and(|a| a.text == "y")).await;
    rig.settle().await;
    assert!(!wait.is_finished());
    imports.apply(thing("a", "1", 1001, "y"));
    assert!(wait.await.unwrap().is_empty());
}
