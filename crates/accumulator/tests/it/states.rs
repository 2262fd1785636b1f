//! Failures, and what is left of a view meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fleet_accumulator::{Config, WatchError, WatchItem};
use tokio::time::{Instant, timeout};

use crate::support::{
    LIST_VERSION, Rig, Tap, World, both, local, name, record, refusal, state, texts, thing,
};

pub(crate) async fn live() -> (Rig, Tap) {
    let mut rig = Rig::new();
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 5, "x"), thing("b", "2", 6, "x"), thing("c", "3", 7, "x")]);
    tap.watch_started();
    rig.until(|world| world.things.len() == 3).await;
    (rig, tap)
}

pub(crate) fn gone() -> WatchError {
    WatchError::Watch(refusal(410))
}

#[tokio::test(start_paused = true)]
async fn a_broken_list_changes_nothing_and_a_whole_one_only_what_differs() {
    let (mut rig, tap) = live().await;
    let before = rig.accumulator.snapshot();
    tap.fail(gone());
    let tap = rig.things.tap().await;
    assert_eq!(tap.from, None, "the history is gone");
    tap.list_started();
    tap.listed(thing("a", "1", 8, "new"));
    tap.fail(WatchError::List(refusal(500)));
    let during = rig.until(|world| state(world, World::things()) == "resyncing").await;
    assert_eq!(texts(&during.things), texts(&before.things));
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 8, "new"), thing("b", "2", 6, "x"), thing("c", "3", 9, "x")]);
    let after = rig.until(|world| record(&world.things, "a").text == "new").await;
    assert!(Arc::ptr_eq(&record(&before.things, "b").object, &record(&after.things, "b").object));
    assert!(Arc::ptr_eq(&record(&before.things, "c").object, &record(&after.things, "c").object));
    assert_eq!(record(&after.things, "c").version, "9".into());
    assert_eq!(fleet_accumulator::diff(&before.things, &after.things).count(), 1);
    assert!(after.things.state().is_live());
}

