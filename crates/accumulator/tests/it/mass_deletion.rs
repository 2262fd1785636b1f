//! Many objects that disappear at once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Status;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::support::{Rig, Tap, World, local, state, terminating, thing};

fn many(count: u64) -> impl Iterator<Item = ConfigMap> {
    (0..count).map(|number| {
        let name = format!("thing-{number:03}");
        thing(&name, &name, number + 1, "x")
    })
}

/// What discovery may answer.
fn refusal(code: u16, retry_after: u32) -> Option<Status> {
    let details = json!({"retryAfterSeconds": retry_after});
    let status =
        json!({"code": code, "message": format!("refused with {code}"), "details": details});
    serde_json::from_value(status).unwrap()
}

async fn with_a_hundred() -> (Rig, Tap) {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list(many(100));
    rig.until(|world| world.things.len() == 100).await;
    (rig, tap)
}

#[tokio::test(start_paused = true)]
async fn a_list_that_lacks_much_is_believed_once_a_second_one_agrees() {
    let (mut rig, tap) = with_a_hundred().await;
    let first = many(10).map(|mut thing| {
        thing.metadata.resource_version = Some("1000".to_owned());
        thing.data.get_or_insert_default().insert("text".to_owned(), "y".to_owned());
        thing
    });
    tap.list(first);
    let world = rig.until(|world| state(world, World::things()) == "resyncing").await;
    rig.settle().await;
    assert_eq!(rig.accumulator.snapshot().things.len(), 100);
    drop(world);
    let second = rig.things.tap().await;
    assert!(!tap.is_read(), "the second list is one of its own");
    let world = rig.accumulator.snapshot();
    let updated = world.things.iter().filter(|thing| thing.text == "y").count();
    assert_eq!((updated, world.things.len()), (10, 100), "updates go on");
    second.list(many(10));
    let world = rig.until(|world| world.things.len() == 10).await;
    assert_eq!(state(&world, World::things()), "live");
}

