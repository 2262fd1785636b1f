//! The end of a Service, and what follows it.

use std::time::Duration;

use fleet_api::{ObjectName, kinds};
use fleet_model::multicluster::mode::Mode;
use fleet_plan::Controller as _;
use serde_json::{Value, json};

use super::world::{World, in_member, web};
use crate::multicluster::{Key, MulticlusterController};

#[test]
fn the_last_unexport_leaves_a_word_for_an_hour() {
    let mut world = World::exported();
    world.unexport("a");
    world.settle();
    assert_eq!(world.writes(), ["update ResolvedService"]);
    let spec = &world.resolved().unwrap()["spec"];
    assert_eq!(spec["exporters"], json!([]));
    assert!(spec["withdrawnAt"].is_string() && spec.get("winner").is_none(), "{spec}");

    let controller = MulticlusterController { settings: world.settings.clone() };
    let service = Key::Service(ObjectName::new("shop", "web"));
    let plan = controller.plan(&service, &world.snapshot(), world.hub.now());
    let wake = plan.wake_after.unwrap();
    assert!(wake > Duration::from_mins(59) && wake <= Duration::from_hours(1), "{wake:?}");

    world.hub.advance(3590);
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    world.hub.advance(20);
    world.settle();
    assert_eq!(world.writes(), ["delete ResolvedService"]);
    assert_eq!(world.resolved(), None);
}

/// Of what was in force before nothing sticks, and the object is the same.
#[test]
fn a_new_export_takes_the_object_over() {
    let mut world = World::exported();
    let uid = world.resolved().unwrap()["metadata"]["uid"].clone();
    world.unexport("a");
    world.settle();
    world.writes();
    world.export("b", 81);
    let headless = |export: &mut Value| export["spec"]["type"] = json!("Headless");
    world.edit(kinds::EXPORTED_SERVICE, &super::world::of_web("b"), headless);
    world.settle();
    assert_eq!(world.writes(), ["update ResolvedService"]);
    let resolved = world.resolved().unwrap();
    assert_eq!(
        (&resolved["metadata"]["uid"], &resolved["spec"]["type"]),
        (&uid, &json!("Headless"))
    );
    assert!(resolved["spec"].get("withdrawnAt").is_none());
}

/// An exporter that goes and comes back in turns would cost all importers eight writes each time, and an address.
#[test]
fn a_service_that_was_just_withdrawn_comes_back_after_a_pause() {
    let mut world = World::exported();
    world.unexport("a");
    world.settle_at_once();
    assert_eq!(world.writes(), ["update ResolvedService"]);
    world.export("a", 80);
    world.settle_at_once();
    assert_eq!(world.writes(), [""; 0]);
    let controller = MulticlusterController { settings: world.settings.clone() };
    let service = Key::Service(ObjectName::new("shop", "web"));
    let plan = controller.plan(&service, &world.snapshot(), world.hub.now());
    assert!(plan.wake_after.is_some_and(|wake| wake <= Duration::from_secs(5)), "{plan:?}");
    world.unexport("a");
    world.settle_at_once();
    assert_eq!(world.writes(), [""; 0], "in turns it costs nobody anything");
    world.export("a", 80);
    world.hub.advance(5);
    world.settle_at_once();
    assert_eq!(world.writes(), ["update ResolvedService"]);
    assert_eq!(world.exporters(), ["a"]);
}

/// Another clock, or an edit by hand.
#[test]
fn a_word_from_far_ahead_ends_at_once() {
    let mut world = World::exported();
    world.unexport("a");
    world.settle();
    world.writes();
    let ahead =
        |resolved: &mut Value| resolved["spec"]["withdrawnAt"] = json!("2999-01-01T00:00:00Z");
    world.edit(kinds::RESOLVED_SERVICE, &web(), ahead);
    world.settle();
    assert_eq!(world.writes(), ["delete ResolvedService"]);
}

/// Members still have an answer: without one they would believe nothing that is withdrawn.
#[test]
fn clean_up_withdraws_everything_and_answers_on() {
    let mut world = World::exported();
    let report = |world: &World| {
        world.hub.get(kinds::CLUSTER_REPORT, &in_member("a", "a")).unwrap()["status"].clone()
    };
    let answered = report(&world);
    assert_eq!(answered["conditions"][0]["status"], "True");
    world.settings.multicluster = Mode::CleanUp;
    world.settle();
    assert_eq!(world.writes(), ["update ResolvedService"]);
    assert_eq!(report(&world), answered);
    assert!(world.exporters().is_empty());
    world.export("b", 80);
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    world.hub.advance(4000);
    world.settle();
    assert_eq!(world.writes(), ["delete ResolvedService"]);
    world.settings.multicluster = Mode::On;
    world.settle();
    assert_eq!(world.exporters(), ["a", "b"]);
}
