//! Differences as consumers see them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::support::{Rig, Tap, Thing, World, local, name, record, texts, thing};
use fleet_accumulator::{Change, Cursor, SnapshotChange, SourceSet};

async fn listed(rig: &mut Rig, things: &[(&str, &str)]) -> (Tap, Cursor<World>) {
    let mut cursor = rig.accumulator.cursor(local());
    let tap = rig.things.tap().await;
    tap.list(
        things.iter().enumerate().map(|(at, (name, text))| thing(name, name, at as u64, text)),
    );
    let step = cursor.next().await.unwrap();
    cursor.commit(step);
    (tap, cursor)
}

fn summary(step: &SnapshotChange<World>) -> Vec<String> {
    let line = |change: Change<'_, Thing>| match change {
        Change::Added(new) => format!("+{}={}", new.name.name, new.text),
        Change::Updated { old, new } => format!("{}: {}>{}", new.name.name, old.text, new.text),
        Change::Replaced { old, new } => format!("{}: {}>>{}", new.name.name, old.text, new.text),
        Change::Removed(old) => format!("-{}={}", old.name.name, old.text),
    };
    step.diff(|world| &world.things).map(line).collect()
}

/// Applies a change to `state`.
fn fold(state: &mut BTreeMap<String, String>, step: &SnapshotChange<World>) {
    for change in step.diff(|world| &world.things) {
        match (change.old(), change.new()) {
            (_, Some(new)) => state.insert(new.name.name.to_string(), new.text.clone()),
            (Some(old), None) => state.remove(&*old.name.name),
            (None, None) => unreachable!("a change has a side"),
        };
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_between_two_steps_collapses_exactly() {
    let mut rig = Rig::new();
    let (tap, mut cursor) = listed(&mut rig, &[("b", "1"), ("c", "1"), ("d", "1")]).await;
    // Added and removed: nothing. Added and updated: added. Changed and back: nothing.
    tap.apply(thing("a", "a", 10, "x"));
    tap.delete(thing("a", "a", 11, "x"));
    tap.apply(thing("e", "e", 12, "x"));
    tap.apply(thing("e", "e", 13, "y"));
    tap.apply(thing("b", "b", 14, "2"));
    tap.apply(thing("b", "b", 15, "1"));
    tap.apply(thing("c", "c", 16, "2"));
    tap.apply(thing("c", "c", 17, "3"));
    tap.delete(thing("d", "d", 18, "1"));
    tap.apply(thing("d", "other", 19, "1"));
    rig.until(|world| world.things.get(&name("d")).is_some_and(|d| d.version == "19".into())).await;
    let step = cursor.next().await.unwrap();
    assert_eq!(summary(&step), ["c: 1>3", "d: 1>>1", "+e=y"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_not_committed_comes_again_merged_with_what_is_new() {
    let mut rig = Rig::new();
    let (tap, mut cursor) = listed(&mut rig, &[]).await;
    tap.apply(thing("a", "a", 1, "x"));
    let failed = cursor.next().await.unwrap();
    let received = failed.received;
    drop(failed);
    tokio::time::advance(Duration::from_secs(3)).await;
    tap.apply(thing("b", "b", 2, "x"));
    rig.until(|world| world.things.len() == 2).await;
    let again = cursor.next().await.unwrap();
    assert_eq!(summary(&again), ["+a=x", "+b=x"]);
    assert_eq!(again.received, received, "the first event counts");
    cursor.commit(again);
    assert!(cursor.try_next().is_none());
    tap.apply(thing("c", "c", 3, "x"));
    let step = cursor.next().await.unwrap();
    assert!(step.received > received);
    assert_eq!(summary(&step), ["+c=x"]);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_sleeps_finds_one_merged_step() {
    let mut rig = Rig::new();
    let (tap, mut cursor) = listed(&mut rig, &[]).await;
    tap.apply(thing("first", "first", 1, "x"));
    let step = cursor.next().await.unwrap();
    for number in 0..10_000_u64 {
        let name = format!("thing-{}", number % 100);
        tap.apply(thing(&name, &name, number + 10, &number.to_string()));
        if number % 100 == 0 {
            tokio::time::advance(Duration::from_millis(100)).await;
        }
    }
    rig.until(|world| {
        world.things.get(&name("thing-99")).is_some_and(|thing| thing.text == "9999")
    })
    .await;
    let old = Arc::downgrade(&rig.accumulator.snapshot());
    cursor.commit(step);
    let step = cursor.next().await.unwrap();
    assert_eq!(step.diff(|world| &world.things).count(), 100);
    assert!(step.diff(|world| &world.things).all(|change| change.old().is_none()));
    cursor.commit(step);
    assert!(cursor.try_next().is_none());
    // No queue of snapshots: once everybody has moved on, the old one is gone.
    tap.apply(thing("last", "last", 20_000, "x"));
    let step = cursor.next().await.unwrap();
    cursor.commit(step);
    assert!(old.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn cursors_of_different_speed_compose_to_the_same_state() {
    let mut rig = Rig::new();
    let (tap, mut fast) = listed(&mut rig, &[]).await;
    let mut slow = rig.accumulator.cursor(local());
    let mut states: [BTreeMap<String, String>; 2] = Default::default();
    for round in 0..50_u64 {
        let name = format!("thing-{}", round % 7);
        if round % 5 == 4 {
            tap.delete(thing(&name, &name, round + 1, ""));
        } else {
            tap.apply(thing(&name, &name, round + 1, &round.to_string()));
        }
        rig.settle().await;
        if let Some(step) = fast.try_next() {
            fold(&mut states[0], &step);
            fast.commit(step);
        }
        if round % 13 == 12 {
            let step = slow.next().await.unwrap();
            fold(&mut states[1], &step);
            slow.commit(step);
        }
    }
    if let Some(step) = slow.try_next() {
        fold(&mut states[1], &step);
        slow.commit(step);
    }
    let expected: BTreeMap<_, _> = texts(&rig.accumulator.snapshot().things).into_iter().collect();
    assert_eq!(states[0], expected);
    assert_eq!(states[1], expected);
}

#[tokio::test(start_paused = true)]
async fn a_steady_stream_gives_one_step_per_turn_of_the_consumer() {
    let mut rig = Rig::new();
    let (tap, mut cursor) = listed(&mut rig, &[]).await;
    let feeder = tokio::spawn(async move {
        for number in 0..200_u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            tap.apply(thing("a", "a", number + 1, &number.to_string()));
        }
        tap
    });
    let (mut steps, mut last) = (0, String::new());
    while last != "199" {
        let step = cursor.next().await.unwrap();
        let waited = tokio::time::Instant::now().into_std() - step.received;
        assert!(waited <= Duration::from_millis(55), "{waited:?} waited");
        last.clone_from(&record(&step.new.things, "a").text);
        tokio::time::sleep(Duration::from_millis(50)).await;
        cursor.commit(step);
        steps += 1;
    }
    assert!((18..=25).contains(&steps), "{steps} steps in about a second");
    drop(feeder.await);
}

#[tokio::test(start_paused = true)]
async fn changes_a_consumer_does_not_read_do_not_wake_it() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor_over(local(), SourceSet::EMPTY);
    let (things, imports) = (rig.things.tap().await, rig.imports.tap().await);
    things.list([]);
    let step = cursor.next().await.unwrap();
    cursor.commit(step);
    imports.list([thing("a", "1", 1, "x")]);
    rig.until(|world| world.imports.len() == 1).await;
    assert!(timeout(Duration::from_secs(1), cursor.next()).await.is_err());
    tokio::time::advance(Duration::from_mins(1)).await;
    let before = tokio::time::Instant::now().into_std();
    things.apply(thing("a", "1", 1, "x"));
    let step = cursor.next().await.unwrap();
    assert!(step.received >= before);
}

#[tokio::test(start_paused = true)]
async fn the_index_finds_exactly_the_hits() {
    let mut rig = Rig::new();
    let (tap, _cursor) = listed(&mut rig, &[("a", "1"), ("b", "1")]).await;
    let grouped = |name: &str, version, group: &str| {
        let mut thing = thing(name, name, version, "x");
        let data = thing.data.get_or_insert_default();
        data.insert("group".to_owned(), group.to_owned());
        thing
    };
    let hits = |world: &World, group: &str| {
        let hits = world.things.by(&group.to_owned());
        hits.map(|record| record.name.name.to_string()).collect::<Vec<_>>()
    };
    tap.apply(grouped("b", 10, "red"));
    tap.apply(grouped("c", 11, "red"));
    tap.apply(grouped("d", 12, "redder"));
    let world = rig.until(|world| world.things.len() == 4).await;
    assert_eq!(hits(&world, "red"), ["b", "c"]);
    tap.apply(grouped("b", 13, "redder"));
    tap.delete(grouped("c", 14, "red"));
    let world = rig.until(|world| world.things.len() == 3).await;
    assert!(hits(&world, "red").is_empty());
    assert_eq!(hits(&world, "redder"), ["b", "d"]);
    assert_eq!(world.things.in_namespace("team").count(), 3);
    assert_eq!(world.things.in_namespace("tea").count(), 0);
}

#[tokio::test(start_paused = true)]
async fn everything_ends_within_a_second_of_cancelling() {
    for pause in [0, 1, 5, 50] {
        let mut rig = Rig::new();
        let mut cursor = rig.accumulator.cursor(local());
        let tap = rig.things.tap().await;
        tap.list([thing("a", "1", 1, "x")]);
        for number in 0..pause {
            tap.apply(thing("a", "1", number + 2, &number.to_string()));
            tokio::task::yield_now().await;
        }
        rig.token.cancel();
        rig.tasks.close();
        timeout(Duration::from_secs(1), rig.tasks.wait()).await.expect("no task is left");
        while let Some(step) = cursor.next().await {
            cursor.commit(step);
        }
    }
}
