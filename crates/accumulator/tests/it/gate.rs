//! When consumers start, and when they do not.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::core::Status;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::support::{Rig, World, both, local, record, refusal, state, texts, thing};
use fleet_accumulator::{ClusterId, ResourceVersion, SourceSet, WatchError};

#[tokio::test(start_paused = true)]
async fn nothing_is_offered_while_a_required_source_has_not_listed() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(both());
    rig.things.tap().await.list([thing("a", "1", 1, "x")]);
    assert!(timeout(Duration::from_hours(1), cursor.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn empty_lists_open_the_gate_with_one_step() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(both());
    let (things, imports) = (rig.things.tap().await, rig.imports.tap().await);
    things.list([]);
    imports.list([]);
    let step = cursor.next().await.unwrap();
    assert!(step.new.things.is_empty() && step.new.imports.is_empty());
    assert!(step.new.things.state().is_live() && step.new.imports.state().is_live());
    cursor.commit(step);
    assert!(timeout(Duration::from_mins(1), cursor.next()).await.is_err(), "exactly one");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_waits_for_its_own_sources_only() {
    let mut rig = Rig::new();
    let mut own = rig.accumulator.cursor(local());
    rig.things.tap().await.list([thing("a", "1", 1, "x")]);
    let step = own.next().await.unwrap();
    assert_eq!(step.new.things.len(), 1);
    assert!(!step.new.imports.bootstrapped());
}

#[tokio::test(start_paused = true)]
async fn a_list_is_hidden_until_it_is_complete() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(local());
    let tap = rig.things.tap().await;
    tap.list_started();
    for number in 0..1000 {
        let name = format!("thing-{number}");
        tap.listed(thing(&name, &name, number, "x"));
    }
    assert!(timeout(Duration::from_secs(50), cursor.next()).await.is_err());
    assert!(rig.accumulator.snapshot().things.is_empty());
    tap.list_completed();
    let step = cursor.next().await.unwrap();
    assert_eq!(step.diff(|world| &world.things).count(), 1000);
}

#[tokio::test(start_paused = true)]
async fn an_isolated_change_wakes_without_any_timer() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(local());
    let tap = rig.things.tap().await;
    tap.list([]);
    let step = cursor.next().await.unwrap();
    cursor.commit(step);
    let before = Instant::now();
    tap.apply(thing("a", "1", 1, "x"));
    let step = cursor.next().await.unwrap();
    // Time stands still unless everybody waits for a timer.
    assert_eq!(Instant::now(), before);
    assert_eq!(step.received, before.into_std());
    assert_eq!(texts(&step.new.things), [("a".to_owned(), "x".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_list_keeps_the_gate_closed_and_opens_it_once_granted() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(local());
    for _ in 0..3 {
        let tap = rig.things.tap().await;
        tap.list_started();
        tap.fail(WatchError::List(refusal(403)));
        rig.until(|world| state(world, World::things()) == "forbidden").await;
    }
    assert!(cursor.try_next().is_none());
    let blocking = rig.accumulator.blocking(local());
    assert_eq!(blocking.len(), 1);
    assert!(blocking[0].contains("configmaps of the local cluster: list is forbidden"));
    assert!(blocking[0].contains("refused with 403"));

    rig.things.tap().await.list([thing("a", "1", 1, "x")]);
    let step = cursor.next().await.unwrap();
    assert_eq!(step.new.things.len(), 1);
    assert!(rig.accumulator.blocking(local()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_is_missing_opens_the_gate_and_appears_later() {
    let mut rig = Rig::new();
    let required = local().with(World::extras());
    let mut cursor = rig.accumulator.cursor(required);
    rig.extras.served.store(false, Ordering::Relaxed);
    rig.things.tap().await.list([]);
    let extras = rig.extras.tap().await;
    extras.list_started();
    extras.fail(WatchError::List(refusal(404)));
    let step = cursor.next().await.unwrap();
    assert_eq!(state(&step.new, World::extras()), "missing");
    cursor.commit(step);
    assert!(rig.accumulator.blocking(required).is_empty());

    // Nothing is listed while the kind is missing.
    assert!(timeout(Duration::from_hours(1), rig.extras.tap()).await.is_err());
    rig.extras.served.store(true, Ordering::Relaxed);
    let extras = rig.extras.tap().await;
    extras.list((1..=3).map(|number| thing(&format!("e{number}"), "1", number, "x")));
    rig.until(|world| world.extras.len() == 3).await;
    let step = cursor.next().await.unwrap();
    let added = step.diff(|world| &world.extras).filter(|change| change.old().is_none()).count();
    assert_eq!(added, 3);
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_is_forbidden_opens_the_gate_and_is_read_once_granted() {
    let mut rig = Rig::new();
    let required = local().with(World::extras());
    let mut cursor = rig.accumulator.cursor(required);
    rig.things.tap().await.list([]);
    assert!(timeout(Duration::from_hours(1), cursor.next()).await.is_err(), "nothing is known yet");
    let extras = rig.extras.tap().await;
    extras.list_started();
    extras.fail(WatchError::List(refusal(403)));
    let step = cursor.next().await.unwrap();
    assert_eq!(state(&step.new, World::extras()), "forbidden");
    assert!(!step.new.extras.bootstrapped());
    cursor.commit(step);
    assert!(rig.accumulator.blocking(required).is_empty());

    rig.extras.tap().await.list([thing("e", "1", 1, "x")]);
    rig.until(|world| world.extras.len() == 1).await;
    let step = cursor.next().await.unwrap();
    assert_eq!(step.diff(|world| &world.extras).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_required_kind_that_is_missing_keeps_the_gate_closed() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(local());
    rig.things.served.store(false, Ordering::Relaxed);
    rig.things.tap().await.fail(WatchError::List(refusal(404)));
    rig.until(|world| state(world, World::things()) == "missing").await;
    assert!(timeout(Duration::from_mins(5), cursor.next()).await.is_err());
    let blocking = rig.accumulator.blocking(local());
    assert_eq!(blocking, ["configmaps of the local cluster: the kind is not served"]);
    let asked = rig.things.asked.load(Ordering::Relaxed);
    assert!((50..=80).contains(&asked), "every 5 s, but {asked} times in 5 min");
    rig.things.served.store(true, Ordering::Relaxed);
    rig.things.tap().await.list([]);
    assert!(cursor.next().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_never_listed_says_why() {
    let mut rig = Rig::new();
    assert!(rig.accumulator.blocking(local())[0].ends_with("not listed yet"));
    let tap = rig.things.tap().await;
    tap.list_started();
    tap.fail(WatchError::List(refusal(500)));
    rig.settle().await;
    let blocking = rig.accumulator.blocking(local());
    assert!(blocking[0].contains("not listed yet (list failed"), "{blocking:?}");
    assert!(blocking[0].contains("refused with 500"), "{blocking:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_versions_alone_swaps_the_snapshot_and_wakes_nobody() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(SourceSet::from([World::things()]));
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 1, "x")]);
    let step = cursor.next().await.unwrap();
    cursor.commit(step);
    tap.apply(thing("a", "1", 2, "x"));
    let version = |world: &World| crate::support::record(&world.things, "a").version.clone();
    rig.until(|world| version(world) == ResourceVersion::from("2")).await;
    assert!(timeout(Duration::from_mins(1), cursor.next()).await.is_err());
}

/// Who takes over from another process cannot trust a watch that may be behind: it is silent then, as a quiet one.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_takes_over_waits_for_lists_begun_after_that() {
    let mut rig = Rig::new();
    let stalled = rig.things.tap().await;
    stalled.list([thing("a", "1", 1, "old")]);
    stalled.watch_started();
    rig.until(|world| world.things.len() == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let mut cursor = rig.accumulator.cursor_since(local(), local(), std_now());
    let fresh = rig.things.tap().await;
    assert_eq!(fresh.from, None, "listed anew");
    assert!(!stalled.is_read());
    fresh.list_started();
    assert!(timeout(Duration::from_secs(20), cursor.next()).await.is_err(), "not listed yet");
    fresh.listed(thing("a", "1", 2, "new"));
    fresh.list_completed();
    let step = cursor.next().await.unwrap();
    assert_eq!(record(&step.new.things, "a").text, "new");
}

#[tokio::test(start_paused = true)]
async fn lists_begun_later_are_not_repeated_and_nothing_new_opens_the_gate_too() {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 1, "x")]);
    rig.until(|world| world.things.len() == 1).await;
    let since = std_now();
    let mut first = rig.accumulator.cursor_since(local(), local(), since);
    let again = rig.things.tap().await;
    again.list([thing("a", "1", 1, "x")]);
    assert!(first.next().await.is_some(), "the same content, but fresh");
    let mut second = rig.accumulator.cursor_since(local(), local(), since);
    assert!(second.next().await.is_some());
    assert!(again.is_read(), "the second controller of a term lists nothing again");
}

#[tokio::test(start_paused = true)]
async fn a_list_on_its_way_is_begun_again_for_who_takes_over() {
    let mut rig = Rig::new();
    let early = rig.things.tap().await;
    early.list_started();
    rig.settle().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut cursor = rig.accumulator.cursor_since(local(), local(), std_now());
    let late = tokio::time::timeout(Duration::from_secs(1), rig.things.tap()).await.unwrap();
    assert!(!early.is_read());
    late.list([thing("a", "1", 1, "x")]);
    assert!(cursor.next().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_is_not_served_keeps_nobody_from_taking_over() {
    let mut rig = Rig::new();
    rig.extras.served.store(false, Ordering::Relaxed);
    rig.extras.tap().await.fail(WatchError::List(refusal(404)));
    rig.until(|world| state(world, World::extras()) == "missing").await;
    let extras = SourceSet::from([World::extras()]);
    let mut cursor = rig.accumulator.cursor_since(extras, extras, std_now());
    assert!(cursor.next().await.is_some());
}

/// Kinds that are not served are looked for once a minute: an answer from before may be that old.
#[tokio::test(start_paused = true)]
async fn who_takes_over_looks_again_for_an_optional_kind_that_was_not_served() {
    let mut rig = Rig::new();
    let served = |rig: &Rig, served| rig.extras.served.store(served, Ordering::Relaxed);
    served(&rig, false);
    rig.extras.tap().await.fail(WatchError::List(refusal(404)));
    rig.until(|world| state(world, World::extras()) == "missing").await;
    tokio::time::sleep(Duration::from_hours(1)).await;

    served(&rig, true);
    let extras = SourceSet::from([World::extras()]);
    let mut cursor = rig.accumulator.cursor_since(extras, extras, std_now());
    let tap = timeout(Duration::from_secs(1), rig.extras.tap()).await.expect("asked at once");
    assert!(timeout(Duration::from_secs(20), cursor.next()).await.is_err(), "not listed yet");
    tap.list([thing("e", "1", 1, "x")]);
    assert_eq!(cursor.next().await.unwrap().new.extras.len(), 1);
}

/// A right that was missing is looked for as rarely.
#[tokio::test(start_paused = true)]
async fn who_takes_over_looks_again_for_an_optional_kind_that_was_forbidden() {
    let mut rig = Rig::new();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_mins(3) {
        rig.extras.tap().await.fail(WatchError::List(refusal(403)));
    }
    rig.until(|world| state(world, World::extras()) == "forbidden").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let extras = SourceSet::from([World::extras()]);
    let mut cursor = rig.accumulator.cursor_since(extras, extras, std_now());
    let tap = timeout(Duration::from_secs(1), rig.extras.tap()).await.expect("asked at once");
    assert!(timeout(Duration::from_secs(20), cursor.next()).await.is_err(), "no answer yet");
    tap.fail(WatchError::List(refusal(403)));
    assert!(cursor.next().await.is_some());
}

/// An API server that has just started, or is being set up, may not serve every definition at once.
#[tokio::test(start_paused = true)]
async fn an_optional_kind_whose_definition_loads_late_is_not_taken_for_absent() {
    let mut rig = Rig::new();
    let extras = SourceSet::from([World::extras()]);
    let mut cursor = rig.accumulator.cursor(extras);
    rig.extras.served.store(false, Ordering::Relaxed);
    rig.extras.tap().await.fail(WatchError::List(refusal(404)));
    assert!(timeout(Duration::from_secs(1), cursor.next()).await.is_err(), "not known yet");
    rig.extras.served.store(true, Ordering::Relaxed);
    rig.extras.tap().await.list([thing("e", "1", 1, "x")]);
    assert_eq!(cursor.next().await.unwrap().new.extras.len(), 1);
}

/// As on a hub that is rebuilt: its definitions come back together.
#[tokio::test(start_paused = true)]
async fn where_one_kind_is_served_again_others_are_looked_for_at_once() {
    let mut rig = Rig::new();
    for hand in [&mut rig.imports, &mut rig.extras] {
        hand.served.store(false, Ordering::Relaxed);
        hand.tap().await.fail(WatchError::List(refusal(404)));
    }
    rig.until(|world| state(world, World::extras()) == "missing").await;
    // By now the optional one is looked for once a minute.
    tokio::time::sleep(Duration::from_hours(1)).await;

    rig.extras.served.store(true, Ordering::Relaxed);
    rig.imports.served.store(true, Ordering::Relaxed);
    let imports = timeout(Duration::from_secs(8), rig.imports.tap()).await.expect("looked for");
    imports.list([]);
    timeout(Duration::from_secs(3), rig.extras.tap()).await.expect("looked for at once");
    rig.until(|world| state(world, World::imports()) == "live").await;
}

/// Both sources of the hub were refused for long enough to wait for seconds.
async fn refused_for_a_while(rig: &mut Rig) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        for hand in [&mut rig.imports, &mut rig.extras] {
            hand.tap().await.fail(WatchError::List(refusal(403)));
        }
    }
    rig.until(|world| state(world, World::extras()) == "forbidden").await;
}

/// Rights come back together as well. An optional kind that was refused for long is asked for once a minute by itself.
#[tokio::test(start_paused = true)]
async fn where_one_source_gets_through_others_try_again_at_once() {
    let mut rig = Rig::new();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_mins(3) {
        rig.extras.tap().await.fail(WatchError::List(refusal(403)));
    }
    // Streams that were given up meanwhile are not read any more.
    let mut refused = false;
    let imports = loop {
        let imports = rig.imports.tap().await;
        if refused && imports.is_read() {
            break imports;
        }
        refused |= imports.is_read();
        imports.fail(WatchError::List(refusal(403)));
    };
    while let Ok(extras) = timeout(Duration::ZERO, rig.extras.tap()).await {
        extras.fail(WatchError::List(refusal(403)));
    }
    imports.list([]);
    timeout(Duration::from_secs(3), rig.extras.tap()).await.expect("tries at once");
}

#[tokio::test(start_paused = true)]
async fn who_is_asked_to_wait_does_so_though_others_get_through() {
    let mut rig = Rig::new();
    refused_for_a_while(&mut rig).await;
    let busy = json!({ "code": 429, "details": { "retryAfterSeconds": 30 } });
    let busy: Status = serde_json::from_value(busy).unwrap();
    rig.extras.tap().await.fail(WatchError::List(kube::Error::Api(busy.boxed())));
    let imports = rig.imports.tap().await;
    imports.list([]);
    rig.until(|world| state(world, World::imports()) == "live").await;
    assert!(timeout(Duration::from_secs(20), rig.extras.tap()).await.is_err(), "asked too early");
}

/// As behind a gateway: if that woke the others, sources whose watches fail would wake each other.
#[tokio::test(start_paused = true)]
async fn a_source_whose_watch_is_refused_wakes_no_other() {
    let mut rig = Rig::new();
    let imports = rig.imports.tap().await;
    imports.list([]);
    rig.until(|world| state(world, World::imports()) == "live").await;
    imports.fail(WatchError::WatchStart(refusal(403)));
    let (begin, mut asked) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_mins(2) {
        tokio::select! {
            imports = rig.imports.tap() => {
                imports.list([]);
                imports.fail(WatchError::WatchStart(refusal(403)));
            }
            extras = rig.extras.tap() => {
                asked += 1;
                extras.fail(WatchError::List(refusal(403)));
            }
        }
    }
    assert!(asked < 45, "asked {asked} times in two minutes");
}

/// What is asked for while it is in doubt whether many deletions are to be believed is done after that.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_asked_for_during_a_doubt_is_not_forgotten() {
    let mut rig = Rig::new();
    let extras = rig.extras.tap().await;
    extras.list([thing("e", "1", 1, "x")]);
    extras.watch_started();
    rig.until(|world| state(world, World::extras()) == "live").await;
    *rig.extras.refusal.lock() = Some(Status { code: 503, ..Status::default() });
    let asked = rig.extras.asked.load(Ordering::Relaxed);
    extras.delete(thing("e", "1", 2, "x"));
    while rig.extras.asked.load(Ordering::Relaxed) == asked {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    rig.accumulator.relist(ClusterId::Hub);
    *rig.extras.refusal.lock() = None;
    let again = timeout(Duration::from_secs(30), rig.extras.tap()).await.expect("a list");
    assert_eq!(again.from, None);
}

fn std_now() -> std::time::Instant {
    Instant::now().into_std()
}
