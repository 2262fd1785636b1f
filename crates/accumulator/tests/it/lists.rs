//! Lists: what one that fails or never ends stops, and how often all is listed.

use std::time::Duration;

use fleet_accumulator::{Config, Newest, WatchError, WatchItem};
use tokio::time::{Instant, timeout};

use crate::states::{gone, live};
use crate::support::{LIST_VERSION, Rig, World, record, refusal, state, thing};

/// As where pages follow each other in a circle: it would never end, and what it has shown would be kept.
#[tokio::test(start_paused = true)]
async fn a_list_that_repeats_itself_is_given_up() {
    let (mut rig, tap) = live().await;
    tap.fail(gone());
    let tap = rig.things.tap().await;
    tap.list_started();
    for at in 0..2000 {
        tap.listed(thing(["a", "b"][at % 2], "1", 8, "new"));
    }
    let next = timeout(Duration::from_mins(2), rig.things.tap()).await;
    assert!(next.is_ok_and(|tap| tap.from.is_none()) && !tap.is_read());
}

#[tokio::test(start_paused = true)]
async fn a_list_without_progress_is_started_over() {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list_started();
    let second = rig.things.tap().await;
    assert!(!tap.is_read());
    second.list([]);
    rig.until(|world| world.things.bootstrapped()).await;
}

/// A slow link: nothing is listed yet, but parts of the answer come.
#[tokio::test(start_paused = true)]
async fn a_list_that_gets_on_slowly_is_not_started_over() {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list_started();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        tap.send(WatchItem::Progress);
    }
    assert!(tap.is_read());
    tap.list_completed();
    rig.until(|world| world.things.bootstrapped()).await;
}

/// However long a list takes: it costs the API server more than a watch.
#[tokio::test(start_paused = true)]
async fn lists_after_which_no_watch_can_start_are_paced() {
    let mut rig = Rig::new();
    let began = Instant::now();
    let mut listing = Duration::ZERO;
    for _ in 0..10 {
        let tap = rig.things.tap().await;
        tap.list_started();
        let list = Duration::from_secs(2);
        tokio::time::sleep(list).await;
        listing += list;
        tap.list_completed();
        tap.fail(gone());
    }
    let after = began.elapsed();
    assert!(after >= listing + Duration::from_secs(20), "ten lists in {after:?}");
}

#[tokio::test(start_paused = true)]
async fn all_is_listed_again_although_watches_end_in_between() {
    let every = Duration::from_mins(10);
    let mut rig = Rig::with(&Config { relist_every: every, ..Config::default() });
    let tap = rig.things.tap().await;
    tap.list([]);
    tap.watch_started();
    tokio::time::sleep(every / 2).await;
    drop(tap);
    let began = Instant::now();
    let tap = rig.things.tap().await;
    assert!(tap.from.is_some());
    tap.watch_started();
    assert_eq!(rig.things.tap().await.from, None);
    assert!(began.elapsed() <= every);
}

/// It is no more than a precaution: an API server that sheds lists, or forgets the first page before the last one was asked for,
/// stops no watch.
#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_the_list_of_all_fails() {
    let every = Duration::from_mins(10);
    for code in [Some(410), Some(429), Some(503), None] {
        let mut rig = Rig::with(&Config { relist_every: every, ..Config::default() });
        let tap = rig.things.tap().await;
        tap.list([thing("a", "1", 5, "x"), thing("b", "2", 6, "x")]);
        tap.watch_started();
        tokio::time::sleep(every / 2).await;
        assert!(tap.is_read());
        let tap = rig.things.tap().await;
        assert_eq!(tap.from, None);
        // What has changed last may be gone: the watch that goes on has not shown that yet.
        let newest = Newest { version: "2000".into(), object: None, is_another: false };
        *rig.things.newest.lock() = Some(newest);
        let began = Instant::now();
        tap.requested();
        let silent = match code {
            Some(code) => {
                tap.list_started();
                tap.listed(thing("a", "1", 7, "listed"));
                tap.fail(WatchError::List(refusal(code)));
                None
            }
            None => Some(tap),
        };
        let tap = rig.things.tap().await;
        assert_eq!(tap.from, Some(LIST_VERSION.into()), "{code:?}");
        assert!(silent.is_none_or(|tap| !tap.is_read()));
        let patience = Duration::from_secs(if code.is_some() { 0 } else { 30 });
        assert_eq!(began.elapsed(), patience, "{code:?}");
        assert_ne!(state(&rig.accumulator.snapshot(), World::things()), "stale");
        tap.watch_started();
        tap.apply(thing("a", "1", 7, "watched"));
        let world = rig.until(|world| record(&world.things, "a").text == "watched").await;
        assert_eq!((world.things.len(), state(&world, World::things())), (2, "live"));
    }
}

/// What it has come to is another server's.
#[tokio::test(start_paused = true)]
async fn no_watch_goes_on_where_another_server_has_answered_the_list() {
    let every = Duration::from_mins(10);
    let mut rig = Rig::with(&Config { relist_every: every, ..Config::default() });
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 5, "x")]);
    tap.watch_started();
    let tap = rig.things.tap().await;
    tap.send(WatchItem::ServerChanged);
    tap.fail(WatchError::List(refusal(503)));
    assert_eq!(rig.things.tap().await.from, None);
}

/// How often others had their turn until a list in so many parts was read.
async fn turns(parts: usize) -> usize {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list_started();
    (0..parts).for_each(|_| tap.send(WatchItem::Progress));
    tap.list_completed();
    let mut turns = 0;
    while !rig.accumulator.snapshot().things.bootstrapped() {
        tokio::task::yield_now().await;
        turns += 1;
    }
    turns
}

#[tokio::test(start_paused = true)]
async fn others_have_their_turn_between_the_parts_of_a_list() {
    let (none, many) = (turns(0).await, turns(50).await);
    assert!(none < 10 && many >= 50, "{none} and {many}");
}