#[tokio::test(start_paused = true)]
async fn a_list_without_an_object_removes_it_once() {
    let (rig, tap) = live().await;
    let before = rig.accumulator.snapshot();
    tap.list([thing("a", "1", 5, "x"), thing("c", "3", 7, "x")]);
    let after = rig.until(|world| world.things.len() == 2).await;
    let changes: Vec<_> = fleet_accumulator::diff(&before.things, &after.things).collect();
    assert_eq!(changes.len(), 1);
    assert!(changes[0].new().is_none());
    assert_eq!(changes[0].old().unwrap().name, name("b"));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_recreated_in_a_gap_is_replaced() {
    let (rig, tap) = live().await;
    let before = rig.accumulator.snapshot();
    let recreated = thing("b", "other", 9, "x");
    tap.list([thing("a", "1", 5, "x"), recreated, thing("c", "3", 7, "x")]);
    let after = rig.until(|world| record(&world.things, "b").uid == "other".into()).await;
    assert_eq!(after.things.len(), 3);
    let changes: Vec<_> = fleet_accumulator::diff(&before.things, &after.things).collect();
    assert!(matches!(changes[..], [fleet_accumulator::Change::Replaced { .. }]));
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_earlier_incarnation_does_not_touch_the_new_one() {
    let (rig, tap) = live().await;
    tap.apply(thing("a", "new", 10, "y"));
    tap.delete(thing("a", "1", 9, "x"));
    tap.apply(thing("z", "z", 11, "x"));
    let world = rig.until(|world| world.things.len() == 4).await;
    assert_eq!(record(&world.things, "a").uid, "new".into());
}

#[tokio::test(start_paused = true)]
async fn an_older_version_is_ignored_and_counted() {
    let (rig, tap) = live().await;
    let registry = prometheus::Registry::new();
    rig.accumulator.register_metrics(&registry).unwrap();
    tap.apply(thing("a", "1", 4, "old"));
    tap.apply(thing("z", "z", 11, "x"));
    let world = rig.until(|world| world.things.len() == 4).await;
    assert_eq!(record(&world.things, "a").text, "x");
    let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let line = "fleet_accumulator_source_errors_total{class=\"old_version\",\
                cluster=\"local\",kind=\"ConfigMap\",source=\"things\"} 1";
    assert!(text.contains(line), "{text}");
    let line = "fleet_accumulator_source_state{cluster=\"local\",kind=\"ConfigMap\",\
                source=\"things\",state=\"live\"} 1";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("fleet_accumulator_source_last_event_age_seconds"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_make_a_source_stale_and_a_fresh_list_makes_it_live() {
    let (mut rig, tap) = live().await;
    let began = Instant::now();
    tap.fail(WatchError::WatchStart(refusal(503)));
    let mut second = None;
    while second.is_none() && state(&rig.accumulator.snapshot(), World::things()) != "stale" {
        match timeout(Duration::from_millis(100), rig.things.tap()).await {
            Ok(tap) if tap.from == Some(LIST_VERSION.into()) => {
                tap.fail(WatchError::WatchStart(refusal(503)));
            }
            // The next attempt may come in the moment in which it is stale.
            tap => second = tap.ok(),
        }
    }
    let after = began.elapsed();
    assert!((30..=31).contains(&after.as_secs()), "stale after {after:?}");
    let stale = rig.until(|world| state(world, World::things()) == "stale").await;
    assert_eq!(stale.things.len(), 3, "the content stays");
    assert!(stale.things.trouble().is_some_and(|text| text.contains("refused with 503")));
    let second = match second {
        Some(tap) => tap,
        None => rig.things.tap().await,
    };
    assert_eq!(second.from, None, "after so long only a list shows what is there");
    second.list_started();
    second.fail(WatchError::List(refusal(503)));
    rig.settle().await;
    assert_eq!(state(&rig.accumulator.snapshot(), World::things()), "stale", "not tried, done");
    rig.things.tap().await.list([thing("a", "1", 5, "x")]);
    let world = rig.until(|world| state(world, World::things()) == "live").await;
    assert_eq!(world.things.len(), 1);
    assert!(world.things.trouble().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_is_named_after_a_while() {
    const LIMIT: Duration = Duration::from_mins(1);
    let mut rig = Rig::new();
    let (things, imports) = (rig.things.tap().await, rig.imports.tap().await);
    things.list([]);
    imports.list([]);
    let away = || WatchError::Watch(kube::Error::Service("connection refused".into()));
    let began = Instant::now();
    imports.fail(away());
    while state(&rig.accumulator.snapshot(), World::imports()) != "stale" {
        assert!(rig.accumulator.silent(both(), LIMIT).is_empty());
        if let Ok(imports) = timeout(Duration::from_secs(2), rig.imports.tap()).await {
            imports.fail(away());
        }
    }
    while rig.accumulator.silent(both(), LIMIT).is_empty() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let after = began.elapsed();
    assert!((60..=62).contains(&after.as_secs()), "after {after:?}");
    let silent = rig.accumulator.silent(both(), LIMIT);
    assert_eq!(silent, ["the hub cluster has not answered for 60s"]);
    assert!(rig.accumulator.silent(local(), LIMIT).is_empty(), "nobody has asked");
    assert!(rig.accumulator.blocking(both()).is_empty(), "it works on with what it knows");
}

/// One watch fails while others of its cluster work.
#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_get_through_is_named_after_a_while() {
    const LIMIT: Duration = Duration::from_mins(1);
    let mut rig = Rig::new();
    let taps = [rig.things.tap().await, rig.imports.tap().await, rig.extras.tap().await];
    for tap in &taps {
        tap.list([]);
    }
    let [_things, imports, extras] = taps;
    extras.watch_started();
    let away = || WatchError::Watch(kube::Error::Service("connection refused".into()));
    let began = Instant::now();
    imports.fail(away());
    let asked = both().with(World::extras());
    while rig.accumulator.silent(asked, LIMIT).is_empty() {
        if let Ok(imports) = timeout(Duration::from_secs(2), rig.imports.tap()).await {
            imports.fail(away());
        }
    }
    assert!(began.elapsed() >= LIMIT);
    assert_eq!(state(&rig.accumulator.snapshot(), World::extras()), "live");
    let silent = rig.accumulator.silent(asked, LIMIT);
    assert_eq!(silent, ["configmaps of the hub cluster: nothing received for 60s"]);
}

/// At first it may only be late, as behind an API server that has just started.
#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_is_forbidden_is_asked_for_rarely_after_a_while() {
    let mut rig = Rig::new();
    let mut refused = async |time: Duration| {
        let mut count = 0;
        let end = Instant::now() + time;
        while let Ok(extras) =
            timeout(end.saturating_duration_since(Instant::now()), rig.extras.tap()).await
        {
            extras.fail(WatchError::List(refusal(403)));
            count += 1;
        }
        count
    };
    let first = refused(Duration::from_mins(1)).await;
    let later = refused(Duration::from_mins(20)).await;
    assert!(first >= 5, "{first} times in the first minute");
    assert!((10..=30).contains(&later), "{later} times in 20 minutes");
}

#[tokio::test(start_paused = true)]
async fn silence_makes_a_source_stale_in_time_and_a_list_is_waited_for() {
    let (mut rig, tap) = live().await;
    let began = Instant::now();
    // The watch has ended; nothing answers the request for the next one.
    tap.requested();
    let stale = rig.until(|world| state(world, World::things()) == "stale").await;
    let after = began.elapsed();
    assert!((30..=31).contains(&after.as_secs()), "stale after {after:?}");
    assert_eq!(stale.things.len(), 3, "the content stays");
    let second = rig.things.tap().await;
    second.list_started();
    second.requested();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(second.is_read(), "a list that nobody has refused is not asked for again");
    assert_eq!(state(&rig.accumulator.snapshot(), World::things()), "stale");
    second.listed(thing("a", "1", 5, "x"));
    second.list_completed();
    rig.until(|world| state(world, World::things()) == "live").await;
    second.requested();
    second.watch_started();
    tokio::time::sleep(Duration::from_mins(20)).await;
    assert_eq!(state(&rig.accumulator.snapshot(), World::things()), "live", "quiet is not silent");
    assert!(second.is_read());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_comes_back_in_time_ends_the_failures() {
    let (mut rig, mut tap) = live().await;
    for _ in 0..20 {
        tap.fail(WatchError::WatchStart(refusal(503)));
        tap = rig.things.tap().await;
        assert_eq!(tap.from, Some(LIST_VERSION.into()), "nothing was listed again");
        tap.watch_started();
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(state(&rig.accumulator.snapshot(), World::things()), "live");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_for_a_minute_demand_a_list() {
    let mut rig = Rig::with(&Config { stale_after: Duration::from_hours(1), ..Config::default() });
    let mut tap = rig.things.tap().await;
    tap.list([thing("a", "1", 5, "x"), thing("b", "1", 5, "x")]);
    rig.until(|world| world.things.len() == 2).await;
    let began = Instant::now();
    loop {
        tap.fail(WatchError::WatchStart(refusal(503)));
        tap = rig.things.tap().await;
        if tap.from.is_none() {
            break;
        }
        assert!(began.elapsed() < Duration::from_mins(3), "nothing is ever listed again");
    }
    assert!(began.elapsed() >= Duration::from_mins(1));
    tap.list([thing("a", "1", 5, "x")]);
    rig.until(|world| world.things.len() == 1 && world.things.state().is_live()).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_be_resumed_is_listed_again() {
    for code in [400, 410, 422] {
        let (mut rig, mut tap) = live().await;
        for round in 0..2 {
            tap.fail(WatchError::WatchStart(refusal(code)));
            tap = rig.things.tap().await;
            assert_eq!(tap.from, None);
            tap.list([thing("a", "1", 10 + round, "listed again")]);
            rig.until(|world| {
                record(&world.things, "a").version == (10 + round).to_string().into()
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_read_is_listed_again() {
    let (mut rig, tap) = live().await;
    let error = serde_json::from_str::<u8>("{").unwrap_err();
    tap.fail(WatchError::Watch(kube::Error::SerdeError(error)));
    let tap = rig.things.tap().await;
    assert_eq!(tap.from, None);
    tap.list([thing("d", "4", 9, "x")]);
    rig.until(|world| world.things.len() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_is_not_live_though_the_list_works() {
    let (mut rig, tap) = live().await;
    tap.fail(WatchError::WatchStart(refusal(403)));
    rig.until(|world| state(world, World::things()) == "forbidden").await;
    for version in 10..13 {
        let tap = rig.things.tap().await;
        tap.list([thing("a", "1", version, &version.to_string())]);
        // The list counts, but no change after it would arrive.
        let text = version.to_string();
        let world = rig.until(|world| record(&world.things, "a").text == text).await;
        assert_eq!(state(&world, World::things()), "forbidden");
        tap.fail(WatchError::WatchStart(refusal(403)));
    }
    assert!(rig.accumulator.blocking(local())[0].contains("watch is forbidden"));
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 20, "x")]);
    tap.watch_started();
    rig.until(|world| state(world, World::things()) == "live").await;
}

#[tokio::test(start_paused = true)]
async fn rights_that_are_taken_away_freeze_the_content() {
    let (mut rig, tap) = live().await;
    tap.fail(gone());
    let tap = rig.things.tap().await;
    tap.list_started();
    tap.fail(WatchError::List(refusal(403)));
    let world = rig.until(|world| state(world, World::things()) == "forbidden").await;
    assert_eq!(world.things.len(), 3);
    assert!(!rig.accumulator.blocking(local()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_bad_object_harms_no_other() {
    let mut rig = Rig::new();
    let bad = |name: &str, uid: &str, version| {
        let mut thing = thing(name, uid, version, "");
        thing.data = None;
        thing
    };
    let tap = rig.things.tap().await;
    tap.list([thing("a", "1", 5, "x"), bad("b", "2", 6), thing("c", "3", 7, "x")]);
    let world = rig.until(|world| world.things.len() == 2).await;
    assert_eq!(world.things.defects().collect::<Vec<_>>(), [(&name("b"), "no text")]);
    // The last good content stays, also over a list, until the object is good or gone.
    tap.apply(bad("c", "3", 8));
    tap.list([thing("a", "1", 5, "x"), bad("b", "2", 6), bad("c", "3", 8)]);
    let world = rig.until(|world| world.things.defects().count() == 2).await;
    assert_eq!(record(&world.things, "c").text, "x");
    tap.apply(thing("b", "2", 9, "good"));
    tap.delete(bad("c", "3", 10));
    let world = rig.until(|world| world.things.get(&name("c")).is_none()).await;
    assert_eq!(record(&world.things, "b").text, "good");
    assert_eq!(world.things.defects().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stale_hub_leaves_local_work_alone() {
    let mut rig = Rig::new();
    let mut cursor = rig.accumulator.cursor(both());
    let (things, imports) = (rig.things.tap().await, rig.imports.tap().await);
    things.list([thing("service", "1", 1, "x")]);
    imports.list([thing("import", "2", 1, "x")]);
    let step = cursor.next().await.unwrap();
    cursor.commit(step);
    let away = || WatchError::Watch(kube::Error::Service("connection refused".into()));
    imports.fail(away());
    while state(&rig.accumulator.snapshot(), World::imports()) != "stale" {
        if let Ok(imports) = timeout(Duration::from_secs(2), rig.imports.tap()).await {
            imports.fail(away());
        }
    }
    things.delete(thing("service", "1", 2, "x"));
    rig.until(|world| world.things.is_empty()).await;
    let step = cursor.next().await.unwrap();
    assert_eq!(step.diff(|world| &world.things).count(), 1);
    assert_eq!(step.diff(|world| &world.imports).count(), 0);
    assert!(!step.new.imports.state().is_live(), "no evidence for deleting");
}

#[tokio::test(start_paused = true)]
async fn a_not_found_of_a_kind_that_is_served_is_a_failure_like_others() {
    let mut rig = Rig::new();
    rig.things.tap().await.fail(WatchError::List(refusal(404)));
    let tap = rig.things.tap().await;
    assert_eq!(rig.things.asked.load(Ordering::Relaxed), 1);
    assert_ne!(state(&rig.accumulator.snapshot(), World::things()), "missing");
    tap.list([]);
    rig.until(|world| world.things.bootstrapped()).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_was_lost_is_found_by_a_later_list() {
    let (mut rig, tap) = live().await;
    tap.watch_started();
    let again = rig.things.tap().await;
    assert!(!tap.is_read(), "another list takes the place of the watch");
    again.list([thing("a", "1", 5, "x"), thing("c", "3", 7, "x")]);
    let world = rig.until(|world| world.things.len() == 2).await;
    assert!(world.things.state().is_live());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_continues_where_it_was() {
    let (mut rig, tap) = live().await;
    tap.apply(thing("d", "4", 1001, "x"));
    rig.until(|world| world.things.len() == 4).await;
    drop(tap);
    let tap = rig.things.tap().await;
    assert_eq!(tap.from, Some("1001".into()));
    tap.watch_started();
    tap.delete(thing("d", "4", 1002, "x"));
    rig.until(|world| world.things.len() == 3).await;
    drop(tap);
    let tap = rig.things.tap().await;
    assert_eq!(tap.from, Some("1002".into()));
    tap.watch_started();
    tap.send(WatchItem::Bookmark("1010".into()));
    drop(tap);
    assert_eq!(rig.things.tap().await.from, Some("1010".into()));
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_paced() {
    let (mut rig, tap) = live().await;
    drop(tap);
    let began = Instant::now();
    for _ in 0..10 {
        rig.things.tap().await.watch_started();
    }
    let after = began.elapsed();
    assert!(after >= Duration::from_secs(20), "ten watches in {after:?}");
}

/// A gateway may accept every watch and never deliver an event.
#[tokio::test(start_paused = true)]
async fn watches_that_are_accepted_and_fail_at_once_make_a_source_stale() {
    let (mut rig, mut tap) = live().await;
    let began = Instant::now();
    while state(&rig.accumulator.snapshot(), World::things()) != "stale" {
        tap.requested();
        tap.watch_started();
        tap.fail(WatchError::Watch(refusal(500)));
        tap = rig.things.tap().await;
        assert!(began.elapsed() < Duration::from_mins(1), "never stale");
    }
    assert!(began.elapsed() >= Duration::from_secs(30));
    // Lists bring what has changed, and the source is no better for it.
    for version in 100..105 {
        assert_eq!(tap.from, None);
        tap.list([thing("a", "1", version, &version.to_string())]);
        let text = version.to_string();
        let world = rig.until(|world| record(&world.things, "a").text == text).await;
        assert_eq!(state(&world, World::things()), "stale");
        tap.watch_started();
        tap.fail(WatchError::Watch(refusal(500)));
        tap = rig.things.tap().await;
    }
    tap.list([thing("a", "1", 200, "x")]);
    tap.watch_started();
    rig.until(|world| state(world, World::things()) == "live").await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_failed_once_is_trusted_again_when_something_comes() {
    let (mut rig, tap) = live().await;
    tap.watch_started();
    tap.fail(WatchError::Watch(refusal(500)));
    let tap = rig.things.tap().await;
    tap.watch_started();
    tap.apply(thing("d", "4", 1001, "x"));
    rig.until(|world| world.things.len() == 4).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(rig.accumulator.snapshot().things.state().is_live());
    assert!(tap.is_read());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it() {
    let mut rig = Rig::new();
    let began = Instant::now();
    rig.things.tap().await.fail(WatchError::List(asks_to_wait(20)));
    let tap = rig.things.tap().await;
    assert!((20..22).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    // Within reason.
    let began = Instant::now();
    tap.fail(WatchError::List(asks_to_wait(100_000)));
    rig.things.tap().await.list([]);
    assert!((60..62).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

fn asks_to_wait(seconds: u32) -> kube::Error {
    let details = serde_json::json!({"retryAfterSeconds": seconds});
    let status = serde_json::json!({"code": 429, "message": "too many", "details": details});
    kube::Error::Api(serde_json::from_value(status).unwrap())
}

/// Times in objects are those of other clocks: what is noted is when this process saw a change.
#[tokio::test(start_paused = true)]
async fn content_can_note_when_it_was_seen_to_change() {
    let mut rig = Rig::new();
    let observed = |world: &World| record(&world.things, "a").observed;
    let tap = rig.things.tap().await;
    let in_group = |version: u64, text: &str, group: &str| {
        let mut thing = thing("a", "1", version, text);
        thing.data.get_or_insert_default().insert("group".to_owned(), group.to_owned());
        thing
    };
    tap.list([in_group(1, "x", "g")]);
    let world = rig.until(|world| world.things.len() == 1).await;
    let first = observed(&world);
    assert!(first.is_some());
    tap.apply(in_group(2, "x", "h"));
    let is_in = |world: &World, group| record(&world.things, "a").group.as_deref() == Some(group);
    let world = rig.until(|world| is_in(world, "h")).await;
    assert_eq!(observed(&world), first, "its text is the same");
    tap.apply(in_group(3, "y", "h"));
    let world = rig.until(|world| record(&world.things, "a").text == "y").await;
    assert_ne!(observed(&world), first);
}