#[tokio::test(start_paused = true)]
async fn a_second_list_that_disagrees_removes_nothing() {
    let (mut rig, tap) = with_a_hundred().await;
    tap.list(many(10));
    let second = rig.things.tap().await;
    second.list(many(100));
    let world = rig.until(|world| state(world, World::things()) == "live").await;
    assert_eq!(world.things.len(), 100);
    // What was held is forgotten: the next list is a first one again.
    second.list(many(10));
    rig.until(|world| state(world, World::things()) == "resyncing").await;
    assert_eq!(rig.accumulator.snapshot().things.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn few_removals_in_a_list_are_believed_at_once() {
    let (rig, tap) = with_a_hundred().await;
    tap.list(many(70));
    rig.until(|world| world.things.len() == 70).await;
    assert!(tap.is_read());
}

#[tokio::test(start_paused = true)]
async fn many_deletions_of_a_kind_that_is_served_go_on_after_one_question() {
    let (rig, tap) = with_a_hundred().await;
    let before = Instant::now();
    many(100).for_each(|thing| tap.delete(thing));
    rig.until(|world| world.things.is_empty()).await;
    assert_eq!(Instant::now(), before);
    assert_eq!(rig.things.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn deletions_within_the_limit_ask_nobody() {
    let (rig, tap) = with_a_hundred().await;
    many(30).for_each(|thing| tap.delete(thing));
    rig.until(|world| world.things.len() == 70).await;
    assert_eq!(rig.things.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn deletions_of_a_kind_that_goes_freeze_the_view() {
    let (mut rig, tap) = with_a_hundred().await;
    rig.things.served.store(false, Ordering::Relaxed);
    many(100).for_each(|thing| tap.delete(thing));
    let world = rig.until(|world| state(world, World::things()) == "missing").await;
    assert_eq!(world.things.len(), 70, "the limit went before");
    assert!(timeout(Duration::from_mins(5), rig.things.tap()).await.is_err());

    // It comes back empty: still too much to believe at once.
    rig.things.served.store(true, Ordering::Relaxed);
    rig.things.tap().await.list([]);
    rig.until(|world| state(world, World::things()) == "resyncing").await;
    assert_eq!(rig.accumulator.snapshot().things.len(), 70);
    rig.things.tap().await.list([]);
    rig.until(|world| world.things.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn deletion_marks_count_like_deletions() {
    let (rig, tap) = with_a_hundred().await;
    rig.things.served.store(false, Ordering::Relaxed);
    many(100).for_each(|mut thing| {
        thing.metadata.resource_version = Some("1000".to_owned());
        tap.apply(terminating(thing));
    });
    let world = rig.until(|world| state(world, World::things()) == "missing").await;
    let version = "1000".into();
    let marked = world.things.iter().filter(|thing| thing.version == version).count();
    assert_eq!((marked, world.things.len()), (30, 100));
}

/// The definition of a kind that agents can do without may go at any time, and with it few objects.
#[tokio::test(start_paused = true)]
async fn of_an_optional_kind_every_deletion_is_asked_about() {
    let mut rig = Rig::new();
    let tap = rig.extras.tap().await;
    tap.list(many(3));
    rig.until(|world| world.extras.len() == 3).await;
    tap.delete(many(3).next().unwrap());
    rig.until(|world| world.extras.len() == 2).await;
    assert_eq!(rig.extras.asked.load(Ordering::Relaxed), 1);

    tokio::time::advance(Duration::from_mins(1)).await;
    rig.extras.served.store(false, Ordering::Relaxed);
    many(3).skip(1).for_each(|thing| tap.delete(thing));
    let world = rig.until(|world| state(world, World::extras()) == "missing").await;
    assert_eq!(world.extras.len(), 2, "nothing was believed");
}

/// Whether the kind is there decides whether deletions are to be believed, and this agent may not ask.
#[tokio::test(start_paused = true)]
async fn deletions_wait_while_discovery_is_forbidden() {
    let (rig, tap) = with_a_hundred().await;
    *rig.things.refusal.lock() = refusal(403, 0);
    many(100).for_each(|thing| tap.delete(thing));
    let world = rig.until(|world| state(world, World::things()) == "forbidden").await;
    assert_eq!(world.things.len(), 70, "the limit went before");
    let blocking = rig.accumulator.blocking(local()).concat();
    assert!(blocking.contains("discovery is forbidden ("), "{blocking}");
    tokio::time::sleep(Duration::from_mins(5)).await;
    let world = rig.accumulator.snapshot();
    assert_eq!((world.things.len(), state(&world, World::things())), (70, "forbidden"));

    *rig.things.refusal.lock() = None;
    let world = rig.until(|world| world.things.is_empty()).await;
    assert_eq!(state(&world, World::things()), "live");
    assert!(rig.accumulator.blocking(local()).is_empty());
}

/// A definition that is gone may come back while discovery is forbidden, or not.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_gone_is_found_when_discovery_is_allowed_again() {
    let (mut rig, tap) = with_a_hundred().await;
    rig.things.served.store(false, Ordering::Relaxed);
    many(100).for_each(|thing| tap.delete(thing));
    rig.until(|world| state(world, World::things()) == "missing").await;
    *rig.things.refusal.lock() = refusal(403, 0);
    let world = rig.until(|world| state(world, World::things()) == "forbidden").await;
    assert_eq!(world.things.len(), 70);
    *rig.things.refusal.lock() = None;
    rig.until(|world| state(world, World::things()) == "missing").await;
    *rig.things.refusal.lock() = refusal(403, 0);
    rig.until(|world| state(world, World::things()) == "forbidden").await;

    rig.things.served.store(true, Ordering::Relaxed);
    *rig.things.refusal.lock() = None;
    rig.things.tap().await.list(many(100));
    let world = rig.until(|world| state(world, World::things()) == "live").await;
    assert_eq!(world.things.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn discovery_that_asks_for_a_pause_before_deletions_are_believed_gets_it() {
    let (rig, tap) = with_a_hundred().await;
    let asked = || rig.things.asked.load(Ordering::Relaxed);
    *rig.things.refusal.lock() = refusal(429, 20);
    many(100).for_each(|thing| tap.delete(thing));
    rig.until(|_| asked() == 1).await;
    let first = Instant::now();
    rig.until(|_| asked() == 2).await;
    assert!((19..22).contains(&first.elapsed().as_secs()), "{:?}", first.elapsed());
    // Within reason.
    *rig.things.refusal.lock() = refusal(429, 100_000);
    rig.until(|_| asked() == 3).await;
    let third = Instant::now();
    rig.until(|_| asked() == 4).await;
    assert!((59..62).contains(&third.elapsed().as_secs()), "{:?}", third.elapsed());
}
