//! An API server that went back in time, as after a restore of its store.

use std::time::Duration;

use fleet_accumulator::{
    ClusterId, Config, Newest, Reached, Snapshot, SourceId, SourceSet, WatchError, WatchItem,
};

use crate::support::*;

const SETTLES: Duration = Duration::from_mins(1);

fn is_settling(world: &World, source: SourceId) -> bool {
    world.is_settling(SourceSet::from([source]))
}

fn interrupted() -> WatchError {
    WatchError::WatchStart(refusal(503))
}

/// How far an API server is, and what it has of the newest object.
fn has(version: &str, object: Option<(&str, u64)>) -> Newest {
    let object = object.map(|(uid, version)| (uid.into(), version.to_string().as_str().into()));
    Newest { version: version.into(), object, is_another: false }
}

/// A request of the things fails, and the API server is so far when it answers again: what the source opens then.
async fn reopened(rig: &mut Rig, things: Tap, newest: Newest) -> Tap {
    *rig.things.newest.lock() = Some(newest);
    things.fail(interrupted());
    rig.things.tap().await
}

/// All three sources, live at version 1000.
async fn live() -> (Rig, [Tap; 3]) {
    let mut rig = Rig::new();
    let taps = [rig.things.tap().await, rig.imports.tap().await, rig.extras.tap().await];
    for tap in &taps {
        tap.list([thing("old", "u1", 5, "old"), thing("new", "u2", 900, "new")]);
        tap.watch_started();
    }
    rig.until(|world| {
        [World::things(), World::imports(), World::extras()]
            .iter()
            .all(|id| state(world, *id) == "live")
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    (rig, taps)
}

/// The whole cluster is listed anew, the other one is not. The older state is shown at once, and trusted after a minute.
#[tokio::test(start_paused = true)]
async fn an_older_list_makes_all_sources_of_the_cluster_list_again() {
    let (mut rig, [things, imports, extras]) = live().await;
    imports.fail(interrupted());
    let tap = rig.imports.tap().await;
    assert_eq!(tap.from, Some(LIST_VERSION.into()), "the newest version is not known");
    tap.fail(WatchError::Watch(refusal(410)));
    let tap = rig.imports.tap().await;
    assert_eq!(tap.from, None);
    tap.list_at(800, [thing("old", "u1", 5, "old")]);
    tap.watch_started();
    let world = rig.until(|world| is_settling(world, World::imports())).await;
    assert_eq!(texts(&world.imports).len(), 1, "what is missing can be written again at once");

    let other = rig.extras.tap().await;
    assert_eq!(other.from, None);
    assert!(!extras.is_read() && things.is_read());
    other.list_at(800, [thing("old", "u1", 5, "old")]);
    other.watch_started();
    let world = rig.until(|world| is_settling(world, World::extras())).await;
    assert!(!is_settling(&world, World::things()));
    rig.settle().await;
    assert!(tap.is_read(), "its list is new enough");

    tokio::time::sleep(SETTLES.saturating_sub(Duration::from_secs(2))).await;
    assert!(is_settling(&rig.accumulator.snapshot(), World::imports()));
    let seq = rig.accumulator.snapshot().imports.len();
    rig.until(|world| !is_settling(world, World::imports())).await;
    rig.until(|world| !is_settling(world, World::extras())).await;
    assert_eq!(rig.accumulator.snapshot().imports.len(), seq);
}

/// A process that begins has seen nothing itself. What it has listed before it knows that may be older.
#[tokio::test(start_paused = true)]
async fn a_new_process_knows_what_the_one_before_has_seen() {
    let reached = Reached::default();
    let mut rig = Rig::with(&Config { reached: reached.clone(), ..Config::default() });
    let taps = [rig.things.tap().await, rig.imports.tap().await, rig.extras.tap().await];
    for tap in &taps {
        tap.list_at(900, []);
        tap.watch_started();
    }
    rig.until(|world| World::sources().iter().all(|it| state(world, it.id) == "live")).await;
    assert_eq!(reached.hand_on(ClusterId::Hub).as_deref(), Some("extras=900,imports=900"));

    reached.take_over(ClusterId::Hub, "extras=900,imports=1000,things=5000");
    rig.settle().await;
    assert!(!rig.accumulator.snapshot().is_settling(World::all()), "listed before");
    assert!(reached.asks_for_lists(ClusterId::Hub));
    rig.accumulator.relist(ClusterId::Hub);
    let (imports, extras) = (rig.imports.tap().await, rig.extras.tap().await);
    extras.list_at(950, []);
    extras.watch_started();
    rig.settle().await;
    assert!(!rig.accumulator.snapshot().is_settling(World::all()), "it is newer");
    imports.list_at(950, []);
    imports.watch_started();
    rig.until(|world| world.went_back(World::all())).await;
    assert_eq!(reached.hand_on(ClusterId::Hub).as_deref(), Some("extras=950,imports=1000"));
    rig.until(|world| !world.is_settling(World::all())).await;
    assert_eq!(reached.hand_on(ClusterId::Hub).as_deref(), Some("extras=950,imports=950"));
}

/// The list is new again, an object in it is not.
#[tokio::test(start_paused = true)]
async fn an_older_object_shows_it_as_well() {
    let (mut rig, [things, ..]) = live().await;
    things.fail(WatchError::Watch(refusal(410)));
    let tap = rig.things.tap().await;
    tap.list_at(2000, [thing("old", "u1", 5, "old"), thing("new", "u2", 600, "before")]);
    tap.watch_started();
    let world = rig.until(|world| is_settling(world, World::things())).await;
    assert_eq!(record(&world.things, "new").text, "before");
}

/// Another object of the name is younger than any of its versions.
#[tokio::test(start_paused = true)]
async fn a_successor_is_no_older_object() {
    let (mut rig, [things, ..]) = live().await;
    things.fail(WatchError::Watch(refusal(410)));
    let tap = rig.things.tap().await;
    tap.list_at(2000, [thing("old", "u1", 5, "old"), thing("new", "u3", 600, "other")]);
    tap.watch_started();
    let world = rig.until(|world| record(&world.things, "new").text == "other").await;
    assert!(!is_settling(&world, World::things()));
}

/// A watch from a version of the future is accepted, and silent. So the newest version is asked for where a request failed.
#[tokio::test(start_paused = true)]
async fn a_watch_does_not_continue_on_a_server_of_the_past() {
    let (mut rig, [things, ..]) = live().await;
    let tap = reopened(&mut rig, things, has("1000", Some(("u2", 900)))).await;
    assert_eq!(tap.from, Some(LIST_VERSION.into()), "it is where it was");
    let tap = reopened(&mut rig, tap, has("800", None)).await;
    assert_eq!(tap.from, None);
    tap.list_at(800, []);
    tap.watch_started();
    rig.until(|world| is_settling(world, World::things())).await;
}

/// A server that was restored soon writes as much again, or a restore has raised its versions. What has changed last shows it.
#[tokio::test(start_paused = true)]
async fn a_server_of_the_past_may_have_passed_the_version() {
    for (object, went_back) in [
        (("u2", 900), false),
        (("u2", 1001), false),
        (("u9", 1001), false),
        (("u2", 700), true),
        (("u2", 950), true),
        (("u9", 1000), true),
    ] {
        let (mut rig, [things, ..]) = live().await;
        let tap = reopened(&mut rig, things, has("1200", Some(object))).await;
        assert_eq!(tap.from.is_none(), went_back, "{object:?}");
        if went_back {
            tap.list_at(1200, []);
            tap.watch_started();
            rig.until(|world| is_settling(world, World::things())).await;
        }
    }
}

/// Whether it was deleted or is not there yet, nothing shows. All is listed, and what two lists in a row lack counts where that counts
/// after a failure.
#[tokio::test(start_paused = true)]
async fn what_has_changed_last_may_be_gone() {
    let (mut rig, [things, ..]) = live().await;
    let tap = reopened(&mut rig, things, has("1200", None)).await;
    assert_eq!(tap.from, None);
    tap.list_at(1200, [thing("old", "u1", 5, "old")]);
    let tap = rig.things.tap().await;
    assert_eq!(tap.from, None);
    assert_eq!(texts(&rig.accumulator.snapshot().things).len(), 2, "one list is not enough");
    tap.list_at(1201, [thing("old", "u1", 5, "old")]);
    tap.watch_started();
    let world = rig.until(|world| texts(&world.things).len() == 1).await;
    assert!(!is_settling(&world, World::things()));
}

/// Other sources of the cluster may have listed by then, and do not show it.
#[tokio::test(start_paused = true)]
async fn that_a_server_went_back_counts_before_the_next_list() {
    let (mut rig, [things, ..]) = live().await;
    let tap = reopened(&mut rig, things, has("1200", Some(("u2", 700)))).await;
    let world = rig.until(|world| is_settling(world, World::things())).await;
    assert!(tap.from.is_none() && texts(&world.things).len() == 2);
    tap.list_at(1200, [thing("old", "u1", 5, "old")]);
    tap.watch_started();
    let world = rig.until(|world| texts(&world.things).len() == 1).await;
    assert!(is_settling(&world, World::things()));
}

/// By the time of the list the server may have passed the version.
#[tokio::test(start_paused = true)]
async fn that_it_was_behind_counts_when_it_is_not_any_more() {
    let (mut rig, [things, ..]) = live().await;
    let tap = reopened(&mut rig, things, has("995", None)).await;
    assert_eq!(tap.from, None);
    tap.list_at(1001, [thing("old", "u1", 5, "old")]);
    tap.watch_started();
    rig.until(|world| world.went_back(World::all())).await;
}

/// A server that is being replaced ends its watches in peace, and the next one may be of another time.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_early_is_doubted() {
    for (lived, from) in [(STREAM_LIVES / 2, None), (STREAM_LIVES, Some(LIST_VERSION.into()))] {
        let (mut rig, [things, ..]) = live().await;
        *rig.things.newest.lock() = Some(has("800", None));
        tokio::time::sleep(lived).await;
        drop(things);
        assert_eq!(rig.things.tap().await.from, from, "{lived:?}");
    }
}

/// The answer to the question may come from another hub than the list after it.
#[tokio::test(start_paused = true)]
async fn another_server_does_not_speak_for_the_one_before() {
    let (mut rig, [things, ..]) = live().await;
    let tap = reopened(&mut rig, things, Newest { is_another: true, ..has("800", None) }).await;
    assert_eq!(tap.from, None);
    tap.list([thing("old", "u1", 5, "old"), thing("new", "u2", 900, "new")]);
    tap.watch_started();
    let world = rig.until(|world| is_settling(world, World::things())).await;
    assert!(!world.went_back(World::all()));
}

/// What another server has seen is forgotten, but a watch would go on from there.
#[tokio::test(start_paused = true)]
async fn nor_does_a_watch_on_another_server() {
    let (mut rig, [things, ..]) = live().await;
    things.send(WatchItem::ServerChanged);
    let tap = reopened(&mut rig, things, has("800", Some(("u2", 900)))).await;
    assert_eq!(tap.from, None);
}

/// A connection that is lost may come back elsewhere, without a request that failed: as where a machine goes on from a snapshot of itself.
#[tokio::test(start_paused = true)]
async fn nor_does_a_watch_whose_connection_was_lost() {
    let (mut rig, [things, ..]) = live().await;
    *rig.things.newest.lock() = Some(has("800", None));
    let reset = std::io::ErrorKind::ConnectionReset.into();
    things.fail(WatchError::Watch(kube::Error::ReadEvents(reset)));
    assert_eq!(rig.things.tap().await.from, None);
}

/// A new leader asks for lists in the moment in which an older one is complete.
#[tokio::test(start_paused = true)]
async fn lists_that_are_asked_for_meanwhile_are_made() {
    let (mut rig, [_, imports, _]) = live().await;
    imports.fail(WatchError::Watch(refusal(410)));
    let tap = rig.imports.tap().await;
    tap.list_started();
    tokio::time::sleep(Duration::from_secs(1)).await;
    tap.send(WatchItem::ListCompleted("800".into()));
    let hub = SourceSet::from([World::imports()]);
    let _cursor = rig.accumulator.cursor_since(hub, hub, tokio::time::Instant::now().into_std());
    let tap = tokio::time::timeout(Duration::from_secs(10), rig.imports.tap()).await.unwrap();
    assert_eq!(tap.from, None);
}

/// Without a break: a source that is not live proves nothing.
#[tokio::test(start_paused = true)]
async fn a_break_starts_the_wait_anew() {
    let (mut rig, [things, ..]) = live().await;
    things.fail(WatchError::Watch(refusal(410)));
    let tap = rig.things.tap().await;
    tap.list_at(800, []);
    tap.watch_started();
    rig.until(|world| is_settling(world, World::things())).await;
    tokio::time::sleep(SETTLES / 2).await;
    tap.fail(WatchError::Watch(refusal(410)));
    let tap = rig.things.tap().await;
    tap.list_started();
    rig.until(|world| state(world, World::things()) == "resyncing").await;
    tap.list_at(801, []);
    tap.watch_started();
    tokio::time::sleep(SETTLES * 3 / 4).await;
    assert!(is_settling(&rig.accumulator.snapshot(), World::things()));
    rig.until(|world| !is_settling(world, World::things())).await;
}

/// What disagrees with a view makes its cluster list again.
#[tokio::test(start_paused = true)]
async fn a_cluster_can_be_listed_again() {
    let (mut rig, [things, imports, extras]) = live().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.accumulator.relist(fleet_accumulator::ClusterId::Hub);
    assert_eq!(rig.imports.tap().await.from, None);
    assert_eq!(rig.extras.tap().await.from, None);
    assert!(things.is_read() && !imports.is_read() && !extras.is_read());
}

/// Each write that meets a server of another time asks for lists. Begun anew each time, none would ever end.
#[tokio::test(start_paused = true)]
async fn lists_that_are_asked_for_again_and_again_are_read_to_their_end() {
    let (mut rig, [_things, imports, _extras]) = live().await;
    rig.accumulator.relist(ClusterId::Hub);
    let tap = rig.imports.tap().await;
    assert!(!imports.is_read());
    tap.list_started();
    for round in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.accumulator.relist(ClusterId::Hub);
        tap.listed(thing(&format!("listed-{round}"), &format!("l{round}"), 10 + round, "new"));
        rig.settle().await;
        assert!(tap.is_read(), "round {round}");
    }
    tap.list_completed();
    let listed = |world: &World| world.imports.len() == 5;
    rig.until(listed).await;
    let next = tokio::time::timeout(Duration::from_secs(1), rig.imports.tap()).await.unwrap();
    assert_eq!(next.from, None, "it was begun before the last was asked for");
    next.list_started();
    next.list_completed();
    next.watch_started();
    rig.until(|world| world.imports.is_empty()).await;
    rig.settle().await;
    assert!(next.is_read(), "nobody asked since");
}

/// One that was begun for another reason may be as old as what is to be replaced.
#[tokio::test(start_paused = true)]
async fn a_list_that_nobody_asked_for_gives_way_to_one_on_demand() {
    let (mut rig, [_things, imports, _extras]) = live().await;
    imports.fail(WatchError::Watch(refusal(410)));
    let tap = rig.imports.tap().await;
    tap.list_started();
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.accumulator.relist(ClusterId::Hub);
    let next = tokio::time::timeout(Duration::from_secs(1), rig.imports.tap()).await.unwrap();
    assert!(next.from.is_none() && !tap.is_read());
}
