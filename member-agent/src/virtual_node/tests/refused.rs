//! What the API server of the executor refuses.

use fleet_api::ObjectName;
use serde_json::{Value, json};

use super::world::World;

const WORDS: &str = "admission webhook \"guard\" denied the request: not here";

fn refused() -> World {
    let mut world = World::new();
    world.is_lazy = true;
    world.live(3);
    world.west.refuses = Some(WORDS.to_owned());
    world.create_pod("web", &json!({}));
    world
}

fn web(world: &World) -> &Value {
    world.east.pod("web").unwrap()
}

/// Otherwise only an Event in the executor has the reason, which users of the origin cannot read.
#[test]
fn what_admission_there_refuses_is_shown_here_within_seconds() {
    let mut world = refused();
    world.live(5);
    assert!(world.remote().is_empty());
    let status = &web(&world)["status"];
    assert_eq!(
        (&status["phase"], &status["reason"]),
        (&json!("Pending"), &json!("RefusedByExecutor"))
    );
    assert!(status["message"].as_str().unwrap().contains(WORDS), "{status}");
    assert_eq!(World::condition(web(&world), "Ready").0, "False");
    assert!(world.reports("RejectedByPolicy"));
    assert_eq!(world.exports()[0].1.rejected.as_ref().unwrap().field, "spec");
}

/// Nothing shows that a webhook has changed its mind. It is asked less and less often, and never given up.
#[test]
fn it_is_tried_again_with_growing_pauses_until_it_is_accepted() {
    let mut world = refused();
    world.live(130);
    let tries = world.refused;
    assert!((6..=9).contains(&tries), "{tries} within two minutes");
    let writes = world.writes.clone();
    world.live(240);
    assert!((3..=5).contains(&(world.refused - tries)), "{} within four", world.refused - tries);
    assert_eq!(world.writes, writes, "the same words are reported once");
    world.west.refuses = None;
    world.live(65);
    assert_eq!(world.remote().len(), 1);
    assert_eq!(World::condition(web(&world), "Ready").0, "True");
    assert!(web(&world)["status"]["reason"].is_null(), "{}", web(&world)["status"]);
    assert_eq!(world.exports()[0].1.rejected, None);
}

#[test]
fn another_process_of_the_executor_takes_it_over() {
    let mut world = refused();
    world.live(10);
    let clock = world.clock.clone();
    world.west.restart(&clock);
    let writes = world.writes.clone();
    world.live(20);
    assert_eq!(web(&world)["status"]["reason"], "RefusedByExecutor");
    assert_eq!(world.writes, writes, "it was reported already");
    world.west.refuses = None;
    world.live(60);
    assert_eq!(World::condition(web(&world), "Ready").0, "True");
}

#[test]
fn a_pod_that_is_refused_goes_when_it_is_deleted() {
    let mut world = refused();
    world.live(10);
    world.east.own.delete_pod(&ObjectName::new("shop", "web"), Some(30)).unwrap();
    world.live(10);
    assert!(world.east.pod("web").is_none());
    assert!(world.exports().is_empty() && world.imports().is_empty());
}
