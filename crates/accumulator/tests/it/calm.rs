//! Sources from which absence counts only after a while.

use std::time::Duration;

use fleet_accumulator::{ClusterId, Config, Newest, SourceSet, WatchError};

use crate::support::{Rig, Tap, World, both, local, refusal, state, texts, thing};

const CALM: Duration = Duration::from_mins(1);
/// Five seconds less.
const ALMOST: Duration = Duration::from_secs(55);

fn rig() -> Rig {
    let cautious = SourceSet::from([World::imports()]);
    Rig::with(&Config { cautious, cautious_for: CALM, ..Config::default() })
}

/// A list of the source, which is live from then on.
async fn list(rig: &mut Rig) -> Tap {
    let tap = rig.imports.tap().await;
    tap.list([thing("a", "u1", 5, "a")]);
    tap.watch_started();
    rig.until(|world| state(world, World::imports()) == "live").await;
    tap
}

/// Time passes; whether absence counts then, with no event on the way.
async fn settled_after(rig: &Rig, time: Duration) -> bool {
    tokio::time::sleep(time).await;
    rig.accumulator.snapshot().imports.is_settled()
}

/// Nothing else changes, and still the snapshot is published anew: consumers are woken.
#[tokio::test(start_paused = true)]
async fn a_source_settles_by_itself() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(rig.accumulator.snapshot().things.is_settled(), "nobody asked for more");
    let mut cursor = rig.accumulator.cursor(SourceSet::from([World::imports()]));
    while let Ok(Some(step)) = tokio::time::timeout(Duration::from_secs(1), cursor.next()).await {
        cursor.commit(step);
    }
    assert!(!settled_after(&rig, ALMOST).await);
    let woken = tokio::time::timeout(Duration::from_secs(10), cursor.next()).await;
    assert!(woken.is_ok());
    assert!(rig.accumulator.snapshot().imports.is_settled());
    drop(tap);
}

/// What has changed last is gone: deleted, or not there yet on a server that was restored.
#[tokio::test(start_paused = true)]
async fn absence_waits_where_the_newest_object_is_gone() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    let newest = Newest { version: "2000".into(), object: None, is_another: false };
    *rig.imports.newest.lock() = Some(newest);
    tap.fail(WatchError::WatchStart(refusal(503)));
    let tap = rig.imports.tap().await;
    assert_eq!(tap.from, None);
    tap.list_at(2000, []);
    let tap = rig.imports.tap().await;
    tap.list_at(2001, []);
    tap.watch_started();
    rig.until(|world| texts(&world.imports).is_empty()).await;
    assert!(!settled_after(&rig, ALMOST).await);
    assert!(settled_after(&rig, Duration::from_secs(10)).await);
}

/// A watch that goes on where it ended was never interrupted.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_resumed_costs_no_time() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(!settled_after(&rig, CALM / 2).await);
    tap.fail(WatchError::WatchStart(refusal(503)));
    let tap = rig.imports.tap().await;
    assert!(tap.from.is_some());
    tap.watch_started();
    assert!(settled_after(&rig, CALM / 2 + Duration::from_secs(10)).await);
}

/// A gateway without a backend, or an API server that has not loaded its definitions: what answers next may be one that was restored.
#[tokio::test(start_paused = true)]
async fn a_not_found_of_a_kind_that_is_served_costs_the_whole_wait() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    tap.fail(WatchError::WatchStart(refusal(404)));
    let tap = list(&mut rig).await;
    assert!(tap.from.is_none() && !settled_after(&rig, ALMOST).await);
    assert!(settled_after(&rig, Duration::from_secs(10)).await);
}

/// One list after another is how a source that works is read from time to time.
#[tokio::test(start_paused = true)]
async fn a_list_of_a_source_that_works_is_no_failure() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    let next = list(&mut rig).await;
    assert!(next.from.is_none() && rig.accumulator.snapshot().imports.is_settled());
    drop((tap, next));
}

/// While such a list is on its way, the content is what the last event left.
#[tokio::test(start_paused = true)]
async fn absence_counts_while_a_source_that_works_is_listed_again() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    tap.list_started();
    rig.until(|world| state(world, World::imports()) == "resyncing").await;
    assert!(rig.accumulator.snapshot().imports.is_settled());
    tap.fail(WatchError::List(refusal(503)));
    let tap = list(&mut rig).await;
    assert!(rig.accumulator.snapshot().imports.is_settled(), "a moment later it works again");
    drop(tap);
}

/// The API server may be one of another time. What it has shows with the list; that it is in doubt shows before.
#[tokio::test(start_paused = true)]
async fn a_list_on_demand_starts_the_wait_again() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    rig.accumulator.relist(ClusterId::Hub);
    rig.settle().await;
    assert!(!rig.accumulator.snapshot().imports.is_settled(), "nothing was answered yet");
    let next = rig.imports.tap().await;
    assert!(!settled_after(&rig, Duration::from_secs(20)).await);
    next.list([thing("a", "u1", 5, "a")]);
    next.watch_started();
    assert!(!settled_after(&rig, ALMOST).await);
    assert!(settled_after(&rig, Duration::from_secs(6)).await);
    drop((tap, next));
}

/// A standby may have had a broken link to the hub for minutes. It waits for lists of its own cluster alone.
#[tokio::test(start_paused = true)]
async fn at_a_new_term_of_a_leader_absence_counts_only_after_a_list() {
    let mut rig = rig();
    let own = rig.things.tap().await;
    own.list([]);
    own.watch_started();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    let since = tokio::time::Instant::now().into_std();
    let mut cursor = rig.accumulator.cursor_since(local(), both(), since);
    let own_again = rig.things.tap().await;
    own_again.list([]);
    own_again.watch_started();
    let step = cursor.next().await.unwrap();
    assert!(!step.new.imports.is_settled());
    drop((own, tap, own_again));
}

/// The API server no longer knows what has happened meanwhile: its store may have been restored.
#[tokio::test(start_paused = true)]
async fn an_expired_watch_starts_the_wait_again() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    tap.fail(WatchError::Watch(refusal(410)));
    let tap = list(&mut rig).await;
    assert!(!rig.accumulator.snapshot().imports.is_settled());
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    drop(tap);
}

#[tokio::test(start_paused = true)]
async fn a_list_after_a_failure_starts_the_wait_again() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    tap.fail(WatchError::Watch(refusal(503)));
    let mut tap = rig.imports.tap().await;
    while state(&rig.accumulator.snapshot(), World::imports()) != "stale" {
        tap.requested();
        tap.fail(WatchError::WatchStart(refusal(503)));
        tokio::time::sleep(Duration::from_secs(5)).await;
        tap = rig.imports.tap().await;
    }
    // One that becomes stale while a stream is open opens another one.
    while !tap.is_read() {
        tap = rig.imports.tap().await;
    }
    tap.list([thing("a", "u1", 5, "a")]);
    tap.watch_started();
    rig.until(|world| state(world, World::imports()) == "live").await;
    assert!(!rig.accumulator.snapshot().imports.is_settled());
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
}

/// An API server that went back in time.
#[tokio::test(start_paused = true)]
async fn an_older_list_starts_the_wait_again() {
    let mut rig = rig();
    let tap = list(&mut rig).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
    tap.fail(WatchError::Watch(refusal(410)));
    let tap = rig.imports.tap().await;
    tap.list_at(800, []);
    tap.watch_started();
    rig.until(|world| !world.imports.is_settled()).await;
    assert!(settled_after(&rig, CALM + Duration::from_secs(1)).await);
}
